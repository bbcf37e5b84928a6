"""The flight software of a loop, recorded part by part: what C is written from.

    predict     one for every interval between two ticks at which something is new
    update      one for every instrument
    command     what control makes of the belief

A part that compares the time with numbers has a variant for every way in which the comparisons come out. What parts
take from tables of the surroundings (the field, the Sun, the orbit) are inputs; arrays of numbers that kernels are
called with are parameters.
"""

from __future__ import annotations

import functools
import inspect
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gnc.batch.program import Recorder, Unknown
from gnc.batch.scalar import Scalar, is_test
from gnc.errors import InputError
from gnc.instant import Clock
from gnc.trees import Core, Packing, SharedChange, Tree, leaves, mapped, trials_of

if TYPE_CHECKING:
    from gnc.loop import Loop


class Field(NamedTuple):
    """A member of a struct."""

    name: str
    core: Core
    about: str

    def places(self, base: str) -> list[str]:
        """Return C for each of its numbers."""
        return [f"{base}{self.name}[{i}]" for i in range(math.prod(self.core))] if self.core else [f"{base}{self.name}"]


class Struct:
    """A tree of arrays as a struct of C: its members in the order of the leaves."""

    def __init__(self, tree: Tree, prefix: str = "", shared: frozenset[int] = frozenset()) -> None:
        self.packing = Packing(tree, shared) if any(isinstance(x, np.ndarray) for x in leaves(tree)) else None
        packed = self.packing
        names = packed.names(prefix) if packed else []
        about = [text for text, own in zip(_described(tree), packed._own, strict=True) if own] if packed else []
        cores = packed.cores if packed else []
        short = [_member(re.sub(rf"^({prefix}_)?0(_|$)", r"\1", name)) for name in names]
        self.fields = [Field(*one) for one in zip(short, cores, about, strict=True) if math.prod(one[1])]

    @property
    def size(self) -> int:
        """How many numbers there are."""
        return sum(math.prod(one.core) for one in self.fields)

    def places(self, base: str) -> list[str]:
        """Return C for each number."""
        return [place for one in self.fields for place in one.places(base)]

    def symbols(self, recorder: Recorder) -> Tree:
        """Return the tree with inputs of a program for its arrays."""
        if self.packing is None:
            return ()
        kinds = zip(self.packing.cores, self.packing.tests, strict=True)
        return self.packing.filled(recorder.timed(core, test) for core, test in kinds)

    def numbers(self, recorder: Recorder, tree: Tree) -> list[Any]:
        """Return a tree of symbols as numbers."""
        if self.packing is None:
            return []
        pairs = zip(self.packing.arrays(tree), self.packing.cores, strict=True)
        return [x for part, core in pairs for x in recorder.numbers(part, core)]

    def flat(self, tree: Tree, trials: int) -> np.ndarray:
        """Return the numbers (trials, size) of a tree of as many trials."""
        if self.packing is None:
            return np.zeros((trials, 0))
        own = [leaf for leaf, mine in zip(leaves(tree), self.packing._own, strict=True) if mine]
        pairs = zip(own, self.packing.cores, strict=True)
        columns = [np.broadcast_to(np.asarray(x, float), (trials, *core)).reshape(trials, -1) for x, core in pairs]
        return np.concatenate([np.zeros((trials, 0)), *columns], axis=1)

    def tree(self, numbers: np.ndarray, like: Tree) -> Tree:
        """Return the tree of which these are the numbers (trials, size); other leaves are those of `like`."""
        if self.packing is None:
            return like
        arrays, at = [], 0
        for core, test in zip(self.packing.cores, self.packing.tests, strict=True):
            part = numbers[:, at : at + math.prod(core)].reshape(len(numbers), *core)
            arrays.append(part != 0.0 if test else part.copy())
            at += math.prod(core)
        own, found = iter(self.packing._own), iter(arrays)
        return mapped(lambda leaf: next(found) if next(own) else leaf, like)


def _member(name: str) -> str:
    """Return a name that C takes for a member of a struct."""
    name = re.sub(r"\W", "_", name).strip("_")
    words = "auto break case char const continue default do double else enum extern float for goto if inline int long"
    words += (
        " register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while"
    )
    return f"value_{name}".rstrip("_") if not name or name[0].isdigit() or name in words.split() else name


