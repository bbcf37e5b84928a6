"""Validation at the door: what passes, what is refused, and what the one line says."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnc import check, noise
from gnc.check import InputError

BOX = np.diag([2.0, 3.0, 4.0])
PLATE = np.diag([1.0, 2.0, 3.0])  # flat: equality in the triangle inequality
IMPOSSIBLE = np.diag([1.0, 2.0, 5.0])


def rotation(seed: int) -> np.ndarray:
    q, r = np.linalg.qr(noise.normal(seed, [0], "rotation", (3, 3))[0])
    return q * np.sign(np.diag(r))


def skew(v: np.ndarray) -> np.ndarray:
    x, y, z = v
    return np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])


def spatial(J: np.ndarray, m: float, r: np.ndarray) -> np.ndarray:
    S = skew(r)
    return np.block([[J - m * S @ S, m * S], [-m * S, m * np.eye(3)]])


def line(call, *arguments, **keywords) -> str:
    with pytest.raises(InputError) as caught:
        call(*arguments, **keywords)
    assert "\n" not in str(caught.value)
    return str(caught.value)


# inertia


@pytest.mark.parametrize(
    ("J", "says"),
    [
        (
            IMPOSSIBLE,
            "J: triangle inequality violated: 5 > 1 + 2 (excess 2); moments of a rigid body satisfy J3 <= J1 + J2",
        ),
        (
            np.diag([2.0, -3.0, 4.0]),
            "J: not positive definite: smallest principal moment -3; moments of a rigid body are > 0",
        ),
        (
            [[2, 0.2, 0], [0.1, 2, 0], [0, 0, 2]],
            "J: not symmetric: [0,1] is 0.2 and [1,0] is 0.1 (difference 0.1); give both the same value",
        ),
        (np.diag([2.0, np.nan, 4.0]), "J: nan at [1, 1] is not finite; give finite numbers"),
        (np.ones((3, 4)), "J: expected (..., 3, 3), got (3, 4)"),
        (np.ones(3), "J: expected (..., 3, 3), got (3,)"),
    ],
)
def test_a_wrong_inertia_says_which_rule_failed_and_by_how_much(J, says: str) -> None:
    assert line(check.inertia, "J", J) == says


def test_the_line_names_the_trial_that_failed() -> None:
    assert line(check.inertia, "J", [BOX, BOX, IMPOSSIBLE, BOX]).startswith("J (trial 2): triangle inequality")
    assert line(check.inertia, "J", [[BOX, BOX], [IMPOSSIBLE, BOX]]).startswith("J (trial (1, 0)): triangle")
    assert line(check.vector, "w_B", [[1, 2, 3], [1, np.inf, 3]], 3).startswith("w_B (trial 1): inf at [1] is not")
    assert line(check.positive, "mass", [1.0, 2.0, 0.0]).startswith("mass (trial 2): 0 is not positive")


@given(seed=st.integers(0, 10_000), scale=st.sampled_from([1e-9, 1.0, 1e9]))
def test_a_flat_plate_passes_in_any_axes_and_any_unit(seed: int, scale: float) -> None:
    R = rotation(seed)
    check.inertia("J", scale * R @ PLATE @ R.T)


@given(seed=st.integers(0, 10_000), scale=st.sampled_from([1e-9, 1.0, 1e9]))
def test_an_excess_of_a_millionth_is_refused_in_any_axes_and_any_unit(seed: int, scale: float) -> None:
    R = rotation(seed)
    assert "triangle inequality" in line(check.inertia, "J", scale * R @ np.diag([1, 2, 3 + 1e-6]) @ R.T)


def test_a_rod_without_thickness_is_refused() -> None:
    R = rotation(1)
    assert "not positive definite" in line(check.inertia, "J", R @ np.diag([1.0, 1.0, 0.0]) @ R.T)
    assert "not positive definite" in line(check.inertia, "J", np.zeros((3, 3)))


def test_unphysical_published_data_pass_only_when_asked_for() -> None:
    assert (check.inertia("J", IMPOSSIBLE, allow_unphysical=True) == IMPOSSIBLE).all()
    assert "not symmetric" in line(check.inertia, "J", np.triu(np.ones((3, 3))), allow_unphysical=True)
    assert "not finite" in line(check.inertia, "J", np.diag([1.0, 2.0, np.inf]), allow_unphysical=True)
    assert "expected" in line(check.inertia, "J", np.eye(2), allow_unphysical=True)


# spatial inertia


@given(seed=st.integers(0, 10_000), m=st.floats(1e-3, 1e6), arm=st.floats(0, 10))
def test_the_spatial_inertia_of_a_body_about_any_point_passes(seed: int, m: float, arm: float) -> None:
    R = rotation(seed)
    check.inertia6("M", spatial(m * R @ PLATE @ R.T, m, arm * R[0]))


def test_a_wrong_spatial_inertia_says_which_rule_failed() -> None:
    r = np.array([0.1, -0.2, 0.3])
    good = spatial(BOX, 10.0, r)
    linear_first = np.block([[good[3:, 3:], good[3:, :3]], [good[:3, 3:], good[:3, :3]]])
    assert "angular rows come first" in line(check.inertia6, "M", linear_first)
    assert "M: mass -10 at [3,3] is not positive" in line(check.inertia6, "M", spatial(BOX, -10.0, r))
    even = good.copy()
    even[0, 4] = even[4, 0] = even[0, 4] + 0.1
    assert "upper right block is not antisymmetric (by 0.1)" in line(check.inertia6, "M", even)
    tilted = good.copy()
    tilted[0, 4] += 0.1
    assert "M: not symmetric: [0,4]" in line(check.inertia6, "M", tilted)
    hollow = line(check.inertia6, "M", spatial(IMPOSSIBLE, 10.0, r))
    assert hollow.startswith("M about the mass centre: triangle inequality violated: 5 > 1 + 2 (excess 2)")
    assert line(check.inertia6, "M", [good, spatial(IMPOSSIBLE, 10.0, r)]).startswith(
        "M about the mass centre (trial 1)"
    )


def test_an_inertia_too_small_for_its_lever_arm_is_refused() -> None:
    M = spatial(BOX, 10.0, np.array([0.0, 0.0, 1.0]))
    M[:3, :3] = BOX  # forgot to shift it from the mass centre
    assert "not positive definite" in line(check.inertia6, "M", M)


def test_an_unphysical_spatial_inertia_passes_only_when_asked_for() -> None:
    M = spatial(IMPOSSIBLE, 10.0, np.array([0.1, 0.2, 0.3]))
    assert (check.inertia6("M", M, allow_unphysical=True) == M).all()
    M[0, 1] += 1
    assert "not symmetric" in line(check.inertia6, "M", M, allow_unphysical=True)


# unit quaternion


def test_a_quaternion_near_unit_norm_is_normalised_and_one_far_off_refused() -> None:
    direction = np.array([0.5, -0.5, 0.5, 0.5])
    assert np.abs(check.unit_quaternion("q", direction * (1 + 9e-7)) - direction).max() < 2e-16
    assert np.abs(check.unit_quaternion("q", direction * (1 - 9e-7)) - direction).max() < 2e-16
    for factor in (1 + 1.1e-6, 1 - 1.1e-6, 0.0, 2.0):
        assert "is not 1" in line(check.unit_quaternion, "q", direction * factor)
    assert line(check.unit_quaternion, "q_IB", [1.1, 0, 0, 0]) == (
        "q_IB: norm 1.1 is not 1 (off by 0.1, allowed 1e-06); divide by the norm"
    )


def test_checking_a_quaternion_twice_gives_the_same_bits_as_once_alone_or_in_a_batch() -> None:
    q = noise.normal(5, 1000, "q", 4)
    q *= (1 + 1e-7) / np.linalg.norm(q, axis=-1, keepdims=True)
    once = check.unit_quaternion("q", q)
    assert check.unit_quaternion("q", once).tobytes() == once.tobytes()
    assert np.array([check.unit_quaternion("q", row) for row in q]).tobytes() == once.tobytes()


# numbers, vectors, shapes


def test_positive_refuses_zero_and_non_negative_takes_it() -> None:
    assert line(check.positive, "h", 0) == "h: 0 is not positive; give a number > 0"
    assert line(check.non_negative, "sigma", -1e-300) == "sigma: -1e-300 is negative; give a number >= 0"
    assert check.non_negative("sigma", 0) == 0
    assert check.positive("h", 5e-324) == 5e-324


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("call", [check.positive, check.non_negative, check.finite])
def test_a_number_that_is_not_finite_is_refused(call, value: float) -> None:
    assert "is not finite" in line(call, "x", value)


@pytest.mark.parametrize("value", ["abc", None, 1j, [1, "a"], {}, True, [[1, 2], [3]]])
def test_what_is_no_real_number_is_refused(value) -> None:
    assert line(check.shape, "x", value, ()).startswith("x: ")


def test_a_long_wrong_value_is_cut_short() -> None:
    assert len(line(check.finite, "x", "far too long " * 1000)) < 100


def test_a_wrong_length_says_what_was_expected_and_what_came() -> None:
    assert line(check.vector, "w_B", [1, 2, 3, 4], 3) == "w_B: expected (..., 3), got (4,)"
    assert line(check.vector, "w_B", 1.0, 3) == "w_B: expected (..., 3), got ()"


def test_integers_and_float32_become_float64_and_float64_is_not_copied() -> None:
    for given_type in (np.int8, np.uint64, np.float32):
        assert check.vector("v", np.ones(3, given_type), 3).dtype == np.float64
    v = np.ones((5, 3))
    assert check.vector("v", v, 3) is v


@pytest.mark.parametrize("call", [check.inertia, check.inertia6, check.unit_quaternion, check.covariance])
def test_no_trials_at_all_are_fine(call) -> None:
    core = {check.inertia6: (6, 6), check.unit_quaternion: (4,)}.get(call, (3, 3))
    assert call("x", np.zeros((0, *core))).shape == (0, *core)


# covariance


@given(seed=st.integers(0, 10_000), rank=st.integers(0, 6))
def test_a_covariance_built_from_a_root_passes_whatever_its_rank_and_units(seed: int, rank: int) -> None:
    root = noise.normal(seed, [0], "root", (6, rank))[0] * np.array([1e-6, 1e-5, 1e-6, 1e3, 1e4, 1e2])[:, None]
    check.covariance("P", root @ root.T)


def test_a_wrong_covariance_says_which_rule_failed_and_by_how_much() -> None:
    assert line(check.covariance, "P", [[1, 0], [0, -4]]).startswith("P: variance -4 on the diagonal is negative")
    assert "P: not symmetric: [0,1] is 0.5 and [1,0] is 0.4" in line(check.covariance, "P", [[1, 0.5], [0.4, 1]])
    assert "exceeds sigma_i sigma_j by 1:" in line(check.covariance, "P", [[1, 2], [2, 1]])
    three = [[1, 0.9, -0.9], [0.9, 1, 0.9], [-0.9, 0.9, 1]]
    assert "a correlation eigenvalue is -0.8 < 0" in line(check.covariance, "P", three)
    assert line(check.covariance, "P", [np.eye(3), three]).startswith("P (trial 1): ")
    assert line(check.covariance, "P", np.eye(3), n=6) == "P: expected (..., 6, 6), got (3, 3)"


def test_a_fault_in_a_small_unit_is_not_hidden_by_a_large_one() -> None:
    faulty = np.diag([1e12, 1e-12, 1e-12])
    faulty[1, 2] = faulty[2, 1] = 1.1e-12
    assert "exceeds sigma_i sigma_j" in line(check.covariance, "P", faulty)


def test_a_component_known_exactly_may_not_be_correlated() -> None:
    check.covariance("P", np.diag([0.0, 1.0]))
    assert "exceeds sigma_i sigma_j" in line(check.covariance, "P", [[0, 1e-20], [1e-20, 1]])
