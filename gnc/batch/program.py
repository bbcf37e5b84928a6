"""Programs: a Python function of many kernels as one compiled loop over steps, for one trial or thousands.

The function runs once, on symbols. A kernel that it calls stays a call: compiled by itself, once for all programs, so
that a program is quick to compile and keeps the bits of calls from Python. What the function computes between the calls
is recorded. A kernel's arguments that are plain arrays become parameters of the program, with or without a leading
axis of the trials: other values need no other code.

    recorder = Recorder(trials)
    x, noise = recorder.state((4,)), recorder.timed((3,))
    with recorder.recording():
        x = f(x, noise)                                   kernels, + - * /, slices
        program = recorder.program(x)
    program.run(state, [of_trials(draws)], steps)         state (trials, 4) in place; draws (trials, steps, 3)

The function may not branch on numbers, and what it does beside computing is done once, while it is recorded.
"""

from __future__ import annotations

import contextlib
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from gnc.batch.kernel import Kernel, core_array, inside
from gnc.batch.layout import Core
from gnc.batch.python_parts import Cut, Numbers, Returned, Unknown, collected
from gnc.batch.scalar import Operand, Scalar, is_test, operate
from gnc.batch.symbols import as_symbols
from gnc.batch.tape import Tape
from gnc.batch.transposing import SIDE

Array = Any

GAP = 8  # slots of a state that nothing touches and that are moved all the same


class Rows(NamedTuple):
    """Where a program reads an input that differs from step to step, or writes the results of every step."""

    address: int
    trial_step: int  # bytes from trial to trial; 0: all have the same
    time_step: int
    memory: Any = None  # kept from being freed

    def read(self, trials: int, size: int) -> np.ndarray:
        """Return the numbers (trials, size) of the first step."""

        class Memory:
            __array_interface__: ClassVar[Any] = {
                "data": (self.address, False), "shape": (trials, size), "strides": (self.trial_step, 8),
                "typestr": "<f8", "version": 3,
            }  # fmt: skip

        return np.asarray(Memory())

    def shifted(self, by: int) -> Rows:
        """Return the rows that begin so many bytes further on."""
        return Rows(self.address + by, self.trial_step, self.time_step, self.memory)


def of_trials(array: np.ndarray) -> Rows:
    """Return the rows of an array (trials, steps, ...)."""
    return Rows(_address(array), array.strides[0], array.strides[1], array)


def of_all(array: np.ndarray) -> Rows:
    """Return the rows of an array (steps, ...) that all trials share."""
    return Rows(_address(array), 0, array.strides[0], array)


def of_steps(array: np.ndarray) -> Rows:
    """Return the rows of an array (steps, trials, ...)."""
    return Rows(_address(array), array.strides[1], array.strides[0], array)


def of_block(array: np.ndarray) -> Rows:
    """Return the rows of an array (trials, numbers), the same for every step."""
    return Rows(_address(array), array.strides[0], 0, array)


def _address(array: Any) -> int:
    return array.__array_interface__["data"][0]


@dataclass
class Input:
    """An input that is not state: a parameter, which a kernel was called with, or numbers new at every step."""

    slot: int
    size: int
    memory: np.ndarray | None  # None: every step has its own
    trial_step: int = 0
    original: Any = None  # kept, so that no other array gets its identity
    what: str = ""  # the kernel that was called with it, and its argument


