"""The experiments of the source papers, each a named case with numbers: one module per paper.

A module is imported only when one of its cases is asked for, so that the command line starts fast.
"""

import importlib
import pkgutil
from difflib import get_close_matches

from gnc.errors import InputError
from gnc.scenarios.papers.case import CASES, Case

__all__ = ["cases", "find"]


def cases() -> list[Case]:
    """Every case of every paper, by name."""
    for paper in _papers():
        _load(paper)
    return [CASES[name] for name in sorted(CASES)]


def find(name: str) -> list[Case]:
    """The case called `paper/figure`, or all cases of a `paper`."""
    paper = name.partition("/")[0]
    if paper in _papers():
        _load(paper)
    matches = [CASES[key] for key in sorted(CASES) if name in (key, CASES[key].paper)]
    if not matches:
        raise InputError(f"unknown case {name!r}{_suggestion(name)}; `gnc list` shows all")
    return matches


def _suggestion(name: str) -> str:
    close = get_close_matches(name, [c.name for c in cases()] + _papers())
    return f"; did you mean {close[0]!r}?" if close else ""


def _papers() -> list[str]:
    return [module.name for module in pkgutil.iter_modules(__path__) if module.name != "case"]


def _load(paper: str) -> None:
    importlib.import_module(f"{__name__}.{paper}")
