"""A trial has the same bits alone, in any batch and position, fused, and with the JIT off."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from gnc.batch import jacobian
from tests.gnc.batch.kernels import ALL, advance, product, random_arguments

ROOT = Path(__file__).parents[3]


def outputs(results):
    return results if isinstance(results, tuple) else (results,)


def assert_same_bits(a, b):
    for x, y in zip(outputs(a), outputs(b), strict=True):
        np.testing.assert_array_equal(np.asarray(x).view(np.uint64), np.asarray(y).view(np.uint64))


@pytest.mark.parametrize("kernel", ALL, ids=lambda k: k.__name__)
def test_a_trial_has_the_same_bits_alone_and_in_any_batch(kernel):
    args = random_arguments(kernel, (53,), np.random.default_rng(1))
    batch = outputs(kernel(*args))
    for k in range(53):
        assert_same_bits(kernel(*[a[k] for a in args]), tuple(y[k] for y in batch))
    for part in (slice(5, 6), slice(3, 20), slice(40, None), slice(None, None, -1), slice(1, 50, 7)):
        assert_same_bits(kernel(*[a[part] for a in args]), tuple(y[part] for y in batch))


@pytest.mark.parametrize("kernel", ALL, ids=lambda k: k.__name__)
def test_compiled_code_and_python_give_the_same_bits(kernel):
    args = random_arguments(kernel, (9,), np.random.default_rng(2))
    assert_same_bits(kernel(*args), kernel._interpret(np.ones(()), args))


@pytest.mark.parametrize("kernel", [advance, ALL[2]], ids=lambda k: k.__name__)
def test_derivatives_have_the_same_bits_compiled_and_in_python(kernel):
    slopes = jacobian(kernel, kernel.layout.names[:2])
    args = random_arguments(kernel, (5,), np.random.default_rng(3))
    assert_same_bits(slopes(*args), slopes._interpret(np.ones(()), args))


def test_fused_steps_have_the_bits_of_single_steps_with_a_count_for_each_trial():
    rng = np.random.default_rng(4)
    q, phi, J = random_arguments(advance, (21,), rng)
    counts = rng.integers(0, 6, 21)
    fused = advance.repeat(counts, q, phi, J)
    for k, n in enumerate(counts):
        x, y = q[k], phi[k]
        for _ in range(n):
            x, y = advance(x, y, J[k])
        assert_same_bits((fused[0][k], fused[1][k]), (x, y))
        assert_same_bits(advance.repeat(n, q[k], phi[k], J[k]), (x, y))
    assert_same_bits(fused, advance._interpret(counts.astype(float), (q, phi, J)))


def test_a_run_with_the_jit_off_prints_the_bits_of_a_compiled_run():
    program = (
        "import numpy as np\nfrom tests.gnc.batch.kernels import advance, random_arguments\n"
        "args = random_arguments(advance, (3,), np.random.default_rng(5))\n"
        "print(advance.repeat(4, *args)[0].tobytes().hex(), advance(*args)[1].tobytes().hex())"
    )

    def run(jit_off):
        env = dict(os.environ, NUMBA_DISABLE_JIT=jit_off, PYTHONPATH=str(ROOT))
        return subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, check=True)

    assert run("1").stdout == run("0").stdout != ""


def test_nan_in_one_trial_touches_no_other():
    args = random_arguments(advance, (20,), np.random.default_rng(6))
    healthy = advance(*args)
    args[1][7] = np.nan
    sick = advance(*args)
    others = np.arange(20) != 7
    assert_same_bits(tuple(y[others] for y in sick), tuple(y[others] for y in healthy))
    assert np.isnan(sick[1][7]).all()


def test_products_are_not_contracted_into_one_rounding():
    a = 1.0 + 2.0**-30  # a * a needs more bits than a double has; contraction would keep them
    q = product(np.array([a, 1.0, 0.0, 0.0]), np.array([a, a * a, 0.0, 0.0]))
    assert q[0] == 0.0
