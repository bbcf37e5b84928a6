"""The filters by their names, as every study and table calls them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gnc.errors import InputError
from gnc.estimators.conserved_dqekf import ConservedDqEkf
from gnc.estimators.conserved_mekf import ConservedMekf
from gnc.estimators.dqekf import DqEkf
from gnc.estimators.inertia_states import Inertia
from gnc.estimators.map_attitude import MapAttitude
from gnc.estimators.mekf import Mekf
from gnc.estimators.pose_motion import TURN
from gnc.estimators.sigma_mekf import SigmaMekf
from gnc.estimators.standard_mekf import StandardMekf
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
    history: bool = False  # whether it looks at all measurements again at every time, as `MapAttitude` does


def _mekf(method: str, **options: Any) -> Callable[[Any, float], Any]:
    return lambda J, psd: Mekf(J, method=method, torque_psd=psd, allow_unphysical=True, **options)


def _standard(linearisation: str) -> Callable[[Any, float], Any]:
    return lambda J, psd: StandardMekf(J, torque_psd=psd, linearisation=linearisation, allow_unphysical=True)


def _of(kind: type[Mekf]) -> Callable[[Any, float], Any]:
    return lambda J, psd: kind(J, torque_psd=psd, allow_unphysical=True)


def _dqekf(method: str, turn: float | None = TURN) -> Callable[[Any, float], Any]:
    return lambda M, psd: DqEkf(M, method=method, wrench_psd=psd, turn=turn)


def _conserved_dqekf(M: Any, psd: float) -> Any:
    return ConservedDqEkf(M, wrench_psd=psd)


ATTITUDE = {
    f.name: f
    for f in (
        Filter("mekf-euler", "standard MEKF, Euler linearisation, tuned", _standard("euler"), True),
        Filter("mekf-midpoint", "standard MEKF, midpoint linearisation, tuned", _standard("midpoint"), True),
        Filter(
            "mekf-vi2", "QVI's filter: one variational step, second order, tuned", _mekf("vi2", substeps=False), True
        ),
        Filter("mekf-rk4", "RK4 with its own transition matrix, substeps", _mekf("rk4"), False),
        Filter("mekf-vi4", "variational, fourth order, substeps", _mekf("vi4"), False),
        Filter("mekf-exact", "exact drift, one step per sample", _mekf("exact"), False),
        Filter("mekf-iterated", "as mekf-exact, each interval linearised again", _mekf("auto"), False, joint=True),
        Filter("mekf-conserved", "constants of the motion linear in its chart", _of(ConservedMekf), False, joint=True),
        Filter(
            "mekf-conserved-once", "the same, predict and update, nothing linearised again", _of(ConservedMekf), False
        ),
        Filter("mekf-sigma", "sigma points on attitude and inertial momentum", _of(SigmaMekf), False, joint=True),
        Filter(
            "map",
            "maximum a posteriori, all measurements again at every time",
            lambda J, h: MapAttitude(J, h),
            False,
            history=True,
        ),
        Filter(
            "mekf-inertia",
            "as mekf-conserved, with the ratios of the inertia among its states",
            lambda J, psd: ConservedMekf(J, torque_psd=psd, extras=(Inertia(form="ratios"),), allow_unphysical=True),
            False,
            finds_inertia=True,
            joint=True,
        ),
        Filter("usque", "sigma points one trial at a time, by FilterPy", _of(Usque), False),
    )
}
POSE = {
    f.name: f
    for f in (
        Filter("dqekf-vi2", "DQVI: one step of second order", _dqekf("vi2", None), False),
        Filter("dqekf-rk4", "RK4 with its own transition matrix, substeps", _dqekf("rk4"), False),
        Filter("dqekf-vi4", "DQVI, fourth order, substeps", _dqekf("vi4"), False),
        Filter("dqekf-exact", "exact drift about the centre of mass, one step per sample", _dqekf("exact"), False),
        Filter("dqekf-conserved", "constants of the motion linear in its chart", _conserved_dqekf, False),
    )
}
REFERENCES = {"usque", "map"}  # for comparison: not to be flown
# A hundred times slower than the others; references; for an inertia that is not known.
NOT_BY_DEFAULT = {"usque", "mekf-iterated", "mekf-conserved-once", "mekf-sigma", "map", "mekf-inertia"}


def chosen(names: list[str] | None, known: dict[str, Filter]) -> list[Filter]:
    """Return the filters by name, or those for the usual case."""
    for name in names or ():
        if name not in known:
            raise InputError(f"--filters: {name!r} is none of {', '.join(known)}")
    return [known[name] for name in (names or [n for n in known if n not in NOT_BY_DEFAULT])]
