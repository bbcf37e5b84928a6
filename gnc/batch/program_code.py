"""A tape with calls as LLVM code on W trials at once: what calls pass on stays in memory, in slots of W lanes.

    %made      the results of all calls, where the kernels write them
    %scratch   arguments that do not lie side by side in memory, put together for the call

A kernel gets pointers to where its arguments are. Only what is computed between calls is loaded.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence

from gnc.batch.layout import starts
from gnc.batch.llvm_writer import room
from gnc.batch.tape import Entry, Tape
from gnc.batch.vector_code import Place, instruction, pointers, tile_head, value_of


def calling_function(
    tape: Tape, results: list[int], width: int, names: list[str], ins: list[Place], outs: list[Place], quick: bool
) -> Iterator[str]:
    """Write `@tile` (see `vector_code`) of a tape with calls, all lanes active; `quick`: long, and not optimised.

    `names` are its pointers, `ins` and `outs` the places of its inputs and results.
    """
    yield tile_head(names, width, "noinline optnone" if quick else "")
    yield from _Step(tape, width, ins).lines(results, outs)
    yield f"declare i1 @llvm.vector.reduce.or.v{width}i1(<{width} x i1>)"
    for i, call in enumerate(tape.calls):
        arrays = len(pointers(call.kernel.layout, call.repeating)) + call.repeating
        yield f"declare void @call{i}({', '.join(['ptr'] * arrays)})"
    yield "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)"


class _Step:
    def __init__(self, tape: Tape, width: int, ins: list[Place]) -> None:
        self.tape, self.width, self.ins = tape, width, ins
        self.vector = f"<{width} x double>"
        self.places: dict[int, Place] = {}  # of entries that are in memory
        self.loaded: set[int] = set()
        self.last_use: dict[int, int] = {}  # of entries
        self.users: dict[int, list[int]] = defaultdict(list)  # of entries, in their order
        self.made = self.moved = 0
        self._names = (f"%p{i}" for i in itertools.count())

    def lines(self, results: list[int], outs: list[Place]) -> Iterator[str]:
        needed = self.tape.needed(results)
        for index in sorted(needed):
            entry = self.tape.entries[index]
            for operand in () if entry.op == "input" else entry.operands:
                self.users[operand].append(index)
        for index in results:
            self.users[index].append(len(self.tape.entries))
        self.last_use = {index: users[-1] for index, users in self.users.items()}
        body = [*self._body(needed), *self._results(results, outs)]
        most = max(self.moved, *(call.kernel.layout.inputs + 1 for call in self.tape.calls), 0)
        scratch, scratch_back = room("%scratch", most, self.width)
        made, made_back = room("%made", self.made, self.width)
        yield from (scratch, made, *body, *scratch_back, *made_back, "  ret void\n}")

    def _results(self, results: list[int], outs: list[Place]) -> Iterator[str]:
        """Write the results to their places, if they are not there; what lies where others go is moved away first."""
        new = [(entry, out) for entry, out in zip(results, outs, strict=True) if self.places.get(entry) != out]
        targets = {out for _, out in new}
        moved = [entry for entry, _ in new if self.places.get(entry) in targets]
        self.moved = len(moved)
        yield from self._copied(moved, ("%scratch", 0))
        self.places |= {entry: ("%scratch", i) for i, entry in enumerate(moved)}
        together = itertools.groupby(enumerate(new), key=lambda one: (one[1][1][0], one[1][1][1] - one[0]))
        for _, group in together:
            array = [pair for _, pair in group]
            yield from self._copied([entry for entry, _ in array], array[0][1])

    def _body(self, needed: set[int]) -> Iterator[str]:
        for index in sorted(needed):
            entry = self.tape.entries[index]
            if index in self.places:  # chosen beside a masked call
                continue
            if entry.op == "input":
                self.places[index] = self.ins[entry.operands[0]]
            elif entry.op == "call":
                masked = self.tape.calls[int(entry.constant)].masked
                yield from self._masked_call(index, entry) if masked else self._call(index, entry)
            elif entry.op == "part":
                memory, first = self.places[entry.operands[0]]
                self.places[index] = memory, first + int(entry.constant)
            elif entry.op != "constant":
                for operand in entry.operands:
                    yield from self._load(operand)
                yield f"  %v{index} = {instruction(self.tape, entry, self.width)}"

    def _masked_call(self, index: int, entry: Entry) -> Iterator[str]:
        """Call a kernel if the test holds in any lane.

        Results of which each is only chosen from, by that test, are chosen here, so that nothing is if there is no
        call; the places of other results get zeros then.
        """
        first, call, chosen = self.made, [*self._call(index, entry)], self._chosen(index, entry)
        test = f"<{self.width} x i1> {value_of(self.tape, entry.operands[-1], self.width)}"
        yield f"  %any{index} = call i1 @llvm.vector.reduce.or.v{self.width}i1({test})"
        yield f"  br i1 %any{index}, label %call{index}, label %skip{index}"
        yield f"call{index}:"
        yield from call
        for slot, (_, other) in chosen.items():
            yield from self._choose(test, other, ("%made", first + slot))
        yield f"  br label %done{index}"
        yield f"skip{index}:"
        if chosen:
            for _, group in itertools.groupby(enumerate(chosen), key=lambda one: one[1] - one[0]):
                slots = [slot for _, slot in group]
                yield from self._copied([chosen[slot][1] for slot in slots], ("%made", first + slots[0]))
        else:
            yield f"  %zeros{index} = getelementptr {self.vector}, ptr %made, i64 {first}"
            size = 8 * self.width * (self.made - first)
            yield f"  call void @llvm.memset.p0.i64(ptr %zeros{index}, i8 0, i64 {size}, i1 false)"
        yield f"  br label %done{index}"
        yield f"done{index}:"
        self.places |= {choice: ("%made", first + slot) for slot, (choice, _) in chosen.items()}

    def _chosen(self, call: int, entry: Entry) -> dict[int, tuple[int, int]]:
        """Return the choices by the mask of a call, and the others of which each chooses, by the place of the result.

        There are none if a result has another use, or if what it might be chosen over is not known yet.
        """
        found, entries = {}, self.tape.entries
        for part in self.users[call]:
            choice, *more = self.users[part]
            if more or choice == len(entries) or entries[choice].op != "where":
                return {}
            test, first, other = entries[choice].operands
            if (test, first) != (entry.operands[-1], part) or other == part or other > call:
                return {}
            found[int(entries[part].constant)] = choice, other
        return dict(sorted(found.items()))

    def _choose(self, test: str, other: int, place: Place) -> Iterator[str]:
        """Put another number in place of one in the lanes where the test does not hold."""
        values = [next(self._names), next(self._names)]
        yield from self._read(place, values[0])
        if other in self.places:
            yield from self._read(self.places[other], values[1])
        else:
            values[1] = value_of(self.tape, other, self.width)
        result, slot = next(self._names), next(self._names)
        yield f"  {result} = select {test}, {self.vector} {values[0]}, {self.vector} {values[1]}"
        yield f"  {slot} = getelementptr {self.vector}, ptr {place[0]}, i64 {place[1]}"
        yield f"  store {self.vector} {result}, ptr {slot}, align {8 * self.width}"

    def _read(self, place: Place, name: str) -> Iterator[str]:
        slot = next(self._names)
        yield f"  {slot} = getelementptr {self.vector}, ptr {place[0]}, i64 {place[1]}"
        yield f"  {name} = load {self.vector}, ptr {slot}, align {8 * self.width}"

    def _call(self, index: int, entry: Entry) -> Iterator[str]:
        """Call a kernel on its arguments where they are; a repeated one changes the first of them, in %made.

        They are copied there if they are needed afterwards, or are not what one call before has left there.
        """
        call = self.tape.calls[int(entry.constant)]
        layout, given, at = call.kernel.layout, [], 0
        own = self._spent(index, layout.outputs) if call.repeating and not call.masked else None
        _, first = self.places[index] = own or ("%made", self.made)
        results = [("%made", first + start) for start in starts(layout.outs)]
        for k, core in enumerate((*layout.ins, ()) if call.repeating else layout.ins):
            operands = entry.operands[at : at + math.prod(core)]
            in_place = call.repeating and k < len(results)
            place = (own and results[k]) if in_place else self._together(operands)
            if place is None:
                place = results[k] if in_place else ("%scratch", at)
                yield from self._copied(operands, place)
            given.append(place)
            at += len(operands)
        names = []
        for memory, slot in given if call.repeating else [*given, *results]:
            names.append(next(self._names))
            yield f"  {names[-1]} = getelementptr {self.vector}, ptr {memory}, i64 {slot}"
        yield f"  call void @call{entry.constant}({', '.join(f'ptr {name}' for name in names)})"
        self.made += 0 if own else layout.outputs

    def _spent(self, index: int, n: int) -> Place | None:
        """Return where the first operands of a call lie side by side in %made if nothing else needs them, or None."""
        operands = self.tape.entries[index].operands
        place, others = self._together(operands[:n]), set(operands[n:])
        free = all(self.last_use[entry] == index and entry not in others for entry in operands[:n])
        return place if place is not None and place[0] == "%made" and free else None

    def _together(self, entries: Sequence[int]) -> Place | None:
        """Return where entries lie side by side in memory, or None if they do not."""
        first = self.places.get(entries[0])
        if first is None:
            return None
        same = (self.places.get(entry) == (first[0], first[1] + i) for i, entry in enumerate(entries))
        return first if all(same) else None

    def _copied(self, entries: Sequence[int], target: Place) -> Iterator[str]:
        """Write entries side by side; those that are side by side in memory already, together."""
        memory, first = target
        at = 0
        while at < len(entries):
            place, n = self.places.get(entries[at]), 1
            if place is None:
                yield from self._store(entries[at], (memory, first + at))
            else:
                while at + n < len(entries) and self.places.get(entries[at + n]) == (place[0], place[1] + n):
                    n += 1
                yield from self._copy(place, (memory, first + at), n)
            at += n

    def _copy(self, source: Place, target: Place, n: int) -> Iterator[str]:
        a, b = next(self._names), next(self._names)
        yield f"  {a} = getelementptr {self.vector}, ptr {source[0]}, i64 {source[1]}"
        yield f"  {b} = getelementptr {self.vector}, ptr {target[0]}, i64 {target[1]}"
        aligned, size = f"align {8 * self.width}", 8 * self.width * n
        yield f"  call void @llvm.memcpy.p0.p0.i64(ptr {aligned} {b}, ptr {aligned} {a}, i64 {size}, i1 false)"

    def _store(self, index: int, target: Place) -> Iterator[str]:
        name = next(self._names)
        yield f"  {name} = getelementptr {self.vector}, ptr {target[0]}, i64 {target[1]}"
        value = value_of(self.tape, index, self.width)
        yield f"  store {self.vector} {value}, ptr {name}, align {8 * self.width}"

    def _load(self, index: int) -> Iterator[str]:
        """Load a number that is in memory, once; no slot of an input or of %made is written again."""
        if index in self.places and index not in self.loaded:
            self.loaded.add(index)
            yield from self._read(self.places[index], f"%v{index}")
