"""The mission servicing: an arm on a base that is held."""

import numpy as np
import pytest

from gnc import dual_quaternion
from gnc.controllers import arm
from gnc.draws import Draws
from gnc.errors import InputError
from gnc.models.craft.base import Site
from gnc.models.craft.tree import TreePart
from gnc.models.multibody import TreeState, accelerations, kinematics, sections
from gnc.scenarios.missions.load import read
from gnc.scenarios.missions.mission import Mission
from tests.scenarios.flights import failed, flown, judged, same_bits

PLAN = "software.servicer.modes.work.guidance"
BRIEF = (f"{PLAN}.start_s=1.0", f"{PLAN}.time_s=10.0", "run.duration_s=6.0")
HOLD = dual_quaternion.from_pose(np.array([1.0, 0, 0, 0]), np.array([0.5, -0.2, 6.0]))
SERVICER = read("servicing").craft["servicer"]
MOVE = read("servicing").software["servicer"].modes["work"].guidance


def short(*settings):
    """Return the settings of a flight whose move begins at 30 s, and is judged from there on."""
    times = {"t >= 60": "t >= 30", "t >= 140": "t >= 100"}
    asked = [
        f'requirements.{name}.when="{times[part.when]}"'
        for name, part in read("servicing").requirements.items()
        if getattr(part, "when", "") in times
    ]
    return (f"{PLAN}.start_s=30.0", "run.duration_s=105.0", *asked, *settings)


@pytest.fixture(scope="module")
def planned():
    nominal = SERVICER.nominal()
    ends = [sections.coordinates(nominal, values, "") for values in (MOVE.from_deg, MOVE.to_deg)]
    return nominal, arm.plan(nominal, HOLD, arm.Move(60.0, 60.0, *ends), 0.1, "tip")


@pytest.fixture(scope="module")
def brief():
    return flown("servicing", 7, 5, *BRIEF)


@pytest.mark.parametrize("seed", [31, pytest.param(32, marks=pytest.mark.slow)])
def test_base_and_tip_stay_within_their_bounds(seed):
    verdict = judged("servicing", seed, 8, *short())
    assert failed(verdict) == [] and verdict.lost == {}
    assert verdict.per_trial["tip_max_m"].shape == (8,)


def test_without_feed_forward_the_base_turns_ten_times_as_far_and_fails():
    verdict = judged("servicing", 31, 4, *short("software.servicer.modes.work.law.feedforward=false"))
    assert "pointing of the base p99.7 [deg]" in failed(verdict)
    assert verdict.metrics["pointing_p997_deg"] > 1.0


@pytest.mark.slow
def test_a_filter_that_is_not_told_of_the_plan_is_not_honest():
    verdict = judged("servicing", 31, 4, *short("software.servicer.navigation.knows_plan=false"))
    assert "NEES" in failed(verdict)


def test_a_trial_alone_has_the_bits_it_has_in_a_batch(brief):
    assert same_bits(brief.signals, flown("servicing", 7, [3], *BRIEF).signals, 3)


def test_the_craft_is_that_of_its_tubes_and_cube():
    """Masses and inertias of the file against the formulas of slender tubes and a cube, about the tip's place."""
    tree = SERVICER.nominal()
    for name, length, axis in (("turret", 0.3, 2), ("upper_arm", 1.5, 0)):
        body = tree.bodies[tree.body(name)]
        moments = np.full(3, length**2 / 12.0 + 0.005 * length**2)
        moments[axis] = 0.01 * length**2
        assert np.allclose(body.J_com, body.mass * np.diag(moments))
    forearm = tree.bodies[tree.body("forearm")]
    assert forearm.mass == pytest.approx(28.0) and forearm.r_g == pytest.approx([0.75 * 20.0 / 28.0, 0.0, 0.0])
    x = tree.state()
    assert dual_quaternion.to_pose(kinematics.frame_pose(tree, x, "tip"))[1] == pytest.approx([3.5, 0.0, 1.3])


def test_flight_software_takes_the_whole_craft_for_one_body_in_its_posture():
    """Its mass and centre of mass against sums over the bodies of the tree."""
    M, tree = SERVICER.belief().M, SERVICER.nominal()
    x = tree.state()._replace(gamma=np.radians(SERVICER.posture_deg))
    assert M[3, 3] == pytest.approx(sum(body.mass for body in tree.bodies))
    centre = np.array([M[2, 4], M[0, 5], M[1, 3]]) / M[3, 3]
    assert np.allclose(centre, kinematics.centre_of_mass(tree, x))


