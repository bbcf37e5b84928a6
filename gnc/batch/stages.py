"""A program in stages, with a part in Python between each and the next.

An entry of the tape belongs to the first stage at which all it depends on is known. Numbers that a later stage needs
of an earlier one are kept in between, beside the arguments of the part:

    stage 0: state, inputs -> | arguments of part 0 | kept for later |
    part 0                 -> | what it returns |
    stage 1: state, inputs, what part 0 returned, kept numbers -> ...
    the last stage: -> next state | what comes out of the step |
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from gnc.batch.program import Input, Program, Recorder, Rows, of_block, of_steps
from gnc.batch.scalar import TESTS, operate
from gnc.batch.tape import Entry, Symbol, Tape

BLOCK = 4096  # numbers of several ticks that arguments are views of: a part that keeps one keeps all


class _Source(NamedTuple):
    """Where an input of a stage comes from."""

    kind: str  # "state", "timed", "returned", "kept"
    number: int


@dataclass
class _Plan:
    """What a stage computes."""

    targets: list[int]
    kept: list[int] = field(default_factory=list)  # entries that later stages need
    work: set[int] = field(default_factory=set)
    inputs: set[int] = field(default_factory=set)
    imports: set[int] = field(default_factory=set)  # entries of earlier stages


class Stages:
    """The programs of all stages, and the memory between them."""

    def __init__(self, recorder: Recorder, results: list[int]) -> None:
        self._recorder, self.cuts = recorder, recorder.cuts
        self._tape, trials = recorder.tape, recorder.trials
        self._slots = {entry.operands[0]: i for i, entry in enumerate(self._tape.entries) if entry.op == "input"}
        self._plans = self._planned(results)
        self._programs = [self._program(number) for number in range(len(self._plans))]
        self.made = self._programs[-1][0].made
        self._sizes = [len(plan.targets) + len(plan.kept) for plan in self._plans[:-1]]
        self._ticks = max(BLOCK // (trials * max(self._sizes)), 1)
        known = [cut.returned for cut in self.cuts if cut.returned]
        self.returned = [np.empty((trials, one.size)) for one in known]
        self._writers = [one.writer(target) for one, target in zip(known, self.returned, strict=True)]
        self._none = np.empty((trials, 0))

    def run(
        self, state: np.ndarray, timed: Sequence[Rows | None], k: int, made: np.ndarray
    ) -> tuple[int, tuple[int, Any] | None]:
        """Take steps in place, and leave what they make (steps, trials, numbers).

        Return how many were taken. A part that returns something of another structure stops them: then there is also
        the number of the part, and what it returned.
        """
        self._place(state, timed, made)
        steps = [program.stepper() for program, _ in self._programs]
        functions, last = [cut.function for cut in self.cuts], steps[-1]
        for first in range(0, len(made), self._ticks):
            ticks = min(self._ticks, len(made) - first)
            arguments = self._arguments(ticks, k + first)
            parts = list(zip(range(len(steps)), steps, functions, arguments, self._writers, strict=False))
            for done in range(first, first + ticks):
                for number, step, function, given, write in parts:
                    step()
                    tree = function(*next(given))
                    if not write(tree):
                        return done, (number, tree)
                last()
        return len(made), None

    def _place(self, state: np.ndarray, timed: Sequence[Rows | None], made: np.ndarray) -> None:
        """Tell the programs where everything is but the arguments of parts and what is kept beside them."""
        fixed = {"state": [of_block(state)], "returned": list(map(of_block, self.returned)), "timed": timed}
        for program, sources in self._programs:
            for i, source in enumerate(sources):
                if source.kind in fixed and (rows := fixed[source.kind][source.number]) is not None:
                    program.place(i, rows)
            last = program is self._programs[-1][0]
            program.put(*(state, of_steps(made)) if last else (self._none, None))

    def _arguments(self, ticks: int, k: int) -> list[Iterator[tuple[Any, ...]]]:
        """Give the arguments of every part at tick k and those after it, in new memory: the part may keep them.

        Stages write them there, tick by tick, with what later stages need of them beside.
        """
        blocks = [np.empty((ticks, self._recorder.trials, size)) for size in self._sizes]
        for number, (program, sources) in enumerate(self._programs):
            if number < len(blocks):
                program.put(self._none, of_steps(blocks[number]))
            for i, source in enumerate(sources):
                if source.kind == "kept":
                    targets = len(self._plans[source.number].targets)
                    program.place(i, of_steps(blocks[source.number]).shifted(8 * targets))
        return [cut.arguments(block, k) for cut, block in zip(self.cuts, blocks, strict=True)]

    def _planned(self, results: list[int]) -> list[_Plan]:
        """Divide the tape; the last stage first, since it tells what the earlier ones have to keep."""
        stages, tape = self._stages(), self._tape
        plans = [_Plan(list(cut.operands)) for cut in self.cuts] + [_Plan(results)]
        for number, plan in reversed(list(enumerate(plans))):
            waiting = plan.targets + plan.kept
            while waiting:
                index = waiting.pop()
                entry = tape.entries[index]
                if entry.op == "input":
                    plan.inputs.add(index)
                elif stages[index] < number and entry.op != "constant":
                    plan.imports.add(index)
                    if index not in plans[stages[index]].kept:
                        plans[stages[index]].kept.append(index)
                elif index not in plan.work:
                    plan.work.add(index)
                    waiting += entry.operands
        return plans

    def _stages(self) -> list[int]:
        """Return the stage of every entry."""
        first: dict[int, int] = {}
        for number, cut in enumerate(self.cuts):
            size = cut.returned.size if cut.returned else 0
            first |= dict.fromkeys(range(cut.slot, cut.slot + size), number + 1)
        found: list[int] = []
        for entry in self._tape.entries:
            if entry.op == "input":
                found.append(first.get(entry.operands[0], 0))
            else:
                found.append(max((found[i] for i in entry.operands), default=0))
        return found

    def _program(self, number: int) -> tuple[Program, list[_Source]]:
        """Write the tape of one stage."""
        plan, tape, last = self._plans[number], self._tape, number == len(self.cuts)
        new, at, given, sources = Tape(literal=True), dict[int, int](), list[Input](), list[_Source]()
        for source, one in self._groups():
            entries = [self._slots[one.slot + i] for i in range(one.size)]
            own = last and source is not None and source.kind == "state"
            if not own and plan.inputs.isdisjoint(entries):
                continue
            if not own:
                given.append(Input(new.inputs, one.size, one.memory, one.trial_step, one.original))
                sources += [] if source is None else [source]
            at |= {index: new.input().index for index in entries}
        for earlier, other in enumerate(self._plans[:number]):
            if not plan.imports.isdisjoint(other.kept):
                given.append(Input(new.inputs, len(other.kept), None))
                sources.append(_Source("kept", earlier))
                symbols = [new.input() for _ in other.kept]
                pairs = zip(other.kept, symbols, strict=True)
                at |= {i: (x > 0.5 if tape.entries[i].op in TESTS else x).index for i, x in pairs}
        for index in sorted(plan.work):
            entry = tape.entries[index]
            constant = new.call_number(tape.calls[int(entry.constant)]) if entry.op == "call" else entry.constant
            at[index] = new.record(Entry(entry.op, tuple(at[i] for i in entry.operands), constant))
        results = [at[i] for i in plan.targets]
        for i in plan.kept:
            test = Symbol(new, at[i], is_test=True)
            results.append(new.index(operate("where", test, 1.0, 0.0)) if tape.entries[i].op in TESTS else at[i])
        return Program(self._recorder.trials, new, results, self._recorder.state_size if last else 0, given), sources

    def _groups(self) -> list[tuple[_Source | None, Input]]:
        """Return the inputs of the whole tape, with their sources; parameters have none."""
        recorder = self._recorder
        found: list[tuple[_Source | None, Input]] = [(_Source("state", 0), Input(0, recorder.state_size, None))]
        timed = 0
        for one in recorder.given:
            found.append((None if one.memory is not None else _Source("timed", timed), one))
            timed += one.memory is None
        for number, cut in enumerate(self.cuts):
            found.append((_Source("returned", number), Input(cut.slot, cut.returned.size if cut.returned else 0, None)))
        return found
