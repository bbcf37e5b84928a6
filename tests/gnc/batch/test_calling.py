"""What a caller may pass, and what wrong arguments say."""

import pickle
import warnings

import numpy as np
import pytest

from gnc.batch import batched, where
from tests.gnc.batch.kernels import advance, functions, linear, product, random_arguments


def test_leading_axes_broadcast_and_a_shared_inertia_mixes_with_dispersed_states():
    rng = np.random.default_rng(0)
    q, phi, J = random_arguments(advance, (4, 5), rng)
    shared = advance(q, phi, J[0, 0])
    expected = advance(q, phi, np.broadcast_to(J[0, 0], J.shape))
    assert shared[0].shape == (4, 5, 4)
    assert all(np.array_equal(a, b) for a, b in zip(shared, expected, strict=True))


def test_no_leading_axes_give_one_trial():
    assert product([1, 0, 0, 0], [0.0, 1.0, 2.0, 3.0]).tolist() == [0.0, 1.0, 2.0, 3.0]
    assert functions(0.1, 0.2).shape == (6,)


def test_zero_trials_give_empty_results():
    assert product(np.zeros((0, 4)), np.zeros(4)).shape == (0, 4)


@pytest.mark.parametrize("dtype", [np.int64, np.int8, np.float32, bool])
def test_integers_and_short_floats_are_converted(dtype):
    a = np.array([1, 0, 1, 1], dtype)
    assert product(a, a).dtype == float
    assert np.array_equal(product(a, a), product(a.astype(float), a.astype(float)))


def test_strided_transposed_and_reversed_arrays_are_read_right():
    rng = np.random.default_rng(1)
    A = rng.normal(size=(6, 6, 10)) + 9 * np.eye(6)[..., None]
    b = rng.normal(size=(6, 30))
    expected = np.linalg.solve(np.moveaxis(A, -1, 0).swapaxes(1, 2), b[:, ::-3].T[..., None])[..., 0]
    got = linear(np.moveaxis(A, -1, 0).swapaxes(1, 2), b[:, ::-3].T)
    np.testing.assert_allclose(got, expected, rtol=1e-12)


def test_results_may_be_written_over_the_arguments():
    rng = np.random.default_rng(2)
    a, b = rng.normal(size=(40, 4)), rng.normal(size=(40, 4))
    expected = product(a, b)
    product(a, b, out=a)
    assert np.array_equal(a, expected)
    shifted = rng.normal(size=(41, 4))
    expected = product(shifted[:-1], b)
    product(shifted[:-1], b, out=shifted[1:])
    assert np.array_equal(shifted[1:], expected)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((np.ones(4), np.ones(3)), r"product: b: expected \(..., 4\), got \(3,\)"),
        ((np.ones((4, 1)), np.ones(4)), r"product: a: expected \(..., 4\), got \(4, 1\)"),
        ((np.ones((2, 4)), np.ones((3, 4))), r"product: leading axes do not broadcast: a \(2,\), b \(3,\)"),
        ((1.0, np.ones(4)), r"product: a: expected \(..., 4\), got \(\)"),
    ],
)
def test_a_wrong_shape_says_which_argument_what_was_expected_and_what_came(args, message):
    with pytest.raises(ValueError, match=message):
        product(*args)
    with pytest.raises(ValueError, match=message):
        product._interpret(np.ones(()), args)


def test_numbers_of_the_wrong_kind_and_count_are_refused_by_name():
    with pytest.raises(TypeError, match="product: b: expected real numbers, got complex128"):
        product(np.ones(4), np.ones(4) + 1j)
    with pytest.raises(TypeError, match=r"product: expected 2 arguments \(a, b\), got 1"):
        product(np.ones(4))
    with pytest.raises(ValueError, match="advance.repeat: n: expected a whole number >= 0, got -1"):
        advance.repeat(-1, np.ones(4), np.zeros(3), np.eye(3))
    with pytest.raises(TypeError, match="do not have the shapes of the first arguments"):
        linear.repeat(2, np.eye(6), np.ones(6))


def test_a_count_that_is_none_loses_only_its_own_trial():
    args = random_arguments(advance, (5,), np.random.default_rng(3))
    counts = np.array([2.0, np.nan, 2.0, -1.0, np.inf])
    good, expected = [0, 2], advance.repeat(2, *args)
    for results in (advance.repeat(counts, *args), advance._interpret(counts, tuple(args))):
        for y, z in zip(results, expected, strict=True):
            assert np.array_equal(y[good], z[good])
            assert np.isnan(y[[1, 3, 4]]).all()


def test_a_lost_trial_gives_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isnan(functions(np.nan, 1.0)).any()
        assert np.isnan(advance([1, 0, 0, 0], [2.0, 0, 0], np.eye(3))[1]).all()


def test_a_branch_on_a_trials_data_names_where():
    @batched("()->()")
    def branching(x):
        return x if x > 0 else -x

    with pytest.raises(TypeError, match=r"may not branch on a trial's data: use where\(condition, a, b\)"):
        branching(1.0)
    with pytest.raises(TypeError, match="use where"):
        branching._interpret(np.ones(()), (1.0,))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (lambda x: __import__("math").sqrt(x), "use np.sqrt and friends, not math"),
        (lambda x: (x > 0) + 1.0, "add takes a number, got a comparison: use where"),
        (lambda x: where(x, 1.0, 2.0), "where takes a comparison such as a < b, got a number"),
        (lambda x: x**-1, "whole powers >= 0 or to 0.5, got -1"),
        (lambda x: x > 0, "result: expected a number, got a comparison"),
        (lambda x: "no", "result: expected a number, got str"),
        (lambda x: [x, x], "result: expected a number, got list"),
    ],
)
def test_what_a_kernel_may_not_do_is_said_clearly(body, message):
    kernel = batched("()->()")(lambda x: body(x))
    with pytest.raises(TypeError, match=message):
        kernel(1.0)


def test_a_layout_that_does_not_fit_is_refused_where_it_is_written():
    with pytest.raises(TypeError, match="has 1 arguments, the kernel takes 2"):
        batched("(3)->(3)")(lambda a, b: a)
    with pytest.raises(TypeError, match="is not of the form"):
        batched("(n)->(n)")(lambda a: a)
    with pytest.raises(ValueError, match=r"result: expected \(4,\), got \(3,\)"):
        batched("(3)->(4)")(lambda a: a)(np.ones(3))


def test_kernels_travel_to_other_processes_by_name():
    assert pickle.loads(pickle.dumps(product)) is product
