"""Kernels that are known by name are not traced again, and what a name cannot tell has none."""

import os
import subprocess
import sys

import numpy as np
import pytest

from gnc import quaternion
from gnc.batch import Kernel, batched, sized, traces
from gnc.batch.layout import Layout
from gnc.estimators.attitude_belief import start_kernel
from gnc.estimators.kalman import grow_kernel
from gnc.montecarlo import identity

SCRIPT = """
import sys, numpy as np
from gnc import quaternion
q = np.array([0.6, 0.0, 0.8, 0.0])
stack = np.stack([q] * 5)
for _ in range(2):
    alone, many = quaternion.mul(q, q), quaternion.mul(stack, stack)
print("tape" in vars(quaternion.mul), alone.tobytes().hex(), many.tobytes().hex())
"""


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"), reason="nothing is compiled")
def test_a_second_process_computes_the_same_bits_without_a_trace(tmp_path):
    environment = {**os.environ, "GNC_CACHE_DIR": str(tmp_path)}
    run = lambda: subprocess.check_output([sys.executable, "-c", SCRIPT], env=environment, text=True).split()  # noqa: E731
    cold, warm = run(), run()
    assert cold[0] == "True" and warm[0] == "False" and cold[1:] == warm[1:]
    for file in tmp_path.iterdir():  # damaged names and code are not believed
        file.write_bytes(file.read_bytes()[:-1] + b"x")
    assert run() == cold


def test_names_tell_uses_sizes_and_files_apart(monkeypatch):
    names = {
        traces.name_of(kernel, use)
        for kernel in (quaternion.mul, quaternion.exp, grow_kernel(3), grow_kernel(4))
        for use in ("a", "b")
    }
    assert None not in names and len(names) == 8
    assert traces.name_of(start_kernel.__wrapped__(3), "a") == traces.name_of(start_kernel(3), "a")
    before = traces.name_of(quaternion.mul, "a")
    monkeypatch.setattr(identity, "framework", lambda: {"gnc/quaternion.py": "edited"})
    traces._software.cache_clear()
    try:
        assert traces.name_of(quaternion.mul, "a") not in (before, None)
    finally:
        monkeypatch.undo()
        traces._software.cache_clear()


def test_kernels_of_users_and_those_that_close_over_other_things_have_no_name():
    @batched("(3)->(3)")
    def own(x):
        return 2.0 * x

    assert traces.name_of(own, "a") is None
    inner = start_kernel(3).function
    for held in (object(), {"a": 1}, np.array([None]), own, lambda x: x):
        cells = tuple(type(cell)(held) for cell in inner.__closure__)
        other = type(inner)(inner.__code__, inner.__globals__, inner.__name__, None, cells)
        assert traces.name_of(Kernel(other, Layout.parse("(3)->(3)", ("x",))), "a") is None


def test_a_family_has_one_kernel_for_each_size():
    @sized(lambda n, m: f"({n}),({m},{n}),()->({m})")
    def scaled(x, A, c, *, m):
        return (float(m) * c) * (A @ x)

    assert scaled(3, 2) is scaled(3, 2) is not scaled(2, 3)
    x, A = np.arange(15.0).reshape(5, 3), np.array([[1.0, 0.0, 2.0], [0.0, -1.0, 0.0]])
    np.testing.assert_array_equal(scaled(3, 2)(x, A, 0.25), 0.5 * x @ A.T)
    assert scaled(3, 2).layout.names == ("x", "A", "c") and scaled(3, 2).__name__ == "scaled"