@pytest.mark.parametrize("t", [61.0, 75.0, 90.0, 111.3])
def test_the_planned_efforts_and_wrench_move_the_arm_and_hold_the_base(planned, t):
    """By forward dynamics, and by finite differences of the planned rates."""
    nominal, plan = planned
    row, before, after = plan.at(t), plan.at(t - 0.05), plan.at(t + 0.05)
    x = TreeState(HOLD, np.zeros(6), row.gamma, row.rate)
    a = accelerations(nominal, x, row.effort, nominal.wrenches({"base": row.wrench_B}))
    assert np.abs(a.twist_dot).max() < 1e-12
    assert np.allclose(a.rate_dot, (after.rate - before.rate) / 0.1, atol=1e-6)
    assert np.allclose(row.rate, (after.gamma - before.gamma) / 0.1, atol=1e-6)


@pytest.mark.parametrize("t", [70.0, 100.0])
def test_the_wrench_that_holds_the_base_is_what_the_momentum_of_the_arm_gains(planned, t):
    nominal, plan = planned

    def momentum(at):
        row = plan.at(at)
        return kinematics.momentum(nominal, TreeState(HOLD, np.zeros(6), row.gamma, row.rate))

    gained = (momentum(t + 0.05) - momentum(t - 0.05)) / 0.1
    wanted = dual_quaternion.transform_wrench(HOLD, plan.at(t).wrench_B)
    assert np.allclose(gained, wanted, atol=1e-4 * np.abs(wanted).max())


def test_the_move_begins_and_ends_at_rest_where_it_should(planned):
    _, plan = planned
    for t, wanted in ((0.0, MOVE.from_deg), (60.0, MOVE.from_deg), (120.0, MOVE.to_deg), (500.0, MOVE.to_deg)):
        assert np.allclose(np.degrees(plan.at(t).gamma), wanted) and np.allclose(plan.at(t).rate, 0.0)
        assert np.allclose(plan.at(t).wrench_B, 0.0, atol=1e-12)


def test_books_see_an_impulse_that_was_not_entered(monkeypatch):
    monkeypatch.setattr("gnc.models.books.entered", lambda books, *rest: books)
    assert "momentum bookkeeping" in failed(judged("servicing", 7, 2, *BRIEF))


def test_the_signals_it_names_are_enough_to_judge():
    asked = ('requirements={pointing_max_deg={signal="pointing_error_deg", at_most=9.0}}',)
    whole, part = (flown("servicing", 7, 2, *BRIEF, *asked, judged_only=only) for only in (False, True))
    assert part.verdict.metrics == whole.verdict.metrics and "servicer.turret.q" not in part.signals


def test_motors_in_joints_that_are_not_there_are_refused():
    with pytest.raises(InputError, match=r"actuators.motors.joints: 'wrist' is no joint"):
        flown("servicing", 0, 1, *BRIEF, 'craft.servicer.actuators.motors.joints=["turret", "wrist", "forearm"]')


URDF = """<robot name="servicer">
  <link name="bus"><inertial><mass value="300"/>
    <inertia ixx="90" iyy="80" izz="100" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="boom"><inertial><origin xyz="0.8 0 0"/><mass value="12"/>
    <inertia ixx="0.1" iyy="2.6" izz="2.6" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="tip"/>
  <joint name="boom" type="revolute"><parent link="bus"/><child link="boom"/><origin xyz="0.7 0 0"/>
    <axis xyz="0 0 1"/><limit effort="1" velocity="1"/></joint>
  <joint name="end" type="fixed"><parent link="boom"/><child link="tip"/><origin xyz="1.6 0 0"/></joint>
</robot>"""


def test_a_servicer_from_a_urdf_file_moves_its_arm_and_holds_its_base(tmp_path):
    pytest.importorskip("urdf_parser_py")
    (tmp_path / "boom.urdf").write_text(URDF)
    (tmp_path / "boom.toml").write_text(
        f"""base = "servicing"
remove = ["craft.servicer.bodies", "craft.servicer.spots", "craft.servicer.posture_deg", "requirements"]
[run]
duration_s = 35.0
[craft.servicer]
urdf = "boom.urdf"
[craft.servicer.start]
joints_deg = [0.0]
[craft.servicer.actuators.motors]
joints = ["boom"]
[{PLAN}]
start_s = 2.0
time_s = 25.0
from_deg = [0.0]
to_deg = [60.0]
[software.servicer.modes.work.law]
joint_stiffness_Nm_rad = [20.0]
joint_damping_Nms_rad = [60.0]
[requirements.pointing]
signal = "pointing_error_deg"
when = "t > 28"
at_most = 0.5
[requirements.tip]
signal = "tip_error_m"
when = "t > 28"
at_most = 0.05
[requirements.books]
signal = "momentum_gap"
at_most = 1e-9
"""
    )
    flight = read(str(tmp_path / "boom.toml")).fly(2, 3)
    assert failed(flight.verdict) == []
    assert flight.signals["servicer.boom.joint_deg"].values[:, -1] == pytest.approx([60.0, 60.0], abs=0.2)


