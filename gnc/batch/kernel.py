"""`batched`: a kernel written for one trial becomes a function of any stack of trials."""

from __future__ import annotations

import contextlib
import contextvars
import functools
import itertools
import math
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, Protocol

import numpy as np

from gnc.batch.layout import Core, Layout
from gnc.batch.scalar import Operand, Real, Scalar
from gnc.batch.tape import Tape
from gnc.batch.tile import MOST_STEPS

# Set by numba's users to debug; we follow it, so that one variable turns all compilation off.
JIT_OFF = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")


class Inside(Protocol):
    """What a call of a kernel becomes where numbers are symbols."""

    def call(self, kernel: Kernel, args: tuple[Any, ...]) -> Any:
        """Return the results of one trial."""

    def repeat(self, kernel: Kernel, n: Any, args: tuple[Any, ...]) -> Any:
        """Return the results of n steps of one trial."""

    def masked(self, test: Any) -> contextlib.AbstractContextManager[None]:
        """Take note that only trials in which a test holds need the calls made inside."""

    def symbols(self, x: Any, core: Core | None) -> Any:
        """Return an array of one trial for a leaf of a state; the core is None where only arrays of trials meet."""

    def part(self, name: str, function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        """Return what a part of a loop makes of its arguments."""


class Plainly:
    """Masks and parts inside a kernel: a mask is ignored, a part is called as plain Python."""

    def masked(self, test: Any) -> contextlib.AbstractContextManager[None]:
        """Compute for all trials."""
        return contextlib.nullcontext()

    def symbols(self, x: Any, core: Core | None) -> Any:
        """Return the leaf: there are no arrays of trials."""
        return x

    def part(self, name: str, function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        """Call the part."""
        return function(*args)


class _Inlined(Plainly):
    """Calls inside another kernel: the called kernel's operations become operations of the caller."""

    def call(self, kernel: Kernel, args: tuple[Any, ...]) -> Any:
        return kernel.one(args)

    def repeat(self, kernel: Kernel, n: Any, args: tuple[Any, ...]) -> Any:
        numbers = [x for array in (*args, n) for x in np.ravel(np.asarray(array, object))]
        if any(isinstance(x, Scalar) and not isinstance(x, Real) for x in numbers):
            raise TypeError(f"{kernel.__name__}.repeat: a kernel has loops of fixed length only: write a for loop")
        *numbers, count = (x if isinstance(x, Real) else Real(x) for x in numbers)  # the JIT is off
        flat = map(Real, kernel._steps(count.value, numbers))
        results = tuple(core_array(flat, core) for core in kernel.layout.outs)
        return results if len(results) > 1 else results[0]


INLINED = _Inlined()
inside: contextvars.ContextVar[Inside | None] = contextvars.ContextVar("inside a kernel or a program", default=None)


def recording() -> bool:
    """Tell whether a program is being recorded (`gnc.batch.program`): states are symbols that no `if` may ask."""
    return inside.get() is not None


def python_part(name: str, function: Callable[..., Any], *args: Any) -> Any:
    """Return function(*args), of a part that may be a user's plain NumPy.

    If the part cannot be recorded, the program is split: what goes in comes out of its first half, Python calls the
    part, and the second half goes on with what the part returns. `name` tells which part that was.
    """
    within = inside.get()
    return function(*args) if within is None else within.part(name, function, args)


def batched(layout: str) -> Callable[[Callable[..., Any]], Kernel]:
    """Lift a one-trial function to stacks of trials.

    The layout gives the shapes of one trial, `"(4),(3),(3,3),()->(4),(3)"`. The function receives NumPy object arrays
    (numbers for `()`) and computes in NumPy notation; `where` replaces `if` on a trial's data. It is traced once.
    """

    def lift(function: Callable[..., Any]) -> Kernel:
        names = function.__code__.co_varnames[: function.__code__.co_argcount]
        return Kernel(function, Layout.parse(layout, names))

    return lift


class Kernel:
    """A one-trial function that, called from Python, broadcasts over leading axes.

    Called inside another kernel it is the plain one-trial function. A trial has the same bits alone, in any batch, in
    `repeat`, and with the JIT off (NUMBA_DISABLE_JIT=1).
    """

    __name__: str
    __qualname__: str
    FEW: ClassVar[int] = 1500  # trials that are computed one by one before a gufunc is compiled

    def __init__(self, function: Callable[..., Any], layout: Layout):
        """Wrap a function; nothing is traced or compiled before the first call."""
        functools.update_wrapper(self, function)
        self.function, self.layout = function, layout
        self.repeatable = layout.ins[: len(layout.outs)] == layout.outs
        self._alone: Callable[..., Any] = functools.partial(self._begin_alone, False)
        self._alone_repeated: Callable[..., Any] = functools.partial(self._begin_alone, True)
        self._gufunc: Callable[..., Any] = self._begin_gufunc
        self._flown = 0  # trials, one by one

    def __call__(self, *args: Any, out: Any = None) -> Any:
        """Compute all trials; `out` takes an array (or a tuple of arrays) to write into."""
        if (within := inside.get()) is not None:
            if out is not None:
                raise TypeError(f"{self.__name__}: out: in a kernel or a program there is no array to write into")
            return within.call(self, args)
        if JIT_OFF:
            return _into(out, self._interpret(np.ones(()), args))
        if out is None and (results := self._alone(*args)) is not None:
            return results
        try:
            return self._gufunc(*args) if out is None else self._gufunc(*args, out=out)
        except (ValueError, TypeError):
            self.leading(args)
            raise

    def repeat(self, n: Any, *args: Any) -> Any:
        """Compute n steps in one go, each feeding its results to the first arguments of the next.

        n is a whole number, or an array of them with the trials' leading axes; a trial whose n is NaN or negative is
        lost, so that a kernel may compute the counts.
        """
        if not self.repeatable:
            raise TypeError(f"{self.__name__}.repeat: the results do not have the shapes of the first arguments")
        if isinstance(n, int) and n < 0:
            raise ValueError(f"{self.__name__}.repeat: n: expected a whole number >= 0, got {n}")
        if (within := inside.get()) is not None:
            return within.repeat(self, n, args)
        counts = n if type(n) is np.float64 else np.asarray(n, dtype=float)
        if JIT_OFF:
            return self._interpret(np.asarray(counts), args)
        if (results := self._alone_repeated(*args, counts)) is not None:
            return results
        try:
            return self._repeating_gufunc(*args, counts)
        except (ValueError, TypeError):
            self.leading(args)
            raise

    def __repr__(self) -> str:
        return f"<kernel {self.__name__} {self.layout.signature()}>"

    def __reduce__(self) -> str:
        """Pickle by name, as functions do, so that worker processes can take kernels."""
        return self.__qualname__

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """Bind like a function where a kernel is written as a method."""
        return self if instance is None else functools.partial(self, instance)

    @functools.cached_property
    def tape(self) -> tuple[Tape, list[int]]:
        """The recorded program and the entries that are its results."""
        tape = Tape()
        results = self._run([tape.input() for _ in range(self.layout.inputs)])
        return tape, [tape.index(x) for x in results]

    def _begin_gufunc(self, *args: Any, **out: Any) -> Any:
        """Compute trials one by one while there are few, and compile the gufunc when there are more.

        That takes three times as long as to compile the function of one trial, and a short flight needs no more. A
        gufunc that was compiled before is used at once.
        """
        from gnc.batch.compiled import gufunc  # the compiler is loaded when something is compiled

        first, self._flown = not self._flown, self._flown + math.prod(self.leading(args))
        few = not out and self._flown <= self.FEW
        function = gufunc(self, repeating=False, known=few) if first or not few else None
        if function is None and (results := self._one_by_one(args)) is not None:
            return results
        self._gufunc = function or gufunc(self, repeating=False)
        return self._gufunc(*args, **out)

    def _one_by_one(self, args: tuple[Any, ...]) -> Any:
        """Compute all trials by the function of one; None where it is not supported."""

        def one(trial: tuple[int, ...], ins: list[np.ndarray]) -> Any:
            results = self._alone(*(a[trial] for a in ins))
            return results if results is None or len(self.layout.outs) > 1 else (results,)

        return self._each(self.leading(args), args, one)

    def _each(self, lead: tuple[int, ...], args: tuple[Any, ...], one: Callable[..., Any]) -> Any:
        """Return what a gufunc would: the results that `one` gives of each trial; None as soon as it gives None."""
        cores = zip(args, self.layout.ins, strict=True)
        ins = [np.array(np.broadcast_to(np.asarray(a, float), lead + core), order="C") for a, core in cores]
        outs = [np.empty(lead + core) for core in self.layout.outs]
        for trial in np.ndindex(lead):
            if (results := one(trial, ins)) is None:
                return None
            for y, result in zip(outs, results, strict=True):
                y[trial] = result
        together = tuple(y if y.ndim else y[()] for y in outs)
        return together if len(together) > 1 else together[0]

    @functools.cached_property
    def _repeating_gufunc(self) -> Callable[..., Any]:
        from gnc.batch.compiled import gufunc

        return gufunc(self, repeating=True)

    def _begin_alone(self, repeating: bool, *args: Any) -> Any:
        """Compile the function of one trial when there is one trial for the first time; None for several."""
        cores = (*self.layout.ins, ()) if repeating else self.layout.ins
        if len(args) != len(cores) or not all(map(_of_one_trial, args, cores)):
            return None
        from gnc.batch.compiled import function_of_one

        function = function_of_one(self, repeating) or (lambda *args: None)
        if repeating:
            self._alone_repeated = function
        else:
            self._alone = function
        return function(*args)

    def _run(self, numbers: list[Operand], within: Inside = INLINED) -> list[Operand]:
        """Run the function on the numbers of one trial, given and returned flat."""
        flat = iter(numbers)
        args = [core_array(flat, core) for core in self.layout.ins]
        token = inside.set(within)
        try:
            results = self.one(args)
        finally:
            inside.reset(token)
        results = results if len(self.layout.outs) > 1 else (results,)
        return [x for result in results for x in np.ravel(result)]

    def one(self, args: Any) -> Any:
        """Compute one trial inside a kernel, arguments and results checked."""
        if len(args) != len(self.layout.ins):
            raise TypeError(f"{self.__name__}: expected {len(self.layout.ins)} arguments, got {len(args)}")
        cores = zip(args, self.layout.ins, self.layout.names, strict=True)
        results = self.function(*[_shaped(x, core, f"{self.__name__}: {name}") for x, core, name in cores])
        outs = self.layout.outs
        if len(outs) == 1:
            return _shaped(results, outs[0], f"{self.__name__}: result")
        if not isinstance(results, (tuple, list)) or len(results) != len(outs):
            raise TypeError(f"{self.__name__}: the layout promises {len(outs)} results")
        return tuple(
            _shaped(y, core, f"{self.__name__}: result {i}")
            for i, (y, core) in enumerate(zip(results, outs, strict=True))
        )

    def _interpret(self, counts: np.ndarray, args: tuple[Any, ...]) -> Any:
        """Compute trial by trial in Python."""
        lead = np.broadcast_shapes(self.leading(args), counts.shape)
        counts = np.broadcast_to(counts, lead)

        def one(trial: tuple[int, ...], ins: list[np.ndarray]) -> list[np.ndarray]:
            numbers = [Real(x) for a in ins for x in np.ravel(a[trial])]
            with np.errstate(all="ignore"):  # a lost trial is NaN, not a warning
                values = self._steps(float(counts[trial]), numbers)
            return [np.reshape([next(values) for _ in range(math.prod(core))], core) for core in self.layout.outs]

        return self._each(lead, args, one)

    def _steps(self, count: float, numbers: list[Operand]) -> Iterator[float]:
        if not 0.0 <= count <= MOST_STEPS:
            return itertools.repeat(math.nan, self.layout.outputs)
        n = math.ceil(count)
        for _ in range(n):
            results = self._run(numbers)
            if n > 1:
                numbers[: len(results)] = results
        results = results if n else numbers[: self.layout.outputs]
        return (x.value if isinstance(x, Real) else float(x) for x in results)

    def leading(self, args: Sequence[Any]) -> tuple[int, ...]:
        """Return the common leading axes of the arguments, or raise the clear message for what is wrong with them."""
        try:
            return self.layout.leading(args)
        except (ValueError, TypeError) as error:
            raise type(error)(f"{self.__name__}: {error}") from None


def core_array(flat: Iterator[Operand], core: Core) -> Any:
    """Take an array of one trial, or a number, from a flat sequence."""
    if not core:
        return next(flat)
    array = np.empty(core, dtype=object)
    for i in np.ndindex(core):
        array[i] = next(flat)
    return array


def _shaped(x: Any, core: Core, what: str) -> Any:
    """Return x as an object array of its core shape, or as a number."""
    if not core:
        if isinstance(x, np.ndarray) and x.shape == ():
            x = x[()]
        if not isinstance(x, (Scalar, float, int, np.number)) or isinstance(x, bool):
            raise TypeError(f"{what}: expected a number, got {type(x).__name__}")
        if isinstance(x, Scalar) and x.is_test:
            raise TypeError(f"{what}: expected a number, got a comparison: use where")
        return x
    array = np.asarray(x, dtype=object)
    if array.shape != core:
        raise ValueError(f"{what}: expected {core}, got {array.shape}")
    return array


def _of_one_trial(x: Any, core: Core) -> bool:
    """Tell whether an argument has no leading axes, or just one of length 1."""
    shape = np.shape(x)
    return len(shape) == len(core) or (len(shape) == len(core) + 1 and shape[0] == 1)


def _into(out: Any, results: Any) -> Any:
    """Write results into the arrays a caller gave."""
    if out is None:
        return results
    outs = out if isinstance(out, tuple) else (out,)
    for target, result in zip(outs, results if isinstance(results, tuple) else (results,), strict=True):
        target[...] = result
    return out if len(outs) > 1 else outs[0]
