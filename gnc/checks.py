"""A number beside the bound it has to keep: what requirements, papers' cases and studies are judged by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Check:
    """A number beside its bound; an interval is bounded by a pair."""

    name: str
    value: float
    bound: float | tuple[float, float]
    ok: bool
    relation: Literal["<=", ">=", "in"] = "<="
    note: str = ""  # why there is no value, or what its nominal value is


# A comparison with NaN is false, so a lost number fails its check.
def at_most(name: str, value: float, bound: float, note: str = "") -> Check:
    """A check that `value <= bound`."""
    return Check(name, float(value), float(bound), bool(value <= bound), "<=", note)


def at_least(name: str, value: float, bound: float, note: str = "") -> Check:
    """A check that `value >= bound`."""
    return Check(name, float(value), float(bound), bool(value >= bound), ">=", note)


def within(name: str, value: float, low: float, high: float, note: str = "") -> Check:
    """A check that `low <= value <= high`."""
    if not low <= high:
        raise ValueError(f"{name}: the interval from {low} to {high} is empty")
    return Check(name, float(value), (float(low), float(high)), bool(low <= value <= high), "in", note)


def close(name: str, value: float, expected: float, *, rel: float = 0.0, tol: float = 0.0) -> Check:
    """A check that `value` is within `rel` of `expected`, relative, or within `tol`, absolute, whichever is wider."""
    if not max(rel, tol) > 0:
        raise ValueError(f"{name}: give rel or tol; published numbers are rounded")
    half = max(rel * abs(expected), tol)
    return within(name, value, expected - half, expected + half)


def bound_text(check: Check) -> str:
    """The bound as it would be written by hand."""
    if isinstance(check.bound, tuple | list):  # a list: read from JSON
        low, high = check.bound
        return f"{low:.6g} .. {high:.6g}"
    return f"{check.relation} {check.bound:.6g}"
