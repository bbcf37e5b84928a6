"""Writing LLVM functions that are more than straight-line code."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator

MOST_ON_STACK = 1 << 16  # bytes; threads may have little


def room(name: str, slots: int, width: int) -> tuple[str, list[str]]:
    """Return the instruction that makes room for slots of `width` lanes, and what gives it back, if it is much."""
    size = 8 * width * slots
    if size <= MOST_ON_STACK:
        return f"  {name} = alloca [{slots} x <{width} x double>], align {8 * width}", []
    return f"  {name} = call ptr @aligned_alloc(i64 {8 * width}, i64 {size})", [f"  call void @free(ptr {name})"]


class Writer:
    """Lines of one function; counted loops keep their counters in memory, which LLVM turns into registers."""

    def __init__(self) -> None:
        self.head: list[str] = []  # what belongs at the function's entry
        self.body: list[str] = []
        self.tail: list[str] = []  # and before it returns
        self._names = (f"x{i}" for i in itertools.count())

    def make_room(self, name: str, slots: int, width: int) -> None:
        """Make room for slots while the function runs."""
        first, last = room(name, slots, width)
        self.head.append(first)
        self.tail += last

    def let(self, instruction: str) -> str:
        """Name the result of an instruction."""
        name = f"%{next(self._names)}"
        self.body.append(f"  {name} = {instruction}")
        return name

    def do(self, instruction: str) -> None:
        """Write an instruction without a result."""
        self.body.append(f"  {instruction}")

    def label(self, name: str) -> None:
        """Begin a block, reached from the one before too."""
        self.body += [f"  br label %{name}", f"{name}:"]

    @contextlib.contextmanager
    def loop(self, stop: str | int, step: int = 1) -> Iterator[str]:
        """Write a loop over 0, step, 2 step ... below stop; gives the counter's name."""
        name = next(self._names)
        self.head.append(f"  %{name} = alloca i64")
        self.do(f"store i64 0, ptr %{name}")
        self.label(f"{name}.test")
        i = self.let(f"load i64, ptr %{name}")
        go = self.let(f"icmp slt i64 {i}, {stop}")
        self.body += [f"  br i1 {go}, label %{name}.do, label %{name}.end", f"{name}.do:"]
        yield i
        following = self.let(f"add i64 {i}, {step}")
        self.body += [f"  store i64 {following}, ptr %{name}", f"  br label %{name}.test", f"{name}.end:"]

    @contextlib.contextmanager
    def when(self, test: str) -> Iterator[None]:
        """Write a block that runs only if the test holds."""
        name = next(self._names)
        self.body += [f"  br i1 {test}, label %{name}.then, label %{name}.end", f"{name}.then:"]
        yield
        self.label(f"{name}.end")

    def further(self, memory: str, index: str, step: str | int) -> str:
        """Return the address index * step bytes further on."""
        return self.let(f"getelementptr i8, ptr {memory}, i64 {self.let(f'mul i64 {index}, {step}')}")

    def smaller(self, a: str, b: str | int) -> str:
        """Return the smaller of two whole numbers."""
        return self.let(f"call i64 @llvm.smin.i64(i64 {a}, i64 {b})")

    def function(self, head: str) -> Iterator[str]:
        """Give the lines of the whole function."""
        yield f"define void {head} {{"
        yield from (*self.head, *self.body, *self.tail, "  ret void", "}")
