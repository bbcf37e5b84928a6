"""The built-in scenarios by name; each lives in the module of its name and is imported when it is asked for."""

from __future__ import annotations

import difflib
from importlib import import_module
from typing import TYPE_CHECKING

from gnc.errors import InputError

if TYPE_CHECKING:
    from gnc.scenarios.scenario import Scenario

SCENARIOS: dict[str, str] = {  # name -> one sentence; light to import, so that `gnc list` is fast
    "pointing": "CubeSat in low Earth orbit points through eclipse on magnetometer and sun sensor",
    "rendezvous": "Chaser comes to 1 m of a tumbling target on a slow camera, DQ-EKF on DQVI and thrusters",
    "docking": "Chaser closes to contact with a tumbling target; capture joins them, and the stack is brought to rest",
    "detumble": "CubeSat stops its tumble by B-dot, finds its attitude and points",
    "attitude-only": "Free tumble, two measured directions, no control: a filter beside the Cramer-Rao bound",
    "tumble-capture": "Fast tumble filtered at 0.1 Hz, then captured, with other filters beside it",
    "separation": "Carrier under pose control lets its cargo go by a spring, and goes on without it",
    "servicing": "Arm works from a base that pose control holds, the reaction fed forward",
    "touchdown": "Lander drops on a small body, rebounds with friction, comes to rest",
}


def scenario(name: str) -> Scenario:
    """Return the scenario of a name."""
    if name not in SCENARIOS:
        near = difflib.get_close_matches(name, SCENARIOS, 1)
        hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(SCENARIOS)}, or give a TOML file"
        raise InputError(f"scenario: {name!r} is unknown; {hint}")
    return import_module(f"gnc.scenarios.{name.replace('-', '_')}").SCENARIO