@functools.cache
def comments(kind: Any) -> dict[str, str]:
    """Return what the comments of a NamedTuple say of its fields, without the shapes."""
    try:
        source = inspect.getsource(kind)
    except (OSError, TypeError):
        return {}
    found = re.findall(r"^    (\w+): [^#\n]*#\s*(.+)$", source, re.M)
    return {name: re.sub(r"^\([^)]*\)\s*", "", text).replace("*/", "* /") for name, text in found}


def _described(tree: Tree, about: str = "") -> Iterator[str]:
    """Give what is said of each leaf."""
    if not isinstance(tree, tuple):
        yield about
        return
    names: Sequence[str] = getattr(tree, "_fields", [""] * len(tree))
    for name, part in zip(names, tree, strict=True):
        yield from _described(part, comments(type(tree)).get(name, about))


@dataclass
class Variant:
    """A part that was recorded at one time; it holds where its comparisons with the time come out the same."""

    recorder: Recorder
    clock: Clock
    results: list[int]
    targets: list[str]
    places: dict[int, str]  # of the inputs of the tape


@dataclass
class Function:
    """A part with its variants."""

    name: str
    run: Callable[..., tuple[Tree, ...]]  # of the time and trees
    given: list[tuple[Struct, str]]  # with what C calls them
    made: list[tuple[Struct, str]]
    surroundings: str  # what C calls the inputs of its time
    first: int  # a tick at which it is called
    variants: list[Variant] = field(default_factory=list)


