"""The function of one trial: what it takes, what it leaves to the gufunc, and that it keeps nothing."""

import re
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from gnc.batch import batched, one_trial
from gnc.batch.kernel import Kernel
from tests.gnc.batch.kernels import ALL, advance, random_arguments

pytestmark = pytest.mark.skipif(not one_trial.supported(), reason="objects have another layout in this Python")


@batched("(3),()->(3),()")
def scaled(v, s):
    """Return s v and its square."""
    return s * v, s * s * (v @ v)


def arrays(results):
    return results if isinstance(results, tuple) else (results,)


@pytest.mark.parametrize("kernel", ALL, ids=lambda k: k.__name__)
def test_it_has_the_bits_and_types_of_the_gufunc(kernel):
    args = random_arguments(kernel, (), np.random.default_rng(6))
    alone, together = kernel._alone(*args), kernel._gufunc(*args)
    for x, y in zip(arrays(alone), arrays(together), strict=True):
        assert type(x) is type(y)
        assert np.asarray(x).tobytes() == np.asarray(y).tobytes()


@pytest.mark.parametrize("kernel", ALL, ids=lambda k: k.__name__)
def test_a_batch_of_one_trial_keeps_its_axis_whichever_argument_has_it(kernel):
    args = random_arguments(kernel, (), np.random.default_rng(8))
    for chosen in range(len(args) + 1):
        led = [a[None] if i == chosen or chosen == len(args) else a for i, a in enumerate(map(np.asarray, args))]
        alone, together = kernel._alone(*led), kernel._gufunc(*led)
        for x, y in zip(arrays(alone), arrays(together), strict=True):
            assert type(x) is type(y) and x.shape == y.shape and x.shape[0] == 1
            assert x.tobytes() == y.tobytes()


@pytest.mark.parametrize("kernel", ALL, ids=lambda k: k.__name__)
def test_few_trials_are_computed_one_by_one_with_the_bits_of_the_gufunc(kernel, monkeypatch):
    """Broadcast over two axes; the gufunc is compiled when there have been more."""
    monkeypatch.setattr(Kernel, "FEW", 12)
    fresh, args = Kernel(kernel.function, kernel.layout), random_arguments(kernel, (4, 2), np.random.default_rng(9))
    args = [args[0][:, :1], *args[1:]]
    found = [arrays(fresh(*args))]
    assert not isinstance(fresh._gufunc, np.ufunc)
    found.append(arrays(fresh(*args)))
    assert isinstance(fresh._gufunc, np.ufunc)
    for one, many in zip(*found, strict=True):
        assert type(one) is type(many) and one.shape == many.shape and one.tobytes() == many.tobytes()


def test_one_trial_of_arrays_with_strides_is_computed_as_one():
    """Its plain number became an array of one number, and so did all results: an error in the first replay of a log."""
    kernel = batched("(3),()->(),()")(lambda a, h: (h * (a @ a), h))
    assert [np.shape(x) for x in kernel._one_by_one((np.arange(6.0)[::2], 2.0))] == [(), ()]


def test_two_trials_and_two_leading_axes_are_left_to_the_gufunc():
    v = np.ones(3)
    scaled(v, 1.0)
    assert scaled._alone(np.ones((2, 3)), 1.0) is None
    assert scaled._alone(v[None, None], 1.0) is None
    assert scaled._alone(v, np.ones(2)) is None
    assert scaled(np.ones((2, 3)), 1.0)[0].shape == (2, 3) and scaled(v[None, None], 1.0)[1].shape == (1, 1)


@pytest.mark.parametrize("few", [0, 100])
def test_what_it_does_not_take_is_computed_all_the_same(few, monkeypatch):
    monkeypatch.setattr(Kernel, "FEW", few)
    v, fresh = np.array([1.0, -2.0, 3.0]), Kernel(scaled.function, scaled.layout)
    expected = fresh(v, 2.0)
    others = [[1, -2, 3], v.astype(np.float32), np.repeat(v, 2)[::2], np.asfortranarray(v)[None], v.astype(">f8")]
    for other in others:
        for x, y in zip(fresh(other, 2), expected, strict=True):
            np.testing.assert_array_equal(np.squeeze(x), y)
    for factor in (2, np.array(2.0), np.float64(2.0), True + True, np.float32(2.0)):
        for x, y in zip(fresh(v, factor), expected, strict=True):
            np.testing.assert_array_equal(x, y)
    assert fresh._alone(v[:2], 2.0) is None and fresh._alone(v) is None and fresh._alone(v, [2.0]) is None


