"""C from kernels: no warnings, and every bit of Python."""

import shutil
import subprocess

import numpy as np
import pytest

from gnc.batch import Assembly, batched, jacobian, tangent
from gnc.batch.layout import Layout
from gnc.export import export_kernel
from tests.gnc.batch.kernels import ALL, advance, random_arguments
from tests.gnc.batch.test_tangent import assembled

pytestmark = [pytest.mark.jit, pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")]


@batched("(4),(3),(3),(3,3)->(4),(3)")
def twice(q, phi, unused, J):
    """Call a long kernel twice, which stays a function, and once with a constant, which does not."""
    q, phi = advance(*advance(q, phi, J), J)
    return advance(q, phi, J * np.array([[1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0]], object))


ASSEMBLY = Assembly(assembled, Layout.parse("(3),()->(3)", ("x", "h")))
KERNELS = {kernel.__name__: kernel for kernel in (*ALL, twice, ASSEMBLY, tangent(advance), jacobian(advance, "phi"))}


def built(folder, optimisation):
    """Return what the test program says; warnings are errors."""
    command = ["make", "-s", "test", "CC=gcc", f"OPTIMISATION={optimisation} -Werror"]
    subprocess.run(["make", "-s", "clean"], cwd=folder, check=True)
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


@pytest.mark.parametrize("name", KERNELS)
def test_the_c_of_a_kernel_has_the_bits_of_python(name, tmp_path):
    kernel = KERNELS[name]
    vectors = random_arguments(kernel, (50,), np.random.default_rng(1))
    export_kernel(kernel, "exported", tmp_path, vectors)
    for optimisation in ("-O0", "-O3") if name in ("functions", "twice") else ("-O2",):
        assert built(tmp_path, optimisation) == "exported: 50 vectors, 0 numbers differ\n"


def test_what_is_called_stays_a_function_and_nothing_but_basic_operations_is_used(tmp_path):
    export_kernel(twice, "exported", tmp_path)
    source = (tmp_path / "exported.c").read_text()
    assert source.count("exported_kernel_advance(") == 3  # its definition and two calls
    for word in ("malloc", "sin(", "cos(", "pow(", "fma(", "static double"):
        assert word not in source
    assert "Operations: " in (tmp_path / "exported.h").read_text()


def test_a_wrong_bit_is_found(tmp_path):
    export_kernel(advance, "exported", tmp_path, random_arguments(advance, (5,), np.random.default_rng(2)))
    file = tmp_path / "exported.c"
    file.write_text(file.read_text().replace(" + ", " - ", 1))
    with pytest.raises(AssertionError, match="numbers differ"):
        built(tmp_path, "-O1")


@batched("(5,5),(5,5),(5),()->(5,5),(5),(5)")
def sandwich(A, P, x, a):
    """Multiply matrices and vectors, one of them symmetric, and a sum that two results share."""
    S = A @ P @ A.T
    y = (S + S.T) @ x
    return S, y, y * a + A[:, 1] @ x


def test_sums_of_products_are_loops_with_the_same_bits(tmp_path):
    vectors = random_arguments(sandwich, (50,), np.random.default_rng(3))
    vectors[0][0], vectors[2][1] = -0.0, -0.0  # signs of zeros count
    export_kernel(sandwich, "exported", tmp_path, vectors)
    source = (tmp_path / "exported.c").read_text()
    assert source.count(" product(") > 5 and len(source.splitlines()) < 400  # 475 products and as many sums
    for optimisation in ("-O0", "-O3"):
        assert built(tmp_path, optimisation) == "exported: 50 vectors, 0 numbers differ\n"