def test_spots_and_errors_of_the_file_hold_for_a_tree_from_urdf_too(tmp_path):
    """dJ_zz = 0.03 (N_x S_xx + N_y S_yy), N normal, S = tr(J)/2 1 - J: 200 draws: 5 sigma are 25 %."""
    pytest.importorskip("urdf_parser_py")
    (tmp_path / "boom.urdf").write_text(URDF)
    spots = {"hook": sections.Spot(on="boom", at_m=(1.5, 0.0, 0.1))}
    part = TreePart(urdf=str(tmp_path / "boom.urdf"), spots=spots, J_error_percent=3.0)
    assert [frame.name for frame in part.nominal().frames if frame.body == "boom"][-1] == "hook"
    draws = Draws(4, np.arange(200))
    craft = part.truth(Site("servicer", draws, read("servicing").environment.orbit.sky(0.1, 1.0), None))
    J_zz = craft.moving.bodies.inertias[:, 0, 2, 2]
    assert np.mean(J_zz) == pytest.approx(100.0, rel=0.02)
    assert np.std(J_zz) == pytest.approx(0.03 * np.hypot(135.0 - 90.0, 135.0 - 80.0), rel=0.25)


def test_a_satellite_with_a_panel_turns_on_wheels_by_an_attitude_filter():
    """A tree in another mission: its base under a MEKF, PD+ and reaction wheels; the panel swings on its hinge."""
    panel = {"mass_kg": 2.0, "J_kgm2": [[0.02, 0, 0], [0, 0.05, 0], [0, 0, 0.07]], "joint_m": [0.3, 0, 0]}
    craft = {
        "kind": "tree",
        "mass_kg": 60.0,
        "J_kgm2": [[4.0, 0, 0], [0, 5.0, 0], [0, 0, 3.0]],
        "bodies": {"panel": panel | {"origin_m": [0.4, 0, 0]}},
        "start": {"attitude_sigma_deg": 3.0},
        "actuators": {"wheels": {"kind": "reaction-wheels", "torque_limit_Nm": 0.05, "momentum_limit_Nms": 1.0}},
        "sensors": {"tracker": {"kind": "star-tracker", "rate_hz": 2.0}},
    }
    mode = {"guidance": "inertial", "law": {"kind": "pd", "frequency_rad_s": 0.2}, "to": ["wheels"]}
    navigation = {"kind": "mekf", "torque_psd_Nm2s": 1e-6, "start": {"source": "inertial"}}
    mission = Mission(
        run={"duration_s": 60.0, "trials": 2},
        craft={"sat": craft},
        software={"sat": {"rate_hz": 2.0, "navigation": navigation, "modes": {"hold": mode}}},
        requirements={
            "pointing": {"signal": "pointing_error_deg", "when": "t > 50", "at_most": 0.5},
            "books": {"signal": "momentum_gap", "at_most": 1e-9},
        },
    )
    flight = mission.fly()
    assert failed(flight.verdict) == []
    assert np.ptp(flight.signals["sat.panel.joint_deg"].values) > 1e-3


def test_a_panel_on_a_spring_swings_as_a_damped_pendulum_does():
    """On a base that is too heavy to move: gamma = e^(-d t) (cos w t + d/w sin w t), I = J + m l^2 about the hinge."""
    panel = {"mass_kg": 2.0, "J_kgm2": [[0.1, 0, 0], [0, 0.2, 0], [0, 0, 0.25]], "origin_m": [0.5, 0, 0]}
    panel |= {"stiffness": 0.6, "damping": 0.05}
    base = {"kind": "tree", "mass_kg": 1e6, "J_kgm2": (1e7 * np.eye(3)).tolist(), "start": {"joints_deg": [5.0]}}
    mission = Mission(craft={"sat": {**base, "bodies": {"panel": panel}}}, run={"duration_s": 8.0, "record_s": 0.5})
    signals = mission.model_copy(update={"run": mission.run.model_copy(update={"truth_step_s": 0.01})}).fly(1).signals
    inertia, t = 0.25 + 2.0 * 0.5**2, signals["time"].values
    d = 0.5 * 0.05 / inertia
    w = np.sqrt(0.6 / inertia - d * d)
    expected = 5.0 * np.exp(-d * t) * (np.cos(w * t) + d / w * np.sin(w * t))
    assert np.abs(signals["sat.panel.joint_deg"].values[0] - expected).max() < 2e-3


def test_a_move_that_lasts_for_ever_is_refused():
    with pytest.raises(InputError, match=r"time_s = 1e\+30: the plan has"):
        read("servicing", [f"{PLAN}.time_s=1e30"]).fly(1, 0)