def test_a_test_is_one_where_it_holds_and_zero_where_it_does_not():
    v = np.array([1.0, -2.0, 3.0])
    scaled(v, 1.0)
    for test in (np.float64(2.0) > 1.0, np.float64(2.0) < 1.0):
        alone, number = scaled._alone(v, test), scaled._gufunc(v, float(test))
        assert [x.tobytes() for x in alone] == [y.tobytes() for y in number]
        assert [np.asarray(x).tobytes() for x in scaled(np.stack([v, v]), np.array([test, test]))] == [
            np.stack([y, y]).tobytes() for y in number
        ]


def test_a_transposed_matrix_is_read_as_it_is_meant():
    q, phi, J = random_arguments(advance, (), np.random.default_rng(7))
    A = np.arange(9.0).reshape(3, 3) + J
    for x, y in zip(advance(q, phi, A.T), advance(q, phi, A.T.copy()), strict=True):
        np.testing.assert_array_equal(x, y)


def test_results_are_new_and_arguments_stay():
    v = np.array([1.0, 2.0, 3.0])
    first, _ = scaled(v, 1.0)
    second, _ = scaled(v, 1.0)
    first[:] = 0.0
    assert second.tolist() == v.tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize("n", [np.nan, -1.0, 2.0**54])
def test_a_count_that_makes_no_sense_gives_nan(n):
    args = random_arguments(advance, (), np.random.default_rng(8))
    assert all(np.isnan(x).all() for x in advance.repeat(n, *args))
    for x, y in zip(advance.repeat(0, *args), args[:2], strict=True):
        np.testing.assert_array_equal(x, y)


def test_it_keeps_no_object():
    v, s = np.array([1.0, 2.0, 3.0]), np.float64(2.0)
    scaled(v, s)
    counts = [sys.getrefcount(x) for x in (v, s, np.dtype(float))]
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(10_000):
        scaled(v, s)
        scaled._alone(v, 2)  # refused
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 10_000  # less than a byte per call
    assert [sys.getrefcount(x) for x in (v, s, np.dtype(float))] == counts


def test_places_and_fields_are_those_of_the_public_headers():
    text = (Path(np.get_include()) / "numpy" / "__multiarray_api.h").read_text()
    for name, place in one_trial.ARRAY_API.items():
        assert re.search(rf"#define {name} .*?PyArray_API\[(\d+)\]", text, re.S)[1] == str(place)
    text = (Path(np.get_include()) / "numpy" / "ndarraytypes.h").read_text()
    fields = re.search(r"typedef struct tagPyArrayObject_fields \{(.*?)\} PyArrayObject_fields", text, re.S)[1]
    names = re.findall(r"(\w+);", re.sub(r"/\*.*?\*/", "", fields, flags=re.S))
    assert names[:7] == ["data", "nd", "dimensions", "strides", "base", "descr", "flags"]
    flags = [int(re.search(rf"#define {name}\s+(0x\w+)", text)[1], 16) for name in PLAIN_FLAGS]
    assert sum(flags) == one_trial.PLAIN


PLAIN_FLAGS = ("NPY_ARRAY_C_CONTIGUOUS", "NPY_ARRAY_ALIGNED")


OTHER_LAYOUTS = {"TYPE": 0, "VALUE": 8, "DATA": 24, "AXES": 32, "DIMENSIONS": 48, "DESCRIPTION": 48, "FLAGS": 68}


@pytest.mark.parametrize("field", [*OTHER_LAYOUTS, "NUMPY_ABI"])
def test_another_layout_of_objects_is_noticed_in_the_process(monkeypatch, field):
    """The old code compared with headers in a test only, and would have read wrong memory."""
    monkeypatch.setattr(one_trial, field, OTHER_LAYOUTS.get(field, 0x03000000))
    assert not one_trial.supported.__wrapped__()


def test_another_order_of_numpys_table_is_noticed(monkeypatch):
    monkeypatch.setattr(one_trial, "symbols", lambda: {"PyArray_Type": 0, "PyDoubleArrType_Type": 0})
    assert not one_trial.supported.__wrapped__()


def test_where_the_layout_is_another_the_gufunc_computes_all(monkeypatch):
    monkeypatch.setattr(one_trial, "supported", lambda: False)
    monkeypatch.setattr(one_trial, "as_function", None)  # no code that reads fields of objects is made
    kernel = batched("(3),()->(3)")(lambda v, s: s * v + 0.25)
    assert kernel(np.ones(3), 2.0).tolist() == [2.25, 2.25, 2.25]


def test_lists_and_numbers_are_computed_one_by_one_too(monkeypatch):
    """A number without leading axes once became an array of one."""
    monkeypatch.setattr(Kernel, "FEW", 100)
    kernel = batched("(3),()->()")(lambda v, s: s * (v @ v))
    assert kernel(np.ones(3), 1.0) == 3.0  # compiles the function of one trial
    result = kernel([1.0, 2.0, 3.0], 2)
    assert (type(result), result) == (np.float64, 28.0)
