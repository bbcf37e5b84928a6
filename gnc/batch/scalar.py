"""The numbers a kernel computes with: operators that can be recorded, run, or differentiated.

A kernel sees one trial. Its numbers are `Scalar`s of one of three kinds, and every operator on them goes through
`operate`, so that the three cannot disagree:

    Symbol  records the operation on a tape, to be compiled          (`tape.py`)
    Real    computes it at once, when the JIT is off                 (below)
    Dual    carries derivatives along                                (`dual.py`)

Plain floats are constants. Only IEEE basic operations are primitive, and structural zeros and ones vanish by the same
rule in all three, so a trial has the same bits compiled or not, on every machine.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

Operand = Any  # a Scalar, or a plain number (a constant)


def _divide(a: float, b: float) -> float:
    """IEEE division, where Python would raise."""
    if b != 0.0:
        return a / b
    return math.nan if a == 0.0 or a != a else math.copysign(math.inf, a) * math.copysign(1.0, b)


PRIMITIVES: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "divide": _divide,
    "negative": lambda a: -a,
    "sqrt": lambda a: math.sqrt(a) if a >= 0.0 else math.nan,
    "absolute": abs,
    "copysign": math.copysign,
    "floor": lambda a: float(np.floor(a)),
    "rint": lambda a: float(np.rint(a)),
    "less": lambda a, b: a < b,
    "less_equal": lambda a, b: a <= b,
    "equal": lambda a, b: a == b,
    "and": lambda a, b: a and b,
    "or": lambda a, b: a or b,
    "not": lambda a: not a,
    "where": lambda test, a, b: a if test else b,
}
TESTS = {"less", "less_equal", "equal", "and", "or", "not"}  # operations whose result is a test
_TESTS_FIRST = {"and": 2, "or": 2, "not": 1, "where": 1}  # how many operands are tests: they come first

# Functions made of primitives, by name; `functions.py` fills it.
COMPOSITES: dict[str, Callable[..., Any]] = {}

_SHORTCUTS: dict[str, Callable[[Operand, Operand], Operand | None]] = {
    "add": lambda a, b: a if _is(b, 0.0) else b if _is(a, 0.0) else None,
    "subtract": lambda a, b: a if _is(b, 0.0) else operate("negative", b) if _is(a, 0.0) else None,
    "multiply": lambda a, b: _times(a, b) if isinstance(b, float) else _times(b, a) if isinstance(a, float) else None,
    "divide": lambda a, b: a if _is(b, 1.0) else 0.0 if _is(a, 0.0) else None,
}


def _is(x: Operand, value: float) -> bool:
    return isinstance(x, float) and x == value


def _times(x: Operand, constant: float) -> Operand | None:
    """Return x * constant where no multiplication is needed."""
    if constant == 0.0:
        return 0.0
    if constant == 1.0:
        return x
    return operate("negative", x) if constant == -1.0 else None


def operate(op: str, *operands: Operand) -> Operand:
    """Apply an operation: constants fold, structural zeros vanish, the operand of the highest level does the rest."""
    values: list[Operand] = []
    top: Scalar | None = None
    tests, constants = _TESTS_FIRST.get(op, 0), False
    for i, x in enumerate(operands):
        if isinstance(x, Scalar):
            top = x if top is None or x.level > top.level else top
            test = x.is_test
        else:
            x, constants = x if type(x) is float else _constant(x), True
            test = x is True or x is False
        if test != (i < tests):
            what = "a comparison such as a < b, got a number" if i < tests else "a number, got a comparison: use where"
            raise TypeError(f"{op} takes {what}")
        values.append(x)
    if top is None:
        return _fold(op, values)
    if constants and op in _SHORTCUTS and not top.literal:
        short = _SHORTCUTS[op](*values)
        if short is not None:
            return short
    if op in COMPOSITES and not top.level:
        if top.literal:
            raise TypeError(f"{op} between kernels would not have NumPy's bits: compute it in a kernel")
        return COMPOSITES[op](*values)
    return top.apply(op, values)


def _constant(x: Any) -> float | bool:
    if isinstance(x, (bool, np.bool_)):
        return bool(x)
    try:
        return float(x)
    except (TypeError, ValueError):
        raise TypeError(f"a kernel computes with numbers, got {type(x).__name__}: {x!r}") from None


def is_test(x: Operand) -> bool:
    """Tell whether x is the result of a comparison."""
    return type(x) is not float and (x.is_test if isinstance(x, Scalar) else isinstance(x, bool))


def _fold(op: str, values: list[Operand]) -> float | bool:
    if op in PRIMITIVES:
        return PRIMITIVES[op](*values)
    result = COMPOSITES[op](*map(Real, values))
    return result.value if isinstance(result, Real) else result


def _binary(op: str, swapped: bool = False) -> Callable[[Scalar, Any], Any]:
    def method(self: Scalar, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented  # NumPy goes through the elements
        return operate(op, other, self) if swapped else operate(op, self, other)

    return method


def _unary(op: str) -> Callable[[Scalar], Any]:
    return lambda self: operate(op, self)


class Scalar:
    """One number of one trial; NumPy's object arrays of these make `J @ phi` and `np.sin(x)` work."""

    __slots__ = ()
    level = 0
    is_test = False
    literal = False  # whether every operation is carried out as NumPy does it, that of a zero too

    def apply(self, op: str, values: list[Operand]) -> Operand:
        """Carry out one operation in this kind of number."""
        raise NotImplementedError(f"{type(self).__name__} does not define apply")

    __add__, __radd__ = _binary("add"), _binary("add", swapped=True)
    __sub__, __rsub__ = _binary("subtract"), _binary("subtract", swapped=True)
    __mul__, __rmul__ = _binary("multiply"), _binary("multiply", swapped=True)
    __truediv__, __rtruediv__ = _binary("divide"), _binary("divide", swapped=True)
    __lt__, __gt__ = _binary("less"), _binary("less", swapped=True)
    __le__, __ge__ = _binary("less_equal"), _binary("less_equal", swapped=True)
    __and__, __rand__ = _binary("and"), _binary("and", swapped=True)
    __or__, __ror__ = _binary("or"), _binary("or", swapped=True)
    __invert__ = _unary("not")
    __neg__, __abs__ = _unary("negative"), _unary("absolute")
    __eq__ = _binary("equal")
    __hash__ = object.__hash__

    # The names NumPy calls on the elements of an object array: np.sqrt(x) is x.sqrt().
    sqrt, rint, __floor__ = _unary("sqrt"), _unary("rint"), _unary("floor")
    sin, cos, tan = _unary("sin"), _unary("cos"), _unary("tan")
    arcsin, arccos, arctan, arctan2 = _unary("arcsin"), _unary("arccos"), _unary("arctan"), _binary("arctan2")

    def __ne__(self, other: Any) -> Any:
        return operate("not", operate("equal", self, other))

    def __pos__(self) -> Scalar:
        return self

    def __pow__(self, n: Any) -> Any:
        if n == 0.5:
            return operate("sqrt", self)
        if not (isinstance(n, (int, np.integer)) and n >= 0):
            raise TypeError(f"a kernel raises to whole powers >= 0 or to 0.5, got {n!r}")
        if self.literal and n > 2:
            raise TypeError("a power between kernels would not have NumPy's bits: compute it in a kernel")
        half: Any = self ** (n // 2) if n > 1 else 1.0
        return half * half * (self if n % 2 else 1.0)

    def __ceil__(self) -> Any:
        return -operate("floor", -self)

    def square(self) -> Any:
        """Return the square, as np.square asks for it."""
        return self * self

    def degrees(self) -> Any:
        """Return an angle in degrees, as np.degrees computes it."""
        return self * (180.0 / np.pi)

    def radians(self) -> Any:
        """Return an angle in radians, as np.radians computes it."""
        return self * (np.pi / 180.0)

    def conjugate(self) -> Scalar:
        """Return the number itself: kernels are real (np.linalg and np.vdot ask)."""
        return self

    def __bool__(self) -> bool:
        raise TypeError("a kernel may not branch on a trial's data: use where(condition, a, b)")

    def __float__(self) -> float:
        raise TypeError("a kernel's number has no float value: use np.sqrt and friends, not math, and object arrays")

    __index__ = __int__ = __float__


class Real(Scalar):
    """A number that computes at once: what kernels run on when the JIT is off."""

    __slots__ = ("value",)

    def __init__(self, value: float | bool):
        """Hold a float, or the bool of a test."""
        self.value = value if isinstance(value, bool) else float(value)

    @property
    def is_test(self) -> bool:  # type: ignore[override]
        """Tell whether this is the result of a comparison."""
        return isinstance(self.value, bool)

    def apply(self, op: str, values: list[Operand]) -> Real:
        """Compute with Python floats, which round as the compiled code does."""
        return Real(PRIMITIVES[op](*[x.value if isinstance(x, Real) else x for x in values]))

    def __repr__(self) -> str:
        return repr(self.value)
