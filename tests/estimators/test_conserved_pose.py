"""The conserved chart of poses, and the filter in it."""

import numpy as np
import pytest

from gnc import dual_quaternion as dq
from gnc import noise
from gnc.estimators import consistency
from gnc.estimators.conserved_chart import pose_conserved_error
from gnc.estimators.corrections import moved_kernel
from gnc.estimators.dqekf import DqEkf
from gnc.estimators.extra_states import Inertia
from gnc.estimators.pose_belief import lost, pose_space
from gnc.models.pose_body import PoseState
from gnc.models.sensors.interface import Measurement
from gnc.scenarios.study.pose import Target
from tests.estimators.test_pose_motion import CHI, POSE, M


@pytest.mark.parametrize("form", [None, "ratios"])
def test_the_reset_is_the_derivative_of_the_move(form) -> None:
    state = None if form is None else Inertia(form=form)
    n, unknown = (12, None) if state is None else (12 + state.size, (0, form))
    kernel, C = moved_kernel(pose_space("conserved", unknown), n), 1e-6 * np.eye(n)
    d = np.concatenate(
        [[0.2, -0.1, 0.15, 0.3, -0.2, 0.1, 0.004, -0.003, 0.002, 0.05, 0.02, -0.03], np.full(n - 12, 2.0)]
    )
    x = np.concatenate([CHI, np.zeros(n - 12)])
    p, x_new, g = kernel(POSE, x, C, d, M)
    columns = []
    for e in 1e-6 * np.eye(n):
        ends = [kernel(POSE, x, C, d + s * e, M)[:2] for s in (1.0, -1.0)]
        errors = [np.concatenate([dq.log(dq.mul(dq.conj(p), q)), y - x_new]) for q, y in ends]
        columns.append((errors[0] - errors[1]) / 2e-6)
    np.testing.assert_allclose(g, np.stack(columns, axis=-1), rtol=0, atol=1e-8)


def test_the_inverse_finds_the_way_back() -> None:
    d = 0.02 * np.array([1.0, -2, 0.5, 3, -2, 4, 0.1, 0.2, -0.1, 0.5, 0.3, -0.2])
    p, x, _ = moved_kernel(pose_space("conserved"), 12)(POSE, CHI, 1e-8 * np.eye(12), d, M)
    np.testing.assert_allclose(pose_conserved_error(POSE, CHI, 1e-8 * np.eye(12), M, p, x), d, atol=1e-10)


def flown(filter_, problem, data, last):
    belief = filter_.start(data.start, data.C0)
    for k in range(1, last + 1):
        belief, _ = filter_.advance(belief, None, data.h, [(data.camera, data.measured[k])], gated=False)
    return consistency.nees(*filter_.error(belief, data.truth[last])).mean()


def test_it_is_honest_after_half_an_hour_where_the_usual_filter_is_not() -> None:
    # NEES (12) of 200 trials at the end: bands of 99.9 %.
    problem = Target(w_deg_s=9.0, duration_s=1800.0)
    data, band = problem.simulate(0.1, 200, seed=78), consistency.mean_band(12, 200, 0.999)
    assert band.holds(flown(DqEkf(problem.M, chart="conserved"), problem, data, 180))
    assert not band.holds(flown(DqEkf(problem.M), problem, data, 180))


def test_a_batch_has_the_bits_of_its_trials_alone_and_lost_ones_stay_lost() -> None:
    problem = Target()
    data, filter_ = problem.simulate(1.0, 3, seed=1), DqEkf(problem.M, chart="conserved", wrench_psd=1e-6)
    belief = filter_.start(data.start, data.C0)
    belief = belief._replace(dq_IB=np.where(np.arange(3)[:, None] == 1, np.nan, belief.dq_IB))
    z = data.measured[5]
    together, _ = filter_.advance(belief, None, 5.0, [(data.camera, z)], gated=False)
    for trial in range(3):
        alone = type(belief)(*[part[trial] for part in belief])
        one, _ = filter_.advance(alone, None, 5.0, [(data.camera, Measurement(z[0][trial], z[1][trial]))], gated=False)
        for a, b in zip(one, together, strict=True):
            np.testing.assert_array_equal(a, b[trial])
    np.testing.assert_array_equal(lost(together), [False, True, False])


def test_with_small_corrections_it_is_the_usual_filter() -> None:
    sigma = np.repeat([1e-7, 1e-7, 1e-9, 1e-9], 3)
    usual, ours = (DqEkf(M, wrench_psd=1e-14, chart=chart) for chart in ("usual", "conserved"))
    camera = Target(sigma_deg=np.degrees(1e-7), sigma_m=1e-7).camera(1.0)
    start = usual.start(PoseState(POSE, CHI), np.diag(sigma**2))
    wrench = np.array([0.05, -0.02, 0.03, 0.4, -0.3, 0.2])
    truth = usual.state(usual.predict(start, wrench, 1.0))
    z = camera.measure(truth, None, noise.normal(1, 1, "z", camera.noise_size)[0])
    expected, _ = usual.update(usual.predict(start, wrench, 1.0), camera, z)
    found, _ = ours.advance(start, wrench, 1.0, [(camera, z)])
    assert np.abs(dq.log(dq.mul(dq.conj(expected.dq_IB), found.dq_IB))).max() < 1e-11
    np.testing.assert_allclose(found.chi_B, expected.chi_B, atol=1e-12)
    scale = np.sqrt(np.diag(expected.C))
    assert (np.abs(found.C - expected.C) < 1e-4 * np.outer(scale, scale)).all()
