"""A tape as C99: one statement for every operation, a function for every kernel that is called.

Only + - * / and sqrt, fabs, floor, rint, copysign are used, with comparisons and selections: every compiler that keeps
IEEE arithmetic (`-ffp-contract=off`) computes the bits of Python. There are no heap, no globals and no recursion. Loops
are those of repeated kernels; they are bounded by MOST_REPEATS.

Sums of products on a tape that C computes in loops: matrices by vectors, where tracing left one sum for each row.

A sum counts if all of its terms are products that nobody else takes, added one after the other: the loop then makes
the same roundings. Sums that share a vector are computed together, as soon as the first is due.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from gnc.batch.evaluation import constant_value
from gnc.batch.functions import IN_SINGLE
from gnc.batch.kernel import INLINED, Kernel, Plainly
from gnc.batch.layout import Core, starts
from gnc.batch.scalar import TESTS
from gnc.batch.tape import Entry, Symbol, Tape

Line = tuple[str, int, int]  # array, first index, step

SHORT = 30  # entries of a tape; shorter kernels become part of their callers
MOST_REPEATS = 1_000_000  # of a repeated kernel, unless another budget is given; what asks for more is lost
_INFIX = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/", "less": "<", "less_equal": "<=", "equal": "=="}
_PREFIX = {"negative": "-", "not": "!"}
_FUNCTIONS = {"sqrt": "sqrt", "absolute": "fabs", "copysign": "copysign", "floor": "floor", "rint": "rint"}
# Of helpers.c: with && and ?: in their place, static analysis follows every branch through the whole function.
_HELPERS = {"and": "both", "or": "either", "where": "chosen"}


class _KeptCalls(Plainly):
    """Inside a kernel that is exported, longer kernels stay calls.

    Not those that are called with constants: there zeros and ones vanish when the call is inlined, and so they must. So
    do those that a kernel returns.
    """

    def __init__(self, tape: Tape) -> None:
        self.tape = tape

    def call(self, kernel: Kernel, args: tuple[Any, ...]) -> Any:
        arrays = [np.asarray(x, object) for x in args]
        numbers = [x for array in arrays for x in array.ravel()]
        fits = tuple(array.shape for array in arrays) == kernel.layout.ins
        if not fits or not all(isinstance(x, Symbol) for x in numbers) or len(kernel.tape[0].entries) < SHORT:
            return kernel.one(args)
        tape, ends = kernel.tape
        made = zip(self.tape.call(kernel, numbers, False), (tape.entries[i] for i in ends), strict=True)
        flat = iter([constant_value(end) if end.op == "constant" else symbol for symbol, end in made])
        results = tuple(_shaped(flat, core) for core in kernel.layout.outs)
        return results if len(results) > 1 else results[0]

    def repeat(self, kernel: Kernel, n: Any, args: tuple[Any, ...]) -> Any:
        return INLINED.repeat(kernel, n, args)


def _shaped(flat: Iterator[Any], core: Core) -> Any:
    array = np.array([next(flat) for _ in range(math.prod(core))], object).reshape(core)
    return array if core else array[()]


def traced(kernel: Kernel) -> tuple[Tape, list[int]]:
    """Return the tape of a kernel in which longer kernels stay calls, and its results."""
    if kernel.tape[0].calls:
        return kernel.tape
    tape = Tape()
    results = kernel._run([tape.input() for _ in range(kernel.layout.inputs)], _KeptCalls(tape))
    return tape, [tape.index(x) for x in results]


class CUnit:
    """The functions of one C file, those that are called first; in single precision if so asked."""

    def __init__(self, prefix: str, single: bool = False, most_repeats: int = MOST_REPEATS) -> None:
        self.prefix, self.functions, self.most_repeats = prefix, list[str](), most_repeats
        self.real, self.end = ("float", "f") if single else ("double", "")
        self.counts: dict[str, Counter[str]] = {}  # operations of each function, with those of the functions it calls
        self._names: dict[tuple[Kernel, bool], str] = {}

    def kernel(self, kernel: Kernel) -> str:
        """Return the name of a kernel's function, `static void f(const double in0[3], ..., double out0[3])`."""
        if (kernel, False) not in self._names:
            name = self._name(kernel, "")
            tape, results = traced(kernel)
            ins, outs = kernel.layout.ins, kernel.layout.outs
            places = [f"in{i}[{slot}]" for i, core in enumerate(ins) for slot in range(math.prod(core))]
            body = self.statements(name, tape, places, results, self._targets(outs))
            self._write(name, "", [*self._parameters(ins, "in"), *self._parameters(outs, "out")], body, len(ins))
        return self._names[kernel, False]

    def repeated(self, kernel: Kernel) -> str:
        """Return the name of the function that repeats a kernel; the count comes after its arguments."""
        if (kernel, True) not in self._names:
            one, name = self.kernel(kernel), self._name(kernel, "_repeated")
            ins, outs = kernel.layout.ins, kernel.layout.outs
            body = list(self._repetition(one, ins, outs))
            parameters = [*self._parameters(ins, "in"), f"const {self.real} count[1]", *self._parameters(outs, "out")]
            self.counts[name] = self.counts[one]
            self._write(name, "", parameters, body, 0)
        return self._names[kernel, True]

    def statements(
        self, name: str, tape: Tape, places: Sequence[str], results: Sequence[int], targets: Sequence[str]
    ) -> list[str]:
        """Return the statements of a tape with inputs in some places, that leave the results in targets."""
        writer = _Statements(self, tape, places)
        self.counts[name] = writer.counts
        return writer.lines(results, targets)

    def _write(self, name: str, kind: str, parameters: list[str], body: list[str], ins: int) -> None:
        text = "\n".join(body)
        unused = [f"    (void)in{i};" for i in range(ins) if f"in{i}[" not in text and f"in{i})" not in text]
        self.functions.append("\n".join([f"static void {name}({', '.join(parameters)})", "{", *unused, text, "}\n"]))

    def _repetition(self, one: str, ins: Sequence[Core], outs: Sequence[Core]) -> Iterator[str]:
        changing = len(outs)
        for i, core in enumerate(outs):
            yield f"    copy({math.prod(core)}, in{i}, out{i});"
        yield f"    if (!(count[0] >= 0.0{self.end}) || !(count[0] <= {self.most_repeats}.0{self.end})) {{"
        for i, core in enumerate(outs):
            yield f"        lose({math.prod(core)}, out{i});"
        yield "        return;\n    }"
        yield "    const int32_t steps = (int32_t)count[0];"
        yield "    for (int32_t step = 0; step < steps; ++step) {"
        for i, core in enumerate(outs):
            yield f"        {self.real} next{i}[{math.prod(core)}];"
        given = [f"out{i}" for i in range(changing)] + [f"in{i}" for i in range(changing, len(ins))]
        yield f"        {one}({', '.join([*given, *(f'next{i}' for i in range(changing))])});"
        for i, core in enumerate(outs):
            yield f"        copy({math.prod(core)}, next{i}, out{i});"
        yield "    }"

    def _parameters(self, cores: Sequence[Core], prefix: str) -> list[str]:
        kind = f"const {self.real}" if prefix == "in" else self.real
        return [f"{kind} {prefix}{i}[{math.prod(core)}]" for i, core in enumerate(cores)]

    def _targets(self, cores: Sequence[Core]) -> list[str]:
        return [f"out{i}[{slot}]" for i, core in enumerate(cores) for slot in range(math.prod(core))]

    def _name(self, kernel: Kernel, end: str) -> str:
        plain = "".join(c if c.isalnum() else "_" for c in kernel.__name__).strip("_")
        names = (f"{self.prefix}_kernel_{plain}{end}{number}" for number in itertools.chain([""], itertools.count(2)))
        name = next(name for name in names if name not in self._names.values())
        self._names[kernel, bool(end)] = name
        return name


