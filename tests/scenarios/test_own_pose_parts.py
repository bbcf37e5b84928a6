"""A user's own law, filter, sensor, actuator and guidance fly in rendezvous and docking."""

from functools import reduce
from pathlib import Path

import numpy as np
import pytest

from gnc.scenarios.missions.load import merged
from gnc.scenarios.missions.mission import Mission

OWN = f"{Path(__file__).parent / 'own' / 'pose_parts.py'}"
RUN = {"run": {"duration_s": 30.0, "record_s": 1.0}}


def software(**parts):
    return {"software": {"chaser": parts}}


def mode(**parts):
    return software(modes={"approach": parts})


def on_chaser(slot, name, **part):
    return {"craft": {"chaser": {slot: {name: part}}}}


CHANGES = {
    "law": [mode(law=f"{OWN}:Springs")],
    "filter": [software(navigation={"kind": f"{OWN}:Cautious", "of": "target"})],
    "sensor": [on_chaser("sensors", "lidar", kind=f"{OWN}:Lidar", sees="target", period_s=1.0)],
    "actuator": [on_chaser("actuators", "jets", kind=f"{OWN}:Jets", size=6), mode(to=["jets"])],
    "guidance": [mode(guidance=f"{OWN}:Stay")],
}


def fly(name, slot):
    mission = Mission.like(name, reduce(merged, [RUN, *CHANGES[slot]]))
    return mission.model_copy(update={"requirements": {}}).fly(2, seed=4).signals


def last(signal):
    return np.linalg.norm(signal.values[:, -1], axis=-1)


@pytest.mark.parametrize("name", ["rendezvous", pytest.param("docking", marks=pytest.mark.slow)])
@pytest.mark.parametrize("slot", CHANGES)
def test_a_part_of_ones_own_does_its_work(name, slot):
    flight = fly(name, slot)
    assert last(flight["chaser.knowledge_error_m"]).max() < 0.5
    if slot == "guidance":
        moved = flight["chaser.r_IB_m"].values - flight["chaser.r_IB_m"].values[:, :1]
        assert np.abs(moved).max() < 1e-3  # it is at rest; gravity beside the orbit alone pushes it, by 7e-5 m/s^2
        return
    assert last(flight["chaser.position_error_m"]).max() < 1.0
    assert np.abs(flight["chaser.wrench"].values).max(axis=(1, 2)).min() > 0.01
    if slot == "sensor":
        assert (flight["chaser.lidar.used"].values[:, -1] > 25).all()
    if slot == "filter":
        assert np.isfinite(flight["chaser.nees"].values).all()
    if slot == "actuator":
        assert np.all(flight["chaser.thrusters.impulse_Ns"].values == 0.0)