class Software:
    """The parts of a loop's software, from a start of two trials at least: what these share, software is told."""

    def __init__(self, loop: Loop, truth: Tree, belief: Tree, memory: Tree) -> None:
        self.loop, self.start = loop, (belief, loop.controller.idle, memory)
        self.trials, self.report = trials_of(truth), loop.plant.report(truth)
        noise = {i.name: None if i.noise is None else np.zeros((self.trials, i.noise.size)) for i in loop.instruments}
        self.measurements = {i.name: i.measure(truth, 0.0, noise[i.name]) for i in loop.instruments}
        self.sources: dict[Any, tuple[str, Any]] = {}  # of tables: the name of their inputs, and where rows are
        self.parameters: dict[tuple[str, bytes], Field] = {}
        self.values: dict[str, np.ndarray] = {}  # of parameters: one row for all trials, or for each
        self._places: dict[str, tuple[int, int, int]] = {}  # of parameters: function, variant, input
        shared: frozenset[int] = frozenset()
        while True:
            try:
                self._record(shared)
                break
            except SharedChange as change:
                if not change.is_number or change.place in shared:
                    raise InputError(f"flight software cannot be exported: {change}") from None
                shared |= {change.place}

    def _record(self, shared: frozenset[int]) -> None:
        belief, command, memory = self.start
        self.belief, self.command = Struct(belief, shared=shared), Struct(command)
        self.memory, self.reported = Struct(memory), Struct(self.report, "report")
        self.measured = {n: Struct(z, re.sub(r"\W", "_", n.split(".")[-1])) for n, z in self.measurements.items()}
        self.innovations: dict[str, Struct] = {}
        self.functions = [*self._predictions(), *self._updates(), self._control()]
        for number, function in enumerate(self.functions):
            waiting = [function.first]
            for k in waiting:  # grows meanwhile, beyond the end of the flight too
                if not any(all(guard.holds(k) for guard in one.clock.guards) for one in function.variants):
                    function.variants.append(self._variant(function, k))
                    self._note_parameters(number, len(function.variants) - 1)
                    waiting += self._turns(function.variants[-1])

    def _turns(self, variant: Variant) -> list[int]:
        """Return ticks about those at which comparisons with the time change."""
        h, bounds = self.loop.h, [guard.bound - guard.time.at(0) for guard in variant.clock.guards]
        near = {round(bound / h) + i for bound in bounds if math.isfinite(bound) for i in (-1, 0, 1)}
        return sorted(k for k in near if k >= 0)

    @functools.cached_property
    def new(self) -> np.ndarray:
        """Ticks at which something is new: a measurement or a command."""
        k = np.arange(self.loop.steps + 1)
        due = [self.loop.commanded.due(k), *(schedule.due(k) for _, schedule in self.loop.measured)]
        return np.flatnonzero(np.any(due, axis=0))

    def _predictions(self) -> Iterator[Function]:
        """Give a prediction for every interval; the first begins at time zero."""
        marks = np.unique(np.concatenate([[0], self.new]))
        steps, h = np.diff(marks), self.loop.h
        given = [(self.belief, "belief->"), (self.command, "from->command."), (self.reported, "to->inputs.")]
        for n in np.unique(steps).tolist():
            run = functools.partial(self._predicted, n * h)
            first = int(marks[:-1][steps == n][0])
            yield Function(f"predict_{n}", run, given, [(self.belief, "next.")], "from->inputs.", first)

    def _predicted(self, h: float, t: Any, belief: Tree, command: Tree, report: Tree) -> tuple[Tree]:
        return (self.loop.navigation.predict(belief, command, report, t, h),)

    def _updates(self) -> Iterator[Function]:
        for name, struct in self.measured.items():
            schedule = next(one for i, one in self.loop.measured if i.name == name)
            short = re.sub(r"\W", "_", name.split(".")[-1])
            innovation = self.innovations[name] = Struct((), short)
            given = [(self.belief, "belief->"), (struct, "inputs->")]
            made = [(self.belief, "next."), (innovation, "innovations->")]
            run = functools.partial(self._updated, name)
            yield Function(f"update_{short}", run, given, made, "inputs->", schedule.first)

    def _updated(self, name: str, t: Any, belief: Tree, measurement: Tree) -> tuple[Tree, Tree]:
        belief, made = self.loop.navigation.update(belief, name, measurement, t)
        if self.innovations[name].packing is None and made is not None:
            prefix = re.sub(r"\W", "_", name.split(".")[-1])
            self.innovations[name].__init__(mapped(self._example, made), prefix)  # type: ignore[misc]
        return belief, made

    def _example(self, leaf: Any) -> Any:
        """Return an array like a symbol of a program, of as many trials as are recorded."""
        if not isinstance(leaf, Scalar) and not (isinstance(leaf, np.ndarray) and leaf.dtype == object):
            return leaf
        array = np.asarray(leaf, object)
        return np.zeros((self.trials, *array.shape), bool if array.size and is_test(array.flat[0]) else float)

    def _control(self) -> Function:
        given = [(self.belief, "belief->"), (self.reported, "inputs->"), (self.memory, "memory->")]
        made = [(self.command, "command->"), (self.memory, "next.")]
        return Function("command", self._commanded, given, made, "inputs->", self.loop.commanded.first)

    def _commanded(self, t: Any, belief: Tree, report: Tree, memory: Tree) -> tuple[Tree, Tree]:
        return self.loop.controller.law.command(belief, report, t, memory)

    def _variant(self, function: Function, k: int) -> Variant:
        """Record a part at a tick."""
        recorder = Recorder(self.trials)
        clock, places = Clock(self.loop.h, k, recorder), dict[int, str]()
        trees = []
        for struct, base in function.given:
            first = recorder.tape.inputs
            trees.append(struct.symbols(recorder))
            places |= dict(enumerate(struct.places(base), first))
        try:
            with recorder.recording():
                made = function.run(clock(k), *trees)
                numbers = [
                    struct.numbers(recorder, tree) for (struct, _), tree in zip(function.made, made, strict=True)
                ]
                results = recorder.results([], [x for group in numbers for x in group])
        except SharedChange:
            raise
        except Unknown:
            part, why = next(iter(recorder.opaque.items()))
            remedy = "write it with kernels (gnc.batched) and give the class compilable = True"
            raise InputError(f"flight software cannot be exported: {part}: {why}; {remedy}") from None
        except Exception as error:  # of any kind: whatever a part does with symbols
            cause = error.__cause__ or error  # NumPy raises its own from ours
            what = f"{function.name}: {type(cause).__name__}: {cause}"
            raise InputError(f"flight software cannot be exported: {what}") from error
        targets = [place for struct, base in function.made for place in struct.places(base)]
        places |= self._outside(recorder, clock, function.surroundings)
        return Variant(recorder, clock, results, targets, places)

    def _outside(self, recorder: Recorder, clock: Clock, base: str) -> dict[int, str]:
        """Return the places of parameters, times and rows of tables."""
        places: dict[int, str] = {}
        timed = {symbol_slot(s): (key, i) for key, symbols in clock.symbols.items() for i, s in enumerate(symbols)}
        by_key = dict(zip(clock.symbols, clock.sources, strict=True))
        for one in (one for one in recorder.given if one.size):
            if one.memory is not None:
                names = self._parameter(one).places("parameters->")
            elif one.slot in timed:
                key, part = timed[one.slot]
                names = self._timed(by_key[key], key, part, base)
            else:
                continue
            places |= dict(enumerate(names, one.slot))
        return places

    def _timed(self, source: Any, key: Any, part: int, base: str) -> list[str]:
        if not hasattr(source, "table"):
            return [time_text(source.time)]
        name, _ = self.sources.setdefault(key, (f"{source.kind}{len(self.sources)}", source))
        return self.row(name, source)[part].places(base)

    def row(self, name: str, source: Any) -> list[Field]:
        """Return the inputs of a row of a table."""
        about = comments(type(source.table))  # type: ignore[arg-type]
        when = f"at {source.time.at(0):+g} s from the tick"
        cores = [part.shape[1:] for part in source.table]
        pairs = zip(source.names, cores, strict=True)
        return [Field(f"{name}_{n}", core, f"{about.get(n, source.kind)}, {when}") for n, core in pairs]

    def _parameter(self, one: Any) -> Field:
        rows = np.reshape(one.memory, (-1, one.size))
        rows = rows[:1] if all(np.array_equal(row, rows[0], equal_nan=True) for row in rows) else rows
        user, _, name = one.what.partition(": ")
        short = re.sub(r"\W", "_", name or user).strip("_") or "number"
        if (key := (short, rows.tobytes())) not in self.parameters:
            count = sum(name == short for name, _ in self.parameters)
            label = f"{short}_{count + 1}" if count else short
            self.parameters[key] = Field(label, (one.size,), f"as {user} takes it")
            self.values[label] = rows
        return self.parameters[key]

    def _note_parameters(self, function: int, variant: int) -> None:
        given = self.functions[function].variants[variant].recorder.given
        for i, one in enumerate(given):
            if one.memory is not None and one.size:
                self._places.setdefault(self._parameter(one).name, (function, variant, i))

    @property
    def differs(self) -> bool:
        """Whether parameters are others in other trials."""
        return any(len(rows) > 1 for rows in self.values.values())

    def parameters_for(self, trials: int) -> np.ndarray:
        """Return the parameters (trials, numbers) of software that is the same in all trials."""
        numbers = np.concatenate([np.zeros(0), *(rows[0] for rows in self.values.values())])
        return np.broadcast_to(numbers, (trials, len(numbers)))

    def parameters_of(self, other: Software) -> np.ndarray:
        """Return the parameters (trials, numbers) of the same software of other trials."""
        columns = [np.zeros((other.trials, 0))]
        for label, (function, variant, i) in self._places.items():
            rows: Any = other.functions[function].variants[variant].recorder.given[i].memory
            columns.append(
                np.broadcast_to(
                    np.reshape(rows, (-1, self.values[label].shape[1])), (other.trials, self.values[label].shape[1])
                )
            )
        return np.concatenate(columns, axis=1)

    @functools.cached_property
    def inputs(self) -> list[Field]:
        """What a step is given: all of measurements; of reports and surroundings what is used."""
        texts = {place for f in self.functions for v in f.variants for place in used_places(v)}
        names = {re.split(r"->|\.", place)[-1].partition("[")[0] for place in texts}
        around = [one for name, source in self.sources.values() for one in self.row(name, source)]
        optional = [one for one in (*self.reported.fields, *around) if one.name in names]
        return [one for struct in self.measured.values() for one in struct.fields] + optional


def used_places(variant: Variant) -> Iterator[str]:
    """Give the places of the inputs that results depend on."""
    entries = variant.recorder.tape.entries
    for i in variant.recorder.tape.needed(variant.results):
        if entries[i].op == "input":
            yield variant.places[entries[i].operands[0]]


def symbol_slot(symbols: Any) -> int:
    """Return the first input of the tape among symbols of an input."""
    first = np.ravel(np.asarray(symbols, object))[0]
    return first.tape.entries[first.index].operands[0]


def time_text(time: Any, tick: str = "tick", tick_s: str = "TICK_S") -> str:
    """Return C for a time, computed as Python does it."""
    ticks = f"{tick} + {time._ticks}" if time._ticks > 0 else f"{tick} - {-time._ticks}" if time._ticks else tick
    text = f"(double)({ticks}) * {tick_s}"
    for more in time._added:
        text = f"({text}) + {float(more).hex() if more >= 0 else f'({float(more).hex()})'}"
    return f"({text})"
