"""The shapes of one trial's arguments and results, written as NumPy writes them: `(3),(3,3),()->(4)`."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Core = tuple[int, ...]

_SIDE = re.compile(r"\([\d,]*\)(,\([\d,]*\))*")


@dataclass(frozen=True)
class Layout:
    """Shapes of one trial: what goes in, by name, and what comes out."""

    names: tuple[str, ...]
    ins: tuple[Core, ...]
    outs: tuple[Core, ...]

    @classmethod
    def parse(cls, text: str, names: tuple[str, ...]) -> Layout:
        """Read a layout and match it with the names of the arguments."""
        sides = text.replace(" ", "").split("->")
        if len(sides) != 2 or not all(_SIDE.fullmatch(side) for side in sides):
            raise TypeError(f"layout {text!r} is not of the form '(3),(3,3),()->(4)'")
        ins, outs = (tuple(map(_core, re.findall(r"\(([\d,]*)\)", side))) for side in sides)
        if len(ins) != len(names):
            raise TypeError(f"layout {text!r} has {len(ins)} arguments, the kernel takes {len(names)}: {names}")
        return cls(names, ins, outs)

    @property
    def inputs(self) -> int:
        """Count the numbers of one trial that go in."""
        return sum(map(math.prod, self.ins))

    @property
    def outputs(self) -> int:
        """Count the numbers of one trial that come out."""
        return sum(map(math.prod, self.outs))

    def signature(self, counter: bool = False) -> str:
        """Write the layout as NumPy's gufunc signature; a counter is one more scalar argument."""
        ins = (*self.ins, ()) if counter else self.ins
        return "->".join(",".join(map(_written, side)) for side in (ins, self.outs))

    def leading(self, args: Sequence[Any]) -> tuple[int, ...]:
        """Return the common leading axes of the arguments, or say what is wrong with them."""
        if len(args) != len(self.ins):
            raise TypeError(f"expected {len(self.ins)} arguments ({', '.join(self.names)}), got {len(args)}")
        lead = {}
        for name, arg, core in zip(self.names, args, self.ins, strict=True):
            shape = np.shape(arg)
            lead[name] = shape[: len(shape) - len(core)]
            if len(shape) < len(core) or shape != lead[name] + core:
                raise ValueError(f"{name}: expected {_expected(core)}, got {shape}")
            if np.asarray(arg).dtype.kind not in "fiub":
                raise TypeError(f"{name}: expected real numbers, got {np.asarray(arg).dtype}")
        try:
            return np.broadcast_shapes(*lead.values())
        except ValueError:
            axes = ", ".join(f"{name} {axes}" for name, axes in lead.items() if axes)
            raise ValueError(f"leading axes do not broadcast: {axes}") from None


def starts(cores: tuple[Core, ...], first: int = 0) -> list[int]:
    """Return the first slot of each array when they stand one after the other."""
    return list(itertools.accumulate(map(math.prod, cores[:-1]), initial=first)) if cores else []


def _core(text: str) -> Core:
    return tuple(int(n) for n in text.split(",") if n)


def _written(core: Core) -> str:
    return f"({','.join(map(str, core))})"


def _expected(core: Core) -> str:
    return f"({', '.join(map(str, ('...', *core)))})"
