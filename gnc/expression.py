"""Conditions as a mission's file states them, such as `mode == 'nadir' and t > 900 and not eclipse`.

They are parsed by this small grammar and never evaluated as Python:

    condition  = conjunction { "or" conjunction }        comparison = sum [ ("<" "<=" ">" ">=" "==" "!=") sum ]
    conjunction = negation { "and" negation }            sum = product { ("+" | "-") product }
    negation   = "not" negation | comparison             product = factor { ("*" | "/") factor }
    factor     = number | 'text' | name | "-" factor | "(" condition ")" | "abs" "(" condition ")"
               | "largest" "(" name ")"

Names are dotted, as signals are: `sat.wheels.momentum_Nms`. A vector counts by its length; `largest` is the largest
size of its parts.
"""

from __future__ import annotations

import functools
import operator
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from gnc.batch.scalar import Scalar, is_test
from gnc.errors import InputError

LONGEST = 1000  # characters of a condition
DEEPEST = 40  # parentheses in one another
TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)"
    r"|(?P<name>[A-Za-z_][\w-]*(?:\.[\w-]+)*)|(?P<text>'[^']*'|\"[^\"]*\")|(?P<sign><=|>=|==|!=|[<>+\-*/()]))"
)
COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": lambda a, b: operator.eq(*_alike(a, b)),
    "!=": lambda a, b: operator.ne(*_alike(a, b)),
}
ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}
WORDS = {"and", "or", "not", "abs", "largest", "true", "false"}
LARGEST = "largest "  # before a name: the largest part of a vector is wanted

Values = Callable[[str], Any]
Node = Callable[[Values], Any]


@dataclass(frozen=True)
class Expression:
    """A condition, or a number made of signals."""

    text: str
    names: frozenset[str]
    said: frozenset[tuple[str, str]]  # (name, text) that are compared
    _value: Node

    def value(self, values: Values) -> Any:
        """Return what it says, `values` giving the value of a name: an array, or a symbol of a kernel."""
        return self._value(values)

    def truth(self, values: Values) -> Any:
        """Return whether it is true; a number counts as true if it is not 0."""
        return _truth(self._value(values))

    def __hash__(self) -> int:
        return hash(self.text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Expression) and self.text == other.text


def parse(text: str) -> Expression:
    """Return the condition that a text states, or say in one line where it is wrong."""
    if not isinstance(text, str) or not text.strip():
        raise InputError("is empty; give a condition, such as t > 900")
    return _parsed(text)


@functools.lru_cache(1000)  # a verdict looks at the same few for every trial
def _parsed(text: str) -> Expression:
    if len(text) > LONGEST:
        raise InputError(f"{len(text)} characters are too many; a condition has at most {LONGEST}")
    parser = _Parser(text)
    value = parser.condition(0)
    parser.end()
    return Expression(text, frozenset(parser.names), frozenset(parser.said), value)


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    at: int


def _tokens(text: str) -> Iterator[_Token]:
    at = 0
    while text[at:].strip():
        match = TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            raise InputError(f"{text!r}: {text[at:].strip()[:1]!r} is not understood; {_hint(text[at:].strip())}")
        yield _Token(match.lastgroup, match[match.lastgroup], match.start(match.lastgroup))
        at = match.end()
    yield _Token("end", "", len(text))


def _hint(rest: str) -> str:
    if rest.startswith("="):
        return "compare with =="
    if rest[:1] in "&|":
        return "write and, or"
    return "use names, numbers, 'text', < <= > >= == != + - * / ( ) and or not abs"