class _Statements:
    """The statements of one function."""

    def __init__(self, unit: CUnit, tape: Tape, places: Sequence[str]) -> None:
        self.unit, self.tape, self.counts = unit, tape, Counter[str]()
        self.names: dict[int, str] = {}  # of entries: a variable, an element of an array, or a constant
        self._inputs = places
        self._lines: dict[Vector, Line] = {}  # of vectors that were copied

    def lines(self, results: Sequence[int], targets: Sequence[str]) -> list[str]:
        """Return all statements."""
        found: list[str] = []
        needed = self.tape.needed(results)
        due, done = products(self.tape, needed, results)
        for index in sorted(needed):
            entry = self.tape.entries[index]
            if entry.op == "input":
                self.names[index] = self._inputs[entry.operands[0]]
            elif entry.op == "constant":
                self.names[index] = literal(constant_value(entry), self.unit.end)
            elif entry.op == "part":
                self.names[index] = f"c{entry.operands[0]}[{entry.constant}]"
            elif entry.op == "call":
                found += self._call(index, entry)
            elif index in due:
                found += self._product(index, due[index])
            elif index not in done:
                found.append(self._operation(index, entry))
        return found + [f"    {target} = {self.names[i]};" for i, target in zip(results, targets, strict=True)]

    def _operation(self, index: int, entry: Entry) -> str:
        self.counts[entry.op] += 1
        values, kind = [self.names[i] for i in entry.operands], "bool" if entry.op in TESTS else self.unit.real
        self.names[index] = f"{kind[0] if kind == 'bool' else 'v'}{index}"
        if entry.op in _INFIX:
            text = f"{values[0]} {_INFIX[entry.op]} {values[1]}"
        elif entry.op in _PREFIX:
            text = f"{_PREFIX[entry.op]}{values[0]}"
        elif entry.op in _HELPERS:
            text = f"{_HELPERS[entry.op]}({', '.join(values)})"
        else:
            text = f"{_FUNCTIONS[entry.op]}{self.unit.end}({', '.join(values)})"
        return f"    const {kind} {self.names[index]} = {text};"

    def _call(self, index: int, entry: Entry) -> Iterator[str]:
        """Call a function on arrays where they are, or on new ones."""
        kernel, repeating, masked = self.tape.calls[int(entry.constant)]
        function = self.unit.repeated(kernel) if repeating else self.unit.kernel(kernel)
        self.counts += self.unit.counts[function]
        at, given, made = 0, list[str](), list[str]()
        for number, core in enumerate((*kernel.layout.ins, ()) if repeating else kernel.layout.ins):
            names = [self.names[i] for i in entry.operands[at : at + math.prod(core)]]
            at += len(names)
            together = line(names)
            place = f"&{names[0]}"
            if together is None or together[2] != 1:
                place = f"a{index}_{number}"
                made.append(f"    const {self.unit.real} {place}[{len(names)}] = {{{', '.join(names)}}};")
            given.append(place)
        given += [f"&c{index}[{first}]" for first in starts(kernel.layout.outs)]
        lines = [*made, f"    {function}({', '.join(given)});"]
        if masked:
            test = self.names[entry.operands[-1]]
            lines = [f"    if ({test}) {{", *(f"    {line}" for line in lines), "    }"]
        yield f"    {self.unit.real} c{index}[{kernel.layout.outputs}]{' = {0}' if masked else ''};"
        yield from lines

    def _product(self, index: int, product: Product) -> Iterator[str]:
        """Multiply a matrix by a vector where they are, or copied side by side."""
        rows, n = len(product.rows), len(product.vector)
        self.counts += Counter(multiply=rows * n, add=rows * (n - 1))
        self.names |= {root: f"p{index}[{i}]" for i, root in enumerate(product.roots)}
        yield from self._copied(f"m{index}", product.rows)
        yield from self._copied(f"x{index}", [product.vector])
        array, first, stride = self._line(product.vector)
        matrix, start, across = self._line(product.rows[0])
        down = self._line(product.rows[1])[1] - start if rows > 1 else 0
        given = f"{rows}, {n}, &{matrix}[{start}], {down}, {across}, &{array}[{first}], {stride}, p{index}"
        yield f"    {self.unit.real} p{index}[{rows}];\n    product({given});"

    def _line(self, vector: Vector) -> Line:
        """Return where the numbers of a vector lie."""
        return self._lines.get(vector) or line([self.names[i] for i in vector])  # type: ignore[return-value]

    def _copied(self, name: str, vectors: Sequence[Vector]) -> Iterator[str]:
        """Copy vectors into an array, unless all of them lie at equal distances already."""
        lines = [self._line(vector) for vector in vectors]
        n, own = len(vectors[0]), {(one[0], one[2]) if one else None for one in lines}
        if None not in own and len(own) == 1 and len({b[1] - a[1] for a, b in itertools.pairwise(lines)}) <= 1:
            return
        self._lines |= {vector: (name, n * i, 1) for i, vector in enumerate(vectors)}
        numbers = ", ".join(self.names[i] for vector in vectors for i in vector)
        yield f"    const {self.unit.real} {name}[{n * len(vectors)}] = {{{numbers}}};"


