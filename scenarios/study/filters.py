"""The filters by their names, as every study and table calls them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gnc.errors import InputError
from gnc.estimators.dqekf import DqEkf
from gnc.estimators.extra_states import Inertia
from gnc.estimators.map_estimate import MapEstimate
from gnc.estimators.mekf import Mekf
from gnc.estimators.sigma_points import SigmaDqEkf, SigmaMekf
from gnc.estimators.standard_mekf import MidpointDqEkf, StandardMekf
from gnc.estimators.usque import Usque

# Noise levels to try for filters whose model is wrong [N^2 m^2 s]; the best for them counts.
GRID = (0.0, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3)


@dataclass(frozen=True)
class Filter:
    """A filter of a study."""

    name: str
    what: str
    make: Callable[[Any, float], Any]  # (inertia, power spectral density of the unknown torque or wrench)
    tuned: bool  # whether process noise is chosen in its favour; the others know that the truth has none
    finds_inertia: bool = False  # the ratios of the inertia are among its states
    joint: bool = False  # whether it takes an interval and all measurements at its end in one go, by `advance`
    history: bool = False  # whether it looks at all measurements again at every time, as `MapEstimate` does


def _mekf(kind: type[Mekf] = Mekf, **options: Any) -> Callable[[Any, float], Any]:
    return lambda J, psd: kind(J, torque_psd=psd, allow_unphysical=True, **options)


def _dqekf(kind: type[DqEkf] = DqEkf, **options: Any) -> Callable[[Any, float], Any]:
    return lambda M, psd: kind(M, wrench_psd=psd, **options)


CONSERVED = "constants of the motion linear in its chart"

ATTITUDE = {
    f.name: f
    for f in (
        Filter("mekf-euler", "standard MEKF, first order, tuned", _mekf(StandardMekf, linearisation="euler"), True),
        Filter("mekf-midpoint", "standard MEKF, midpoint linearisation, tuned", _mekf(StandardMekf), True),
        Filter(
            "mekf-vi2", "QVI's filter: one variational step, second order, tuned",
            _mekf(method="vi2", substeps=False), True,
        ),
        Filter("mekf-rk4", "RK4 with its own transition matrix, substeps", _mekf(method="rk4"), False),
        Filter("mekf-vi4", "variational, fourth order, substeps", _mekf(method="vi4"), False),
        Filter("mekf-exact", "exact drift, one step per sample", _mekf(method="exact"), False),
        Filter("mekf-invariant", "exact drift, right-invariant errors", _mekf(chart="invariant"), False),
        Filter("mekf-iterated", "as mekf-exact, each interval linearised again", _mekf(), False, joint=True),
        Filter("mekf-conserved", CONSERVED, _mekf(chart="conserved"), False, joint=True),
        Filter(
            "mekf-conserved-once", "the same, predict and update, nothing linearised again",
            _mekf(chart="conserved"), False,
        ),
        Filter("mekf-sigma", "sigma points on attitude and inertial momentum", _mekf(SigmaMekf), False, joint=True),
        Filter(
            "map", "maximum a posteriori, all measurements again at every time",
            lambda J, h: MapEstimate(Mekf(J, chart="conserved"), h, np.zeros(3)), False, history=True,
        ),
        Filter(
            "mekf-inertia", "as mekf-conserved, with the ratios of the inertia among its states",
            _mekf(chart="conserved", extras=(Inertia(form="ratios"),)), False, finds_inertia=True, joint=True,
        ),
        Filter("usque", "sigma points one trial at a time, by FilterPy", _mekf(Usque), False),
    )
}  # fmt: skip
POSE = {
    f.name: f
    for f in (
        Filter("dqekf-midpoint", "standard pose EKF, midpoint linearisation, tuned", _dqekf(MidpointDqEkf), True),
        Filter("dqekf-vi2", "DQVI: one step of second order", _dqekf(method="vi2", turn=None), False, joint=True),
        Filter("dqekf-rk4", "RK4 with its own transition matrix, substeps", _dqekf(method="rk4"), False, joint=True),
        Filter("dqekf-vi4", "DQVI, fourth order, substeps", _dqekf(method="vi4"), False, joint=True),
        Filter("dqekf-exact", "exact drift about the centre of mass, one step per sample", _dqekf(), False, joint=True),
        Filter("dqekf-conserved", CONSERVED, _dqekf(chart="conserved"), False, joint=True),
        Filter("dqekf-sigma", "sigma points about the centre of mass", _dqekf(SigmaDqEkf), False, joint=True),
        Filter(
            "map", "maximum a posteriori, all measurements again at every time",
            lambda M, h: MapEstimate(DqEkf(M, chart="conserved"), h), False, history=True,
        ),
    )
}  # fmt: skip
REFERENCES = {"usque", "map"}  # for comparison: not to be flown
# A hundred times slower than the others; references; for an inertia that is not known.
NOT_BY_DEFAULT = REFERENCES | {
    f"{name}-{what}"
    for name in ("mekf", "dqekf")
    for what in ("iterated", "conserved-once", "invariant", "sigma", "inertia")
}


def chosen(names: list[str] | None, known: dict[str, Filter]) -> list[Filter]:
    """Return the filters by name, or those for the usual case."""
    for name in names or ():
        if name not in known:
            raise InputError(f"--filters: {name!r} is none of {', '.join(known)}")
    return [known[name] for name in (names or [n for n in known if n not in NOT_BY_DEFAULT])]
