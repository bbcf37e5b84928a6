"""The attitude filters by their names, as every study and table calls them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gnc.errors import InputError
from gnc.estimators.mekf import Mekf
from gnc.estimators.standard_mekf import StandardMekf
from gnc.estimators.usque import Usque

# Noise levels to try for filters whose model is wrong [N^2 m^2 s]; the best for them counts.
GRID = (0.0, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3)


@dataclass(frozen=True)
class Filter:
    """A filter of a study."""

    name: str
    what: str
    make: Callable[[Any, float], Any]  # (J, torque PSD)
    tuned: bool  # whether process noise is chosen in its favour; the others know that the truth has none


def _mekf(method: str, substeps: bool = True) -> Callable[[Any, float], Any]:
    return lambda J, psd: Mekf(J, method=method, torque_psd=psd, substeps=substeps)


def _standard(linearisation: str) -> Callable[[Any, float], Any]:
    return lambda J, psd: StandardMekf(J, torque_psd=psd, linearisation=linearisation)


FILTERS = {
    f.name: f
    for f in (
        Filter("mekf-euler", "standard MEKF, Euler linearisation, tuned", _standard("euler"), True),
        Filter("mekf-midpoint", "standard MEKF, midpoint linearisation, tuned", _standard("midpoint"), True),
        Filter("mekf-vi2", "QVI's filter: one variational step of second order, tuned", _mekf("vi2", False), True),
        Filter("mekf-rk4", "RK4 with its own transition matrix, substeps", _mekf("rk4"), False),
        Filter("mekf-vi4", "variational, fourth order, substeps", _mekf("vi4"), False),
        Filter("mekf-exact", "exact drift, one step per sample", _mekf("exact"), False),
        Filter("usque", "sigma points", lambda J, psd: Usque(J, method="vi4", torque_psd=psd), False),
    )
}
DEFAULT = ("mekf-euler", "mekf-midpoint", "mekf-vi2", "mekf-rk4", "mekf-vi4", "mekf-exact")


def chosen(names: list[str] | None) -> list[Filter]:
    """Return the filters by name."""
    for name in names or ():
        if name not in FILTERS:
            raise InputError(f"--filters: {name!r} is none of {', '.join(FILTERS)}")
    return [FILTERS[name] for name in (names or DEFAULT)]
