"""The recorder of missions in which a chaser estimates a free target, and the configuration by which replay does."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, cast

import numpy as np

from gnc import dual_quaternion, spatial
from gnc.errors import InputError
from gnc.estimators.dqekf import DqEkf
from gnc.estimators.navigation.free_body import TargetBelief, TargetNavigation
from gnc.estimators.pose_belief import PoseBelief
from gnc.models.environment.relative import weight
from gnc.models.known import centre_I
from gnc.models.sensors import RelativePose
from gnc.scenarios.logs.recorder import Columns, LogRecorder, Tap, names, one


class PoseRecorder(LogRecorder):
    """Takes down the camera's measurements and the chaser's pose; the filter steps from one to the next.

    Beside an orbit also the weight of the target where it is believed to be, which replay holds until the next one.
    """

    held = ("torque", "force")

    def __init__(
        self, navigation: TargetNavigation, belief: TargetBelief, sensors: Mapping[str, Any], h: float
    ) -> None:
        if type(navigation.dqekf) is not DqEkf:
            kind = type(navigation.dqekf).__name__
            raise InputError(f'software.*.navigation: replay has no {kind}; simulate a log with method = "vi4"')
        self._known, self._tide = navigation, getattr(navigation.sky, "tide", None)
        self._tap = cast(Any, Tap(navigation.dqekf))
        super().__init__(dataclasses.replace(navigation, dqekf=self._tap), h)
        self._cameras = self.sections(sensors, _camera)
        self._first = PoseBelief(*(np.asarray(part)[0] for part in belief.last))

    def truth(self, x: Any) -> Columns:
        """Return pose and rate of the target."""
        q_IB, r_IB = dual_quaternion.to_pose(x.dq_IB)
        return {"truth_q": q_IB, "truth_r": r_IB, "truth_w": x.chi_B[..., :3]}

    def update(self, belief: Any, name: str, measurement: Any, t: float) -> tuple[Any, Any]:
        """Correct with a measurement."""
        after, innovation = super().update(belief, name, measurement, t)
        if self._tide is not None:
            sky, last, M = self._known.sky, after.last, self._known.dqekf.M
            rho_I = centre_I(last.dq_IB, M)
            force_B = weight(last.dq_IB[..., :4], self._tide.acceleration_I(rho_I, sky.at(t)), M)[..., 3:]
            torque_B = np.cross(spatial.parts(np.asarray(M))[1], force_B)  # about the origin
            self.rows.add(self.rows.tick(t), {"torque": torque_B, "force": force_B})
        return after, innovation

    def surroundings(self, name: str) -> Columns:
        """Return the chaser's pose."""
        return {f"{name}_from": self._tap.env.dq_IB}

    def config(self) -> dict[str, Any]:
        """Return the filter with its start as it is, and where everything is in the log."""
        first = self._first
        start = {"dq_IB": first.dq_IB, "w_B": first.chi_B[:3], "v_B": first.chi_B[3:], "C": first.C[:12, :12]}
        truth = {"columns": names("truth_q", 4), "position": names("truth_r", 3), "rate": names("truth_w", 3)}
        return {
            "log": {"step_s": float(np.ravel(self._tap.predicted[1])[0])},  # as the loop sums it up; always the same
            "filter": self._filter(),
            "sensors": self._cameras,
            **({} if self._tide is None else {"inputs": {name: names(name, 3) for name in self.held}}),
            "truth": {"order": "wxyz", **truth},
            "start": {"t": 0.0, **{key: value.tolist() for key, value in start.items()}},
        }

    def _filter(self) -> dict[str, Any]:
        dqekf = self._known.dqekf
        mass, r_g, J_com = spatial.parts(np.asarray(dqekf.M))
        found = {
            "kind": "dqekf",
            "mass": float(mass),
            "J_com": J_com.tolist(),
            "r_g": r_g.tolist(),
            "method": dqekf.method,
            "substeps": dqekf.turn is not None,
            "wrench_psd": np.diagonal(one(dqekf.wrench_psd, 2)).tolist(),
            "gate_probability": dqekf.gate_probability,
            "patience": dqekf.patience_s,
            "inflation": dqekf.inflation,
            "ungated_s": max(self._known.ungated_s, 0.0),
            "restart_beyond": one(self._known.prior.possible, 1),
        }
        if dqekf.extras:
            sigma = float(np.sqrt(self._first.C[12, 12]))
            found |= {"inertia_sigma_kgm2": sigma, "inertia_walk": one(dqekf.extras[0].walk, 1)[0]}
        return found


def _camera(name: str, s: Any) -> dict[str, Any] | None:
    """Return the section of the camera, as the filter believes it to be; None: replay has none like it."""
    if type(s) is not RelativePose:
        return None
    ranges = {"near_m": one(s.near_m, 0), "far_m": one(s.far_m, 0)}
    sigmas = {"sigma_deg": one(s.sigma_near_deg, 0), "sigma_far_deg": one(s.sigma_far_deg, 0)}
    sigmas |= {"sigma_m": one(s.sigma_m, 0), "sigma_fraction": one(s.sigma_fraction, 0)}
    columns = {"columns": names(name, 8), "order": "wxyz", "observer": names(f"{name}_from", 8)}
    return {"name": name, "kind": "pose", "valid": f"{name}_valid", "rate_hz": s.rate_hz, **columns, **ranges, **sigmas}