def line(names: Sequence[str]) -> Line | None:
    """Return array, first index and step of numbers that lie in an array at equal distances."""
    places = [name.rstrip("]").rpartition("[") for name in names]
    if not all(bracket and i.isdigit() and array == places[0][0] for array, bracket, i in places):
        return None
    numbers = [int(i) for _, _, i in places]
    steps = {b - a for a, b in itertools.pairwise(numbers)} or {1}
    return (places[0][0], numbers[0], steps.pop()) if len(steps) == 1 else None


def literal(x: float | bool, end: str = "") -> str:
    """Return a constant of C with exactly this value, or the nearest in single precision (`end` is "f").

    A constant that stands for zero in a denominator does not become zero, nor a large bound infinite.
    """
    if isinstance(x, bool):
        return "true" if x else "false"
    kind = "float" if end else "double"
    if end and x != 0.0 and math.isfinite(x):
        x = IN_SINGLE.get(x, x)
        limits = np.finfo(np.float32)
        x = float(np.float32(math.copysign(min(max(abs(x), float(limits.tiny)), float(limits.max)), x)))
    if math.isnan(x):
        return f"({kind})NAN"
    text = f"({kind})INFINITY" if math.isinf(x) else f"0.0{end}" if x == 0.0 else f"{abs(x).hex()}{end}"
    if x.is_integer() and 0.0 < abs(x) < 1e6:
        text = f"{abs(x):.1f}{end}"
    return f"(-{text})" if math.copysign(1.0, x) < 0.0 else text