class _Parser:
    """One pass over the tokens of a text."""

    def __init__(self, text: str) -> None:
        self._text, self._all, self._next = text, list(_tokens(text)), 0
        self.names: set[str] = set()
        self.said: set[tuple[str, str]] = set()

    @property
    def _token(self) -> _Token:
        return self._all[self._next]

    def _take(self, *texts: str) -> str | None:
        """Return the next token if it is one of these words or signs, and go on."""
        if self._token.kind in ("name", "sign") and self._token.text in texts:
            self._next += 1
            return self._all[self._next - 1].text
        return None

    def _wrong(self, expected: str) -> InputError:
        place = f"{self._token.text!r}" if self._token.kind != "end" else "the end"
        return InputError(f"{self._text!r}: expected {expected} at {place}")

    def end(self) -> None:
        """Refuse anything that is left over."""
        if self._token.kind != "end":
            raise self._wrong("and, or, a comparison or the end")

    def condition(self, depth: int) -> Node:
        """Parse `conjunction { or conjunction }`."""
        if depth > DEEPEST:
            raise InputError(f"{self._text[:60]!r}...: is nested too deeply")
        value = self._conjunction(depth)
        while self._take("or"):
            value = self._of(_or, value, self._conjunction(depth))
        return value

    def _conjunction(self, depth: int) -> Node:
        value = self._negation(depth)
        while self._take("and"):
            value = self._of(_and, value, self._negation(depth))
        return value

    def _negation(self, depth: int) -> Node:
        if self._take("not"):
            if depth > DEEPEST:
                raise InputError(f"{self._text[:60]!r}...: is nested too deeply")
            inner = self._negation(depth + 1)
            return self._of(_not, inner)
        return self._comparison(depth)

    def _comparison(self, depth: int) -> Node:
        first = self._next
        value = self._sum(depth)
        if sign := self._take(*COMPARISONS):
            middle = self._next
            right = self._sum(depth)
            self._notice(sign, self._all[first : middle - 1], self._all[middle : self._next])
            return self._of(COMPARISONS[sign], value, right)
        return value

    def _notice(self, sign: str, *sides: list[_Token]) -> None:
        """Keep which names are compared with which texts, a name on one side and a text on the other."""
        names, texts = ([{t.text for t in side if t.kind == kind} for side in sides] for kind in ("name", "text"))
        if any(texts) and (sign not in ("==", "!=") or all(texts)):
            raise InputError(f"{self._text!r}: text is compared by == or != with a name")
        self.said |= {(name, text[1:-1]) for k in (0, 1) for name in names[k] for text in texts[1 - k]}

    def _sum(self, depth: int) -> Node:
        return self._chain(depth, ("+", "-"), lambda: self._chain(depth, ("*", "/"), lambda: self._factor(depth)))

    def _chain(self, depth: int, signs: tuple[str, ...], part: Callable[[], Node]) -> Node:
        value = part()
        while sign := self._take(*signs):
            value = self._of(ARITHMETIC[sign], value, part())
        return value

    def _factor(self, depth: int) -> Node:
        token = self._token
        if self._take("("):
            return self._closed(depth)
        if self._take("-"):
            if depth > DEEPEST:
                raise InputError(f"{self._text[:60]!r}...: is nested too deeply")
            inner = self._factor(depth + 1)
            return self._of(operator.neg, inner)
        if self._take("abs"):
            if not self._take("("):
                raise self._wrong("( after abs")
            inside = self._closed(depth)
            return self._of(abs, inside)
        if self._take("largest"):
            return self._largest()
        if token.kind == "number":
            return self._constant(float(token.text))
        if token.kind == "text":
            return self._constant(token.text[1:-1])
        if token.kind == "name" and token.text not in WORDS:
            self._next += 1
            self.names.add(token.text)
            return lambda values: values(token.text)
        raise self._wrong("a name, a number or (")

    def _largest(self) -> Node:
        opened, token = self._take("("), self._token
        if not opened or token.kind != "name" or token.text in WORDS:
            raise self._wrong("(name) after largest")
        self._next += 1
        self.names.add(token.text)
        if not self._take(")"):
            raise self._wrong(")")
        return lambda values: values(LARGEST + token.text)

    def _constant(self, value: float | str) -> Node:
        self._next += 1
        return lambda values: value

    def _of(self, operation: Callable[..., Any], *parts: Node) -> Node:
        """Return what an operation makes of its parts; what cannot be computed is an error of the text."""

        def value(values: Values) -> Any:
            found = [part(values) for part in parts]
            try:
                with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                    return operation(*found)
            except ZeroDivisionError:
                raise InputError(f"{self._text!r}: divides by zero") from None
            except TypeError:
                raise InputError(f"{self._text!r}: mixes numbers with text or with conditions") from None

        return value

    def _closed(self, depth: int) -> Node:
        inside = self.condition(depth + 1)
        if not self._take(")"):
            raise self._wrong(")")
        return inside


def _alike(a: Any, b: Any) -> tuple[Any, Any]:
    """Return both, if not one is text and the other a number: these would differ always."""
    kinds = {np.asarray(x).dtype.kind for x in (a, b) if isinstance(x, str | float | np.ndarray)}
    if "U" in kinds and len(kinds) > 1:
        raise TypeError
    return a, b


def _truth(value: Any) -> Any:
    """Return a value as one test, or an array of tests: a number is true if it is not 0."""
    if isinstance(value, Scalar):
        return value if is_test(value) else value != 0.0
    return bool(value) if np.ndim(value) == 0 else value if value.dtype == bool else value != 0


def _not(value: Any) -> Any:
    test = _truth(value)
    return not test if isinstance(test, bool) else ~test


def _and(left: Any, right: Any) -> Any:
    return _truth(left) & _truth(right)


def _or(left: Any, right: Any) -> Any:
    return _truth(left) | _truth(right)
