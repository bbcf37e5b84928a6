"""Kernels of kernels."""

import ctypes

import numpy as np
import pytest

from gnc.batch import Assembly, Kernel, batched, compiled, jacobian, llvm_writer
from gnc.batch.layout import Layout

rng = np.random.default_rng(0)


@batched("(3,3),(3)->(3),()")
def _pull(A, x):
    y = A @ x
    return y - 0.1 * x, x @ y


@batched("(3)->(3)")
def _halve(x):
    return 0.5 * x


def _walk(matrices, x):
    """Go through three matrices, and then through all at once."""
    total = 0.0
    for i in range(3):
        x, more = _pull(matrices[..., i, :, :], x)
        total = total + more
    each, energies = _pull(matrices, np.stack([x, 2.0 * x, x + 1.0], -2))
    return each, total + energies[..., 2]


LAYOUT = Layout(("matrices", "x"), ((3, 3, 3), (3,)), ((3, 3), ()))
walk = Assembly(_walk, LAYOUT)


def same(a, b):
    return all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))


@pytest.mark.parametrize("lead", [(), (1,), (2,), (5,), (8,), (3, 7)], ids=str)
def test_an_assembly_has_the_bits_of_its_function_on_arrays(lead):
    matrices, x = rng.normal(size=(*lead, 3, 3, 3)), rng.normal(size=(*lead, 3))
    found = walk(matrices, x)
    assert [y.shape for y in found] == [(*lead, 3, 3), lead]
    assert same(found, _walk(matrices, x))
    assert same(walk(matrices[(0,) * len(lead)], x), _walk(matrices[(0,) * len(lead)], x))  # shared by all trials


def test_it_has_the_bits_of_a_kernel_that_inlines_the_same_and_of_python():
    matrices, x = rng.normal(size=(6, 3, 3, 3)), rng.normal(size=(6, 3))

    def one_by_one(matrices, x):  # inside a kernel there are no leading axes
        total = 0.0
        for i in range(3):
            x, more = _pull(matrices[i], x)
            total = total + more
        pairs = [_pull(matrices[i], y) for i, y in enumerate([x, 2.0 * x, x + 1.0])]
        return np.stack([y for y, _ in pairs]), total + pairs[2][1]

    inlined, assembly = Kernel(one_by_one, LAYOUT), Assembly(one_by_one, LAYOUT)
    assert same(walk(matrices, x), inlined(matrices, x)) and same(walk(matrices, x), assembly(matrices, x))
    assert same(assembly(matrices, x), assembly._interpret(np.ones(()), (matrices, x)))
    slopes = jacobian(assembly, "x")(matrices, x)
    assert np.array_equal(slopes[0], jacobian(inlined, "x")(matrices, x)[0])


def test_an_assembly_may_call_another():
    def twice(matrices, x):
        y, a = walk(matrices, x)
        z, b = walk(matrices, y[..., 1, :])
        return z, a + b

    outer, matrices, x = Assembly(twice, LAYOUT), rng.normal(size=(9, 3, 3, 3)), rng.normal(size=(9, 3))
    assert same(outer(matrices, x), twice(matrices, x))


def test_its_calls_are_compiled_as_calls_and_shared():
    tape, _ = walk.tape
    assert [call.kernel for call in tape.calls] == [_pull]
    assert sum(entry.op == "call" for entry in tape.entries) == 6


def test_what_is_too_much_for_a_stack_is_given_back(monkeypatch):
    monkeypatch.setattr(llvm_writer, "MOST_ON_STACK", 0)
    library, given, sizes = ctypes.CDLL(None), [], []
    library.aligned_alloc.restype, library.aligned_alloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t] * 2
    library.free.argtypes = [ctypes.c_void_p]
    taking = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t)(
        lambda align, size: sizes.append(size) or given.append(size) or library.aligned_alloc(align, size)
    )
    giving = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda memory: given.pop() and library.free(memory))
    system = dict(compiled._system())
    for name, function in (("aligned_alloc", taking), ("free", giving)):
        system[name] = ctypes.cast(function, ctypes.c_void_p).value
    monkeypatch.setattr(compiled, "_system", lambda: system)
    heap, matrices, x = Assembly(_walk, LAYOUT), rng.normal(size=(9, 3, 3, 3)), rng.normal(size=(9, 3))
    assert same(heap(matrices, x), _walk(matrices, x))
    assert sizes and not given


def test_what_an_assembly_cannot_do_is_said():
    with pytest.raises(TypeError, match="an assembly of kernels is not repeated"):
        walk.repeat(2, np.zeros((3, 3, 3)), np.zeros(3))
    for wrong, error, message in (
        (lambda A, x: (_pull(A[0]), 0.0), TypeError, "_pull: expected 2 arguments"),
        (lambda A, x: (_pull(A[0], x[:2]), 0.0), ValueError, r"_pull: x: expected \(..., 3\), got \(2,\)"),
        (lambda A, x: (np.sin(x), 0.0), TypeError, "sin between kernels"),
    ):
        with pytest.raises(error, match=message):
            Assembly(wrong, LAYOUT)(np.zeros((3, 3, 3)), np.zeros(3))


def test_a_repeated_kernel_stays_a_loop_with_the_count_of_each_trial():
    repeated = Assembly(lambda x: _halve.repeat(x[0], x), Layout(("x",), ((3,),), ((3,),)))
    x = np.arange(27.0).reshape(9, 3)
    assert same(repeated(x), _halve.repeat(x[:, 0], x))
