"""URDF files against Pinocchio's own reader and dynamics, and what is refused."""

import sys

import numpy as np
import pinocchio as pin
import pytest

from gnc import dual_quaternion
from gnc.errors import InputError
from gnc.models.multibody import kinematics, urdf
from gnc.models.multibody.articulated import accelerations
from tests.models.multibody import samples
from tests.models.multibody.pinocchio_tree import SWAP

BODY = """<inertial><origin xyz="{xyz}" rpy="0.2 -0.4 0.6"/><mass value="{mass}"/>
<inertia ixx="0.5" ixy="0.02" ixz="-0.03" iyy="0.6" iyz="0.01" izz="0.7"/></inertial>"""
ARM = f"""<?xml version="1.0" encoding="utf-8"?>
<robot name="servicer">
  <link name="bus">{BODY.format(xyz="0.1 0.2 -0.1", mass=20)}</link>
  <link name="antenna">{BODY.format(xyz="0 0 0.5", mass=2)}</link>
  <link name="adapter"/>
  <link name="upper">{BODY.format(xyz="0.5 0 0", mass=4)}
    <visual><geometry><sphere radius="1"/></geometry></visual></link>
  <link name="lower">{BODY.format(xyz="0.4 0.1 0", mass=3)}</link>
  <link name="slider">{BODY.format(xyz="0 0.1 0.1", mass=1)}</link>
  <link name="wheel">{BODY.format(xyz="0 0 0", mass=1.5)}</link>
  <link name="tool"/>
  <joint name="mast" type="fixed"><parent link="bus"/><child link="antenna"/><origin xyz="0 1 0" rpy="0.5 0 0"/></joint>
  <joint name="flange" type="fixed"><parent link="antenna"/><child link="adapter"/><origin xyz="1 0 0.2"/></joint>
  <joint name="shoulder" type="revolute"><parent link="adapter"/><child link="upper"/>
    <origin xyz="0.3 0 1" rpy="0.3 -0.2 0.1"/><axis xyz="0 0.6 0.8"/>
    <limit effort="9" velocity="9" lower="-3" upper="3"/></joint>
  <joint name="elbow" type="continuous"><parent link="upper"/><child link="lower"/>
    <origin xyz="1 0 0" rpy="0 0.7 0"/><axis xyz="0 0 -1"/></joint>
  <joint name="rail" type="prismatic"><parent link="lower"/><child link="slider"/>
    <origin xyz="0.8 0 0"/><limit effort="9" velocity="9" lower="-1" upper="1"/></joint>
  <joint name="spin" type="continuous"><parent link="bus"/><child link="wheel"/><axis xyz="0 1 0"/></joint>
  <joint name="grip" type="fixed"><parent link="slider"/><child link="tool"/>
    <origin xyz="0 0 0.3" rpy="0 0 1.2"/></joint>
</robot>"""


def names(model):
    return list(model.names)[2:]


def test_a_file_flies_as_in_pinocchio(tmp_path):
    file = tmp_path / "servicer.urdf"
    file.write_text(ARM)
    tree = urdf.load(file)
    model = pin.buildModelFromXML(ARM, pin.JointModelFreeFlyer())
    model.gravity.setZero()
    data = model.createData()
    assert sorted(names(model)) == sorted(joint.name for joint in tree.joints)
    x = samples.state(1, tree)
    q, v = pin.neutral(model), np.zeros(model.nv)
    q_IB, r_IB = dual_quaternion.to_pose(x.dq_IB)
    q[:7], v[:6] = [*r_IB, *q_IB[1:], q_IB[0]], x.twist_B[SWAP]
    effort, _ = samples.loads(2, tree)
    tau = np.zeros(model.nv)
    for name in names(model):
        joint, mine = model.joints[model.getJointId(name)], tree.rate_slice(name)
        turns = joint.nq == 2  # Pinocchio keeps cosine and sine of a continuous joint
        angle = x.gamma[tree.gamma_slice(name)][0]
        q[joint.idx_q : joint.idx_q + joint.nq] = [np.cos(angle), np.sin(angle)] if turns else [angle]
        v[joint.idx_v], tau[joint.idx_v] = x.rate[mine][0], effort[mine][0]
    a = pin.aba(model, data, q, v, tau)
    found = accelerations(tree, x, effort)
    np.testing.assert_allclose(found.twist_dot, a[:6][SWAP], atol=1e-11)
    for name in names(model):
        assert found.rate_dot[tree.rate_slice(name)][0] == pytest.approx(
            a[model.joints[model.getJointId(name)].idx_v], abs=1e-11
        )
    pin.framesForwardKinematics(model, data, q)
    for link in ("tool", "adapter", "lower", "bus"):
        pose = dual_quaternion.to_matrix(kinematics.frame_pose(tree, x, link))
        np.testing.assert_allclose(pose, data.oMf[model.getFrameId(link)].homogeneous, atol=1e-12)


def test_links_on_fixed_joints_are_merged_and_kept_as_frames():
    tree = urdf.parse(ARM)
    assert tree.body_names == ("bus", "upper", "lower", "slider", "wheel")
    assert tree.bodies[0].mass == pytest.approx(22.0)
    assert {frame.name for frame in tree.frames} >= {"antenna", "adapter", "tool", "bus"}


def test_a_world_with_a_floating_base_is_left_out():
    world = '<link name="world"/><joint name="free" type="floating"><parent link="world"/><child link="bus"/></joint>'
    tree = urdf.parse(ARM.replace("</robot>", f"{world}</robot>"))
    assert tree.body_names[tree.root] == "bus"


def robot(joint, more=""):
    links = "".join(f'<link name="{n}">{BODY.format(xyz="0 0 0", mass=1)}</link>' for n in "ab")
    return f'<robot name="r">{links}{more}{joint}</robot>'


def between(kind, inside="", parent="a", child="b"):
    return f'<joint name="j" type="{kind}"><parent link="{parent}"/><child link="{child}"/>{inside}</joint>'


BAD = {
    "URDF: joint j: type 'planar' is not supported; these are: fixed, revolute": robot(between("planar")),
    "URDF: joint j: floating; only a massless world": robot(between("floating")),
    "URDF: joint j: there is no link 'c'": robot(between("fixed", child="c")),
    "URDF: joint j: mimics k": robot(between("continuous", '<mimic joint="k"/>')),
    "Invalid joint type: helical; give a URDF file": robot(between("helical")),
    "URDF: unclosed token": "<robot",
    "body c: a massless leaf": robot(between("continuous"), '<link name="c"/>')
    .replace("</robot>", between("continuous", child="c").replace('"j"', '"k"') + "</robot>"),
    "URDF: link a: J_com: triangle inequality violated": robot(between("fixed")).replace('izz="0.7"', 'izz="7"'),
    "URDF: link (a|b): its fixed joints close a cycle": robot(
        between("fixed") + between("fixed", parent="b", child="a").replace('"j"', '"k"')
    ),
}  # fmt: skip


@pytest.mark.parametrize("message", BAD)
def test_what_cannot_be_flown_is_refused_in_one_line(message):
    with pytest.raises(InputError, match=message) as refused:
        urdf.parse(BAD[message])
    assert "\n" not in str(refused.value)


def test_a_missing_file_and_a_missing_parser_are_told(monkeypatch, tmp_path):
    with pytest.raises(InputError, match="none.urdf: no such file or directory; give a URDF file"):
        urdf.load(tmp_path / "none.urdf")
    monkeypatch.setitem(sys.modules, "urdf_parser_py.urdf", None)
    with pytest.raises(InputError, match="pip install urdf_parser_py"):
        urdf.parse(ARM)
