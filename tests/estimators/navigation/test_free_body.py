"""The filter of a free target in the loop, its comparator, and how it begins anew."""

import numpy as np
import pytest

from gnc import dual_quaternion
from gnc.draws import Draws
from gnc.errors import InputError
from gnc.estimators import pose_motion, standard_mekf
from gnc.estimators.navigation.dqekf import DqekfPart
from gnc.models.craft.base import Site
from gnc.models.craft.pose import PosePart, PoseStart
from gnc.models.environment.table import FreeSpace
from gnc.models.known import Known
from gnc.models.pose_body import PoseBody, PoseState
from gnc.models.sensors.interface import Sighting
from gnc.models.sensors.relative import RelativePosePart

TARGET = PosePart(
    mass_kg=200.0,
    J_kgm2=((120.0, 6.0, -4.0), (6.0, 90.0, 5.0), (-4.0, 5.0, 60.0)),
    centre_m=(-1.0, 0.2, -0.1),
    start=PoseStart(attitude_sigma_deg=60.0, tumble_deg_s=3.0, velocity_sigma_m_s=0.01),
)
OBSERVER = PoseState(np.eye(8)[0], np.zeros(6))


def known(**sensors):
    draws, sky = Draws(0, np.arange(5)), FreeSpace()
    return Known("chaser", PosePart().belief(), sensors, {}, [], sky, 0.1, 0.1, draws, {"target": TARGET.belief()})


def believed(**fields):
    truth = TARGET.truth(Site("target", Draws(0, np.arange(5)), FreeSpace(), None)).start()
    part = DqekfPart(of="target", **fields)
    navigation, belief = part.build(
        known(camera=RelativePosePart(period_s=3.0).belief()), None, {"target": truth}, None
    )
    return navigation, belief, truth


@pytest.mark.parametrize("method", ["vi4", "vi2", "exact", "rk4", "midpoint"])
def test_the_mean_that_control_sees_is_that_of_one_prediction_from_the_last_measurement(method):
    navigation, belief, _ = believed(method=method)
    moved = belief
    for k in range(30):
        moved = navigation.predict(moved, None, None, 0.1 * k, 0.1)
    once = navigation.dqekf.predict(belief.last, None, moved.age)
    assert moved.last is belief.last
    np.testing.assert_allclose(moved.age, 3.0, rtol=1e-12)
    assert np.array_equal(moved.now.dq_IB, once.dq_IB) and np.array_equal(moved.now.chi_B, once.chi_B)


def test_the_exact_mean_comes_to_the_same_from_tick_to_tick():
    navigation, moved, _ = believed()
    once = navigation.dqekf.predict(moved.last, None, np.full(5, 3.0))
    for k in range(30):
        moved = navigation.predict(moved, None, None, 0.1 * k, 0.1)
    np.testing.assert_allclose(moved.now.dq_IB, once.dq_IB, atol=1e-13)
    np.testing.assert_allclose(moved.now.chi_B, once.chi_B, atol=1e-13)


def test_a_filter_that_refuses_measurement_after_measurement_begins_anew_with_the_momentum_it_knew():
    """A sure belief, 10 deg/s wrong about each axis, is refused five times; its own recovery would keep that rate."""
    navigation, first, target = believed()
    wrong = first.last._replace(chi_B=first.last.chi_B + np.radians(10.0), C=1e-3 * first.last.C)
    belief, moving = navigation.start(wrong), PoseBody(target.M)
    target = PoseState(target.dq_IB, target.chi_B)
    for k in range(5):
        for _ in range(30):
            target = moving.step(target, np.zeros(6), 0.1)
        belief = navigation.predict(belief, None, None, 3.0 * k, 3.0)
        seen = navigation.sensors["camera"].measure(target, None, np.tile([0.0] * 6 + [5.0, 5.0], (5, 1)))
        belief, made = navigation.update(belief, "camera", Sighting(*seen, OBSERVER), 100.0)
    assert not made.used.any() and (belief.last.recoveries == 1).all()
    np.testing.assert_allclose(belief.last.dq_IB, target.dq_IB, atol=1e-12)
    np.testing.assert_allclose(momentum(belief.last), momentum(first.last), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(belief.last.C, first.last.C, rtol=1e-12)


def momentum(belief):
    """Return [angular momentum about the centre of mass, linear momentum], inertial axes, by PoseBody."""
    plant, x = PoseBody(TARGET.inertia()), PoseState(belief.dq_IB, belief.chi_B)
    whole = plant.momentum(x)
    return whole - np.pad(np.cross(plant.centre_of_mass(x), whole[:, 3:]), ((0, 0), (0, 3)))


def test_the_midpoint_comparator_is_of_second_order():
    """Towards the exact drift: halving the step leaves an eighth of the error of one step, of mean and F alike."""
    navigation, belief, _ = believed(method="midpoint")
    x, M = navigation.dqekf.state(belief.last), navigation.dqekf.M
    errors = []
    for h in (0.8, 0.4, 0.2):
        dq, chi, F, _ = pose_motion.move("exact", *x, None, M, h)
        moved = standard_mekf.midpoint_move(*x, M, h)
        away = dual_quaternion.log(dual_quaternion.mul(dual_quaternion.conj(dq), moved[0]))
        errors.append([np.abs(away).max(), np.abs(chi - moved[1]).max(), np.abs(F - moved[2]).max()])
    np.testing.assert_allclose(np.log2(np.array(errors[:-1]) / errors[1:]), 3.0, atol=0.1)


def test_an_inertia_for_a_filter_that_estimates_none_is_refused_by_name():
    with pytest.raises(InputError, match='inertia_sigma_percent: method "midpoint" estimates no inertia'):
        believed(method="midpoint", inertia_sigma_percent=2.0)


def test_what_is_perfect_is_stated():
    told = " ".join(DqekfPart(of="target").perfect)
    assert "own pose and twist are the truth" in told and "is not disturbed" in told and "nobody estimates" in told
    assert "nobody estimates" not in " ".join(DqekfPart(of="target", inertia_sigma_percent=5.0).perfect)
