import numpy as np
import pytest

from gnc import dual_quaternion as dq
from gnc import noise, spatial
from gnc.estimators import consistency, pose_motion
from gnc.estimators.cramer_rao import information, posterior
from gnc.estimators.dqekf import DqEkf
from gnc.estimators.extra_states import FORMS, Inertia, SteadyTorque
from gnc.estimators.pose_motion import deviated, inertia_slope
from gnc.models.pose_body import PoseState
from tests.estimators.rendezvous import C_0, CAMERA, J_COM, R_G, SIGMA, START, M, dispersed, errors, flight, in_band

POSE = dq.from_pose([0.5, 0.5, -0.5, 0.5], [1.0, 2.0, 3.0])
CHI = np.array([0.12, -0.16, 0.08, 0.8, -0.4, 1.2])
WRENCH = np.array([0.05, -0.02, 0.03, 0.4, -0.3, 0.2])


def differences(function, size, step):
    """Return the derivative of a function by central differences."""
    return np.stack([(function(d) - function(-d)) / (2.0 * step) for d in step * np.eye(size)], axis=-1)


def by_differences(form, method, wrench, h):
    """Return what `inertia_slope` should be, by moving bodies of other inertia."""
    state, (p, chi) = Inertia(form=form), pose_motion.move(method, POSE, CHI, wrench, M, h)[:2]

    def end(x):
        q, moved = pose_motion.move(method, POSE, CHI, wrench, deviated(M, state.inertia(x)), h)[:2]
        return np.r_[dq.log(dq.mul(dq.conj(p), q)), moved - chi]

    return differences(end, state.size, 1e-3), chi


# The derivative


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("method", ["vi2", "vi4"])
@pytest.mark.parametrize(("wrench", "h"), [(None, 5.0), (None, -2.0), (WRENCH, 5.0)])
def test_the_slope_is_that_of_what_was_done(form, method, wrench, h):
    """In substeps, over up to 60 deg, forwards and backwards, under torque and force; of about 5e-3 at the largest."""
    expected, chi = by_differences(form, method, wrench, h)
    slope = inertia_slope(form, method, CHI, chi, wrench, M, h)
    np.testing.assert_allclose(slope, expected, rtol=0, atol=1e-9)
    assert np.abs(expected).max() > 1e-3


@pytest.mark.parametrize("method", ["rk4", "exact"])
@pytest.mark.parametrize("wrench", [None, WRENCH])
def test_other_methods_take_the_slope_of_vi4(method, wrench):
    expected, chi = by_differences("ratios", method, wrench, 5.0)
    slope = inertia_slope("ratios", method, CHI, chi, wrench, M, 5.0)
    np.testing.assert_allclose(slope, expected, rtol=0, atol=1e-3 * np.abs(expected).max())


def test_the_exact_motion_has_its_slope_over_any_step_even_if_it_is_not_divided():
    """200 deg in one step: the substeps of the slope are its own."""
    expected, chi = by_differences("ratios", "exact", None, 16.0)
    slope = inertia_slope("ratios", "exact", CHI, chi, None, M, 16.0, turn=None)
    np.testing.assert_allclose(slope, expected, rtol=0, atol=1e-3 * np.abs(expected).max())


