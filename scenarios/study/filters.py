"""The filters by their names, as every study and table calls them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gnc.errors import InputError
from gnc.estimators.dqekf import DqEkf
from gnc.estimators.inertia_states import Inertia
from gnc.estimators.mekf import Mekf
from gnc.estimators.pose_motion import TURN
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
    iterated: bool = False  # whether it relinearises each interval, by `advance`


def _mekf(method: str, **options: Any) -> Callable[[Any, float], Any]:
    return lambda J, psd: Mekf(J, method=method, torque_psd=psd, allow_unphysical=True, **options)


def _standard(linearisation: str) -> Callable[[Any, float], Any]:
    return lambda J, psd: StandardMekf(J, torque_psd=psd, linearisation=linearisation, allow_unphysical=True)


def _usque(J: Any, psd: float) -> Usque:
    return Usque(J, method="vi4", torque_psd=psd, allow_unphysical=True)


def _dqekf(method: str, turn: float | None = TURN) -> Callable[[Any, float], Any]:
    return lambda M, psd: DqEkf(M, method=method, wrench_psd=psd, turn=turn)


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
        Filter("mekf-iterated", "as mekf-vi4, each interval linearised again", _mekf("vi4"), False, iterated=True),
        Filter(
            "mekf-inertia",
            "as mekf-vi4, with the ratios of the inertia among its states",
            _mekf("vi4", extras=(Inertia(form="ratios"),)),
            False,
            finds_inertia=True,
        ),
        Filter("usque", "sigma points", _usque, False),
    )
}
POSE = {
    f.name: f
    for f in (
        Filter("dqekf-vi2", "DQVI: one step of second order", _dqekf("vi2", None), False),
        Filter("dqekf-rk4", "RK4 with its own transition matrix, substeps", _dqekf("rk4"), False),
        Filter("dqekf-vi4", "DQVI, fourth order, substeps", _dqekf("vi4"), False),
        Filter("dqekf-exact", "exact drift about the centre of mass, one step per sample", _dqekf("exact"), False),
    )
}
# A hundred times slower than the others; for rates below 0.1 Hz; for an inertia that is not known.
NOT_BY_DEFAULT = {"usque", "mekf-iterated", "mekf-inertia"}


def chosen(names: list[str] | None, known: dict[str, Filter]) -> list[Filter]:
    """Return the filters by name, or those for the usual case."""
    for name in names or ():
        if name not in known:
            raise InputError(f"--filters: {name!r} is none of {', '.join(known)}")
    return [known[name] for name in (names or [n for n in known if n not in NOT_BY_DEFAULT])]