@dataclass
class Recorder:
    """Records a program: kernels called inside `recording` become calls of the program."""

    trials: int
    opaque: dict[str, str] = field(default_factory=dict)  # calls of parts that cannot be recorded, and why
    returned: Sequence[Returned] = ()  # what those parts return, in the order of the calls
    cuts: list[Cut] = field(default_factory=list)  # those calls
    tape: Tape = field(default_factory=lambda: Tape(literal=True))
    given: list[Input] = field(default_factory=list)
    state_size: int = 0
    _known: dict[tuple[int, Core], Array] = field(default_factory=dict)
    _common: set[int] = field(default_factory=set)  # inputs that are the same in all trials
    _calls: Counter[str] = field(default_factory=Counter)  # of each part so far

    def state(self, core: Core, test: bool = False, common: bool = False) -> Array:
        """Return the symbols of a part of the state, tests or numbers; all parts come before any other input.

        A `common` part is the same in all trials.
        """
        if self.given:
            raise TypeError("the state of a program comes before its other inputs")
        self.state_size += math.prod(core)
        self._note_common(core, common)
        return _tests(self._symbols(core)) if test else self._symbols(core)

    def timed(self, core: Core, test: bool = False) -> Array:
        """Return the symbols of an input that has new numbers at every step."""
        self.given.append(Input(self.tape.inputs, math.prod(core), None))
        return _tests(self._symbols(core)) if test else self._symbols(core)

    @contextlib.contextmanager
    def recording(self) -> Iterator[None]:
        """Record the kernels and operations of the block."""
        token = inside.set(self)
        try:
            yield
        finally:
            inside.reset(token)

    def program(self, state: Sequence[Operand], made: Sequence[Operand] = ()) -> Program:
        """Return the program that ends with this state, and gives `made` at every step; both flat."""
        return Program(self.trials, self.tape, self.results(state, made), self.state_size, self.given)

    def results(self, state: Sequence[Operand], made: Sequence[Operand] = ()) -> list[int]:
        """Return the entries of the tape that are the state after a step, then those of `made`."""
        if len(state) != self.state_size:
            raise ValueError(f"the state has {self.state_size} numbers before a step and {len(state)} after it")
        return [self.tape.index(_number(x)) for x in [*state, *made]]

    def masked(self, test: Operand) -> contextlib.AbstractContextManager[None]:
        """Record the calls made inside as calls that only trials need in which the test holds."""
        return self.tape.masked(test)

    def part(self, name: str, function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        """Record a part of a loop; if the part cannot be recorded, split the program at the part.

        Calls of the same part in one tick are told apart: a call that was recorded stays recorded.
        """
        self._calls[name] += 1
        call = name if self._calls[name] == 1 else f"{name}, call {self._calls[name]}"
        if call not in self.opaque:
            try:
                return function(*args)
            except Exception as error:  # of any kind: whatever a part does with symbols
                self.opaque[call] = f"{type(error).__name__}: {error}"
        numbers: list[Operand] = []
        tree = collected(args, numbers, self._is_common)
        cut = Cut(name, function, tree, [self.tape.index(_number(x)) for x in numbers])
        self.cuts.append(cut)
        if len(self.cuts) > len(self.returned):
            raise Unknown
        cut.returned, cut.slot = self.returned[len(self.cuts) - 1], self.tape.inputs
        return cut.returned.filled(self._returned)

    def _is_common(self, numbers: Sequence[Operand]) -> bool:
        """Tell whether numbers depend on inputs, and only on inputs that all trials share."""
        entries = (self.tape.entries[i] for i in self.tape.needed(map(self.tape.index, numbers)))
        slots = {entry.operands[0] for entry in entries if entry.op == "input"}
        return bool(slots) and slots <= self._common

    def _note_common(self, core: Core, common: bool) -> None:
        if common:
            self._common.update(range(self.tape.inputs, self.tape.inputs + math.prod(core)))

    def _returned(self, kind: Numbers) -> Array:
        self._note_common(kind.core, kind.common)
        symbols = self._symbols(kind.core)
        return _tests(symbols) if kind.test else symbols

    def symbols(self, x: Any, core: Core | None) -> Array:
        """Return the symbols of a leaf of a state."""
        if core is None:
            shape = np.shape(x)
            core = shape[1:] if shape[:1] == (self.trials,) else shape
        return as_symbols(core_array(iter(self.numbers(x, core)), core))

    def call(self, kernel: Kernel, args: tuple[Any, ...]) -> Any:
        """Record the call of a kernel."""
        return self._called(kernel, self._operands(kernel, args), False)

    def repeat(self, kernel: Kernel, n: Any, args: tuple[Any, ...]) -> Any:
        """Record the call of a repeated kernel."""
        return self._called(kernel, [*self._operands(kernel, args), *self.numbers(n, (), "n")], True)

    def numbers(self, x: Any, core: Core, what: str = "state") -> list[Operand]:
        """Return an array as a flat list of symbols and constants; one without symbols becomes a parameter."""
        if hasattr(x, "as_number"):  # a time
            x = x.as_number()
        array = np.asarray(x, object) if isinstance(x, Scalar) else np.asarray(x)
        if array.dtype != object:
            return list(np.ravel(self._parameter(x, array, core, what)))
        if array.shape != core:
            raise ValueError(f"{what}: expected {core}, got {array.shape}")
        return [_number(one) for one in array.ravel()]

    def _called(self, kernel: Kernel, operands: list[Operand], repeating: bool) -> Any:
        flat = iter(self.tape.call(kernel, operands, repeating))
        results = tuple(as_symbols(core_array(flat, core)) for core in kernel.layout.outs)
        return results if len(results) > 1 else results[0]

    def _operands(self, kernel: Kernel, args: tuple[Any, ...]) -> list[Operand]:
        layout = kernel.layout
        if len(args) != len(layout.ins):
            raise TypeError(f"{kernel.__name__}: expected {len(layout.ins)} arguments, got {len(args)}")
        arguments = zip(args, layout.ins, layout.names, strict=True)
        return [x for arg, core, name in arguments for x in self.numbers(arg, core, f"{kernel.__name__}: {name}")]

    def _parameter(self, original: Any, array: np.ndarray, core: Core, what: str) -> Array:
        """Return the symbols of a parameter: one array for all trials, or one for each trial."""
        key = id(original), core
        if key not in self._known:
            if array.shape not in (core, (1, *core), (self.trials, *core)):
                raise ValueError(f"{what}: expected {core} or {(self.trials, *core)}, got {array.shape}")
            size, each = math.prod(core), array.shape == (self.trials, *core) and self.trials > 1
            memory = np.ascontiguousarray(array, float)
            self.given.append(Input(self.tape.inputs, size, memory, 8 * size if each else 0, original, what))
            self._known[key] = self._symbols(core)
        return self._known[key]

    def _symbols(self, core: Core) -> Array:
        return as_symbols(core_array(iter([self.tape.input() for _ in range(math.prod(core))]), core))


def _number(x: Operand) -> Operand:
    """Return a test as 1 or 0; NumPy would cast it too."""
    return operate("where", x, 1.0, 0.0) if is_test(x) else x


def _tests(numbers: Array) -> Array:
    """Return the tests that ones and zeros stand for."""
    return numbers > 0.5


class Program:
    """A recorded function that can be run."""

    def __init__(self, trials: int, tape: Tape, results: list[int], state: int, given: list[Input]) -> None:
        from gnc.batch.compiled import (
            lanes,
            program_loop,
            program_tile,
        )  # the compiler is loaded when something is compiled

        self.trials, self._size, self.made = trials, state, len(results) - state
        self.tape, self.results, self.given = tape, results, given
        timed = [one for one in given if one.memory is None]
        changed = {slot for slot in range(state) if tape.entries[results[slot]][:2] != ("input", (slot,))}
        used = _used(tape, [*(results[slot] for slot in changed), *results[state:]])
        self._pieces = _pieces(changed | {slot for slot in used if slot < state})
        self._staying = [one for one in given if one.memory is not None and _is_in(one, used)]
        changing = [one for one in timed if _is_in(one, used)]
        self.used = [_is_in(one, used) for one in timed]  # whether anything depends on it
        width = 1 if trials == 1 else lanes()
        self.tile, self._function = program_tile(tape, results, state, width), program_loop(width)
        self._buffer = np.empty(width * (tape.inputs + self.made + 1 + SIDE))  # squares reach beyond the end
        aligned = -(-_address(self._buffer) // (8 * width)) * 8 * width
        table = [(self.tile, aligned, len(self._staying), len(changing), len(self._pieces))]
        table += [(0, 8 * state, 0, first, end - first) for first, end in self._pieces]
        table += [(_address(one.memory), one.trial_step, 0, one.slot, one.size) for one in self._staying]
        table += [(0, 0, 0, one.slot, one.size) for one in changing]
        table += [(0, 0, 0, tape.inputs, self.made)]
        self._table = np.array(table, np.int64)
        self._address, self._first = _address(self._table), 1 + len(self._pieces) + len(self._staying)
        self.output = self._table[-1]
        self._bound: np.ndarray | None = None  # the state whose address is in the table

    def run(self, state: np.ndarray, timed: Sequence[Rows | None], steps: int, made: Rows | None = None) -> None:
        """Take steps from a state (trials, numbers), in place; an input that is not `used` may be None."""
        self.put(state, made)
        if self.made and made is None:
            raise ValueError("made: expected rows for what comes out of every step")
        changing = [rows[:3] for rows, used in zip(timed, self.used, strict=True) if used and rows is not None]
        if changing:
            self._table[self._first : -1, :3] = changing
        self._function(self._address, self.trials, steps)

    def put(self, state: np.ndarray, made: Rows | None) -> None:
        """Tell where the state is, and where what comes out goes."""
        if state is not self._bound:
            if state.shape != (self.trials, self._size) or state.dtype != float or not state.flags.c_contiguous:
                raise ValueError(f"state: expected an array of floats {(self.trials, self._size)}, without gaps")
            self._bound, start = state, _address(state)
            self._table[1 : 1 + len(self._pieces), 0] = [start + 8 * first for first, _ in self._pieces]
        if made is not None:
            self.output[:3] = made[:3]

    def place(self, number: int, rows: Rows) -> np.ndarray | None:
        """Tell where an input is of which every step has its own; return its row of the table, None if not `used`."""
        if not self.used[number]:
            return None
        row = self._table[self._first + sum(self.used[:number])]
        row[:3] = rows[:3]
        return row

    def stepper(self) -> Callable[[], None]:
        """Return the function that takes one step with everything where it was told to be."""
        from gnc.batch.compiled import stepper

        return stepper(self._table, self.trials)


def _used(tape: Tape, results: list[int]) -> set[int]:
    """Return which inputs anything depends on."""
    needed = (tape.entries[i] for i in tape.needed(results))
    return {entry.operands[0] for entry in needed if entry.op == "input"}


def _pieces(slots: set[int]) -> list[tuple[int, int]]:
    """Return beginnings and ends of the pieces of a state that slots are in; a small gap does not end a piece."""
    found: list[tuple[int, int]] = []
    for slot in sorted(slots):
        first = found.pop()[0] if found and slot - found[-1][1] < GAP else slot
        found.append((first, slot + 1))
    return found


def _is_in(one: Input, used: set[int]) -> bool:
    return not used.isdisjoint(range(one.slot, one.slot + one.size))