def test_a_free_body_of_larger_inertia_in_the_same_ratios_moves_alike_and_under_a_wrench_it_does_not():
    scale = J_COM[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
    for wrench, least, most in ((None, 0.0, 1e-13), (WRENCH, 1e-3, 1.0)):
        chi = pose_motion.move("vi4", POSE, CHI, wrench, M, 5.0)[1]
        change = inertia_slope("full", "vi4", CHI, chi, wrench, M, 5.0) @ scale
        assert least <= np.abs(change).max() < most


def test_the_deviation_is_that_of_the_inertia_about_the_centre_of_mass():
    dJ = np.array([[3.0, 1, -2], [1, -1, 0.5], [-2, 0.5, -2]])
    np.testing.assert_allclose(deviated(M, dJ), spatial.inertia(200.0, R_G, J_COM + dJ), rtol=0, atol=1e-12)


def test_trials_have_the_bits_of_one_alone_and_a_lost_one_touches_no_other():
    chi = CHI * np.array([1.0, 10.0, np.nan, 1e12])[:, None]
    moved = pose_motion.move("vi4", POSE, chi, WRENCH, M, 4.0)[1]
    together = inertia_slope("ratios", "vi4", chi, moved, WRENCH, M, 4.0)
    assert np.isnan(together[2:]).any(axis=(-1, -2)).all()
    for k in range(2):
        np.testing.assert_array_equal(together[k], inertia_slope("ratios", "vi4", chi[k], moved[k], WRENCH, M, 4.0))


# The filter


@pytest.mark.parametrize("method", ["vi2", "vi4"])
@pytest.mark.parametrize("wrench", [None, WRENCH])
def test_mean_and_covariance_move_with_the_estimated_inertia(method, wrench):
    """The mean as that of a filter that is told this inertia; the covariance by the derivative, in differences."""
    values = np.array([2.0, -1.0, 0.5, 1.0, -0.7, 0.01, -0.02, 0.03])
    dqekf = DqEkf(M, method, extras=(Inertia(form="ratios"), SteadyTorque()))
    belief = dqekf.start(PoseState(POSE, CHI), C_0, values, np.diag([4.0] * 5 + [1e-4] * 3))
    end = dqekf.predict(belief, wrench, 5.0)
    told = DqEkf.of(200.0, R_G, J_COM + Inertia(form="ratios").inertia(values[:5]), method=method)
    torque = np.r_[values[5:], 0, 0, 0] + (0.0 if wrench is None else wrench)
    same = told.predict(told.start(PoseState(POSE, CHI), C_0), torque, 5.0)
    np.testing.assert_allclose(end.dq_IB, same.dq_IB, rtol=0, atol=1e-12)
    np.testing.assert_allclose(end.chi_B, same.chi_B, rtol=0, atol=1e-12)

    def moved(d):
        start = belief._replace(dq_IB=dq.mul(POSE, dq.exp(d[:6])), chi_B=CHI + d[6:12], extras=values + d[12:])
        x = dqekf.predict(start, wrench, 5.0)
        return np.r_[errors(dqekf.state(x), end), x.extras - values]

    F = differences(moved, 20, 1e-5)
    sigma = np.sqrt(np.diag(end.C))
    np.testing.assert_allclose((F @ belief.C @ F.T - end.C) / np.outer(sigma, sigma), 0.0, rtol=0, atol=1e-7)


# A target whose inertia is 2 % off: 3 deg/s, pose to 1 cm and 0.5 deg every 3 s, 600 s

TRIALS, H, SEED = 100, 3.0, 11  # the walk was chosen with other seeds, 1 and 5
RATIOS = Inertia(form="ratios", walk=1e-6)
PRINCIPAL = np.array([120.0, 90, 60, 60, 60])  # what the deviations xx, yy, xy, xz, yz are compared with
SIGMA_J = 0.02 * PRINCIPAL


@pytest.fixture(scope="module")
def truth():
    return flight(START, 600.0, H)


@pytest.fixture(scope="module")
def off():
    """Return the deviations to be found, and what the filters are told instead of M."""
    true = SIGMA_J * noise.normal(SEED, TRIALS, "J", 5)
    return true, deviated(M, -RATIOS.inertia(true))


def fly(dqekf, truths, true=()):
    """Return the errors of pose, twist and extra states at all times, and their covariance."""
    drawn = noise.normal(SEED, TRIALS, "camera", (len(truths), 8))
    belief = dqekf.start(dispersed(SEED, TRIALS), C_0, C_extras=np.diag(SIGMA_J**2) if dqekf.extras else None)
    e, C = [], []
    for k, x in enumerate(truths[1:]):
        belief = dqekf.predict(belief, None, H)
        belief, _ = dqekf.update(belief, CAMERA, CAMERA.measure(x, None, drawn[:, k]), gated=False)
        e.append(np.concatenate([errors(x, belief), np.reshape(true, belief.extras.shape) - belief.extras], axis=-1))
        C.append(belief.C)
    return np.array(e), np.array(C)


def rms_deg_mm(variances):
    """Return attitude and position in the second half, from squared errors or variances over time."""
    parts = variances[len(variances) // 2 :, ..., :6].reshape(-1, 2, 3)
    return np.sqrt(parts.sum(axis=-1).mean(axis=0)) * [np.degrees(1.0), 1e3]


def bound(truths, flow):
    """Return the posterior Cramer-Rao bound over time, the ratios among the unknowns."""
    F, start = np.tile(np.eye(17), (len(flow.F), 1, 1)), np.diag(np.r_[np.diag(C_0), SIGMA_J**2])
    F[:, :12, :12] = flow.F
    for k, (x, y) in enumerate(zip(truths[:-1], truths[1:], strict=True)):
        F[k, :12, 12:] = inertia_slope("ratios", "vi4", x.chi_B, y.chi_B, None, M, H)
    measured = np.tile(information(np.eye(6, 17), np.diag(SIGMA**2)), (len(truths), 1, 1))
    measured[0] = 0.0
    return posterior(F, 0.0, measured, start)[1:]


def test_a_targets_inertia_that_is_two_percent_off_is_found(truth, off):
    """Attitude to 0.17 or 0.18 deg over seeds, the bound being 0.15; with the inertia known 0.10, not estimated 5 to 6.

    Against it stands a filter without ratios at the process noise that suits it best: 0.54 deg at 1e-4, 0.47 at 3e-4,
    0.48 at 1e-3. What is left of the inertia's error is below 0.2 %.
    """
    (truths, flow), (true, guess) = truth, off
    found = fly(DqEkf(guess, "exact", extras=(RATIOS,)), truths, true)[0]
    wrong = fly(DqEkf(guess, "exact"), truths)[0]
    tuned = fly(DqEkf(guess, wrench_psd=[3e-4] * 3 + [0.0] * 3), truths)[0]
    best, reached = (rms_deg_mm(v) for v in (np.diagonal(bound(truths, flow), axis1=-2, axis2=-1), found**2))
    assert (reached < [1.35 * best[0], 1.2 * best[1]]).all()
    assert (rms_deg_mm(wrong**2) > 10.0 * reached).all()
    assert (rms_deg_mm(tuned**2) > [2.0 * reached[0], 1.5 * reached[1]]).all()
    assert (np.sqrt(np.mean(found[-1, :, 12:] ** 2, axis=0)) < 0.002 * PRINCIPAL).all()


def test_with_a_small_walk_of_the_ratios_it_is_consistent_and_without_it_is_too_sure(truth, off):
    """NEES of all 17 errors, and of pose and twist, over all times and at the end: false alarm < 4e-3 together.

    Without a walk, linearised now here and now there, the filter sees relations between inertia and twist that are not
    there: NEES 25 to 40 of 17 over seeds. That of pose and twist alone is 14 to 16 of 12.
    """
    (truths, _), (true, guess) = truth, off
    e, C = fly(DqEkf(guess, "exact", extras=(RATIOS,)), truths, true)
    for n in (12, 17):
        nees = consistency.nees(e[..., :n], C[..., :n, :n])
        assert in_band(nees, n) and in_band(nees[-1], n)
    e, C = fly(DqEkf(guess, "exact", extras=(Inertia(form="ratios"),)), truths, true)
    assert not in_band(consistency.nees(e[-1], C[-1]), 17)
    assert consistency.nees(e[-1, :, :12], C[-1, :, :12, :12]).mean() < 18.0
