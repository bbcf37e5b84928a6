"""Forward-mode differentiation: numbers that carry their derivatives through a kernel."""

from __future__ import annotations

from collections.abc import Callable

from gnc.batch.scalar import COMPOSITES, TESTS, Operand, Scalar, operate


def _product(a: Operand, b: Operand, _: Operand) -> tuple[Operand, ...]:
    return b, a


def _quotient(a: Operand, b: Operand, ratio: Operand) -> tuple[Operand, ...]:
    inverse = operate("divide", 1.0, b)
    return inverse, -ratio * inverse


def _arctan2(y: Operand, x: Operand, _: Operand) -> tuple[Operand, ...]:
    inverse = operate("divide", 1.0, x * x + y * y)
    return x * inverse, -y * inverse


def _copysign(a: Operand, b: Operand, _: Operand) -> tuple[Operand, ...]:
    same = operate("copysign", 1.0, a) * operate("copysign", 1.0, b)
    return same, 0.0


# Operation -> partial derivatives with respect to its operands, given the operands and the result.
PARTIALS: dict[str, Callable[..., tuple[Operand, ...]]] = {
    "add": lambda a, b, y: (1.0, 1.0),
    "subtract": lambda a, b, y: (1.0, -1.0),
    "multiply": _product,
    "divide": _quotient,
    "negative": lambda a, y: (-1.0,),
    "sqrt": lambda a, y: (operate("divide", 0.5, y),),
    "absolute": lambda a, y: (operate("copysign", 1.0, a),),
    "copysign": _copysign,
    "floor": lambda a, y: (0.0,),
    "rint": lambda a, y: (0.0,),
    "sin": lambda a, y: (operate("cos", a),),
    "cos": lambda a, y: (-operate("sin", a),),
    "tan": lambda a, y: (1.0 + y * y,),
    "arctan2": _arctan2,
}


class Dual(Scalar):
    """A number with its slopes along named directions; slopes that are absent are zero.

    Levels keep nested derivatives apart: the operand of the highest level leads, and numbers of lower levels are
    constants to it.
    """

    __slots__ = ("level", "slopes", "value")

    def __init__(self, value: Operand, slopes: dict[int, Operand], level: int):
        """Join a number of a lower level with its slopes."""
        self.value, self.slopes, self.level = value, slopes, level

    def _split(self, x: Operand) -> tuple[Operand, dict[int, Operand]]:
        return (x.value, x.slopes) if isinstance(x, Dual) and x.level == self.level else (x, {})

    def apply(self, op: str, values: list[Operand]) -> Operand:
        """Apply the chain rule."""
        if op == "where":
            return self._where(*values)
        if op in COMPOSITES and op not in PARTIALS:
            return COMPOSITES[op](*values)
        plain, slopes = zip(*map(self._split, values), strict=True)
        result = operate(op, *plain)
        if op in TESTS:
            return result
        total: dict[int, Operand] = {}
        for partial, slope in zip(PARTIALS[op](*plain, result), slopes, strict=True):
            for direction, value in slope.items():
                total[direction] = total.get(direction, 0.0) + partial * value
        return Dual(result, total, self.level)

    def _where(self, test: Operand, a: Operand, b: Operand) -> Dual:
        """Choose value and slopes together, so that the branch not taken cannot spoil them."""
        (x, dx), (y, dy) = self._split(a), self._split(b)
        directions = dx.keys() | dy.keys()
        slopes = {d: operate("where", test, dx.get(d, 0.0), dy.get(d, 0.0)) for d in sorted(directions)}
        return Dual(operate("where", test, x, y), slopes, self.level)

    def __repr__(self) -> str:
        return f"<{self.value!r} with slopes {self.slopes!r}>"


def level_above(numbers: list[Operand]) -> int:
    """Return a level above those of all the numbers."""
    return 1 + max((x.level for x in numbers if isinstance(x, Scalar)), default=0)