LEAST = 8  # products of a matrix and a vector; with fewer, statements are shorter than a call

Vector = tuple[int, ...]  # indices of entries


class Sum(NamedTuple):
    """A sum of products left[k] right[k]."""

    root: int
    left: Vector
    right: Vector
    inner: tuple[int, ...]  # entries that nobody else takes


class Product(NamedTuple):
    """The sums of the rows of a matrix, each times the same vector."""

    vector: Vector
    rows: list[Vector]
    roots: list[int]


def products(tape: Tape, needed: Collection[int], results: Sequence[int]) -> tuple[dict[int, Product], set[int]]:
    """Return products by the entry at which they are due, and all entries that need no statement of their own."""
    sums = _sums(tape, needed, results)
    by_vector: dict[Vector, list[Sum]] = defaultdict(list)
    for one in sums:
        for vector in {one.left, one.right}:
            by_vector[vector].append(one)
    due: dict[int, Product] = {}
    done: set[int] = set()
    for one in sums:
        if one.root in done:
            continue
        groups = [(v, [s for s in by_vector[v] if s.root not in done and _ready(s, one.root)]) for v in one[1:3]]
        vector, group = max(groups, key=lambda pair: len(pair[1]))
        if len(group) * len(vector) >= LEAST:
            rows = [s.right if s.left == vector else s.left for s in group]
            due[one.root] = Product(vector, rows, [s.root for s in group])
            done |= {i for s in group for i in (s.root, *s.inner)}
    return due, done


def _ready(one: Sum, index: int) -> bool:
    """Tell whether a sum is not due before an entry, and all of its terms are known there."""
    return max(*one.left, *one.right) < index <= one.root


def _sums(tape: Tape, needed: Collection[int], results: Sequence[int]) -> list[Sum]:
    """Return all sums of three products or more, in the order of their roots."""
    entries, uses = tape.entries, Counter(results)
    for i in needed:
        uses.update(() if entries[i].op == "input" else entries[i].operands)
    inside: set[int] = set()
    found = []
    for root in sorted(needed, reverse=True):
        if root in inside or entries[root].op != "add":
            continue
        terms, inner, index = list[int](), list[int](), root
        while entries[index].op == "add" and (index == root or uses[index] == 1):
            inner.append(index)
            own = [i for i in entries[index].operands if entries[i].op == "multiply" and uses[i] == 1]
            rest = [i for i in entries[index].operands if i not in own]
            terms += own[::-1]
            if len(rest) != 1:
                break
            index = rest[0]
        if len(terms) == len(inner) + 1 >= 3:
            left, right = (tuple(entries[i].operands[k] for i in reversed(terms)) for k in (0, 1))
            inside.update(inner)
            found.append(Sum(root, left, right, (*inner[1:], *terms)))
    return found[::-1]
