"""Compiling a kernel's loop with LLVM, keeping the object code on disk, and handing it to NumPy as a gufunc."""

from __future__ import annotations

import ctypes
import functools
import hashlib
import itertools
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import llvmlite
import llvmlite.binding as llvm
import numpy as np

from gnc.batch import cache, one_trial, traces
from gnc.batch.gufunc_loop import loop_module
from gnc.batch.numpy_ufunc import as_gufunc
from gnc.batch.program_loop import loop_of_programs, program_module
from gnc.batch.tape import Call, Tape
from gnc.batch.tile import callee_module
from gnc.patience import telling

if TYPE_CHECKING:
    from gnc.batch.kernel import Kernel

Source = Callable[[Tape, list[int]], str]  # that writes LLVM text

LONG = 5000  # operations
VERY_LONG = 10_000  # lines of text
ORDER = "-pre-RA-sched=source"  # of instructions

_lock = threading.RLock()
_names = (f"kernel{i}" for i in itertools.count())
_alive: list[Any] = []  # libraries in use


def gufunc(kernel: Kernel, repeating: bool, known: bool = False) -> Any:
    """Return the NumPy gufunc of a kernel, from the disk cache if it has been compiled before; else None if `known`."""
    use = f"gufunc {repeating}"
    if known and _kept_code(kernel, use)[1] is None:
        return None
    with _lock:

        def source(tape: Tape, results: list[int]) -> str:
            vectors = _vectors(tape)
            return loop_module(kernel.layout, tape, results, vectors * lanes(), repeating, vectors)

        return as_gufunc(kernel, _linked(kernel, use, source, lanes(), looping=True), repeating)


def function_of_one(kernel: Kernel, repeating: bool) -> Any:
    """Return the Python function of one trial, see `one_trial`; None where it is not supported."""
    if not one_trial.supported():
        return None
    with _lock:

        def source(tape: Tape, results: list[int]) -> str:
            return one_trial.function_module(kernel.layout, tape, results, repeating)

        code = _kernel_code(kernel, f"one {repeating}", source)
        return one_trial.as_function(kernel, _link(code, one_trial.symbols()))


@functools.cache
def tile_address(call: Call, width: int, asked: frozenset[int]) -> int:
    """Return the address of the function of one tile of a kernel, for programs that use the asked results."""
    kernel = call.kernel
    every = len(asked) == kernel.layout.outputs
    with _lock:

        def source(tape: Tape, results: list[int]) -> str:
            wanted = tape.wanted(results, asked, call.repeating)
            return callee_module(kernel.layout, tape, wanted, width, call.repeating)

        return _linked(kernel, f"tile {width} {call.repeating} {'' if every else sorted(asked)}", source, width)


def _linked(kernel: Kernel, use: str, source: Source, width: int, looping: bool = False) -> int:
    """Return the address of a kernel's code; one that calls others has no name, and has been traced."""
    code = _kernel_code(kernel, use, source, looping)
    return _link(code, _symbols(*kernel.tape, width) if "tape" in vars(kernel) else _system())


def _kernel_code(kernel: Kernel, use: str, source: Callable[[Tape, list[int]], str], looping: bool = False) -> bytes:
    """Return the object code of a use of a kernel: known by its name, so that nothing is traced, or by its text."""
    name, code = _kept_code(kernel, use)
    if code is None:
        text = source(*kernel.tape)
        code = _object_code(text, looping)
        if name:
            cache.save(name, _key(text).encode())
    return code


def _kept_code(kernel: Kernel, use: str) -> tuple[str | None, bytes | None]:
    """Return the name of a use of a kernel, if it has one, and the object code that was kept under it."""
    name = traces.name_of(kernel, "\n".join([use, llvmlite.__version__, _target()]))
    key = cache.load(name) if name else None
    return name, cache.load(key.decode()) if key else None


def program_tile(tape: Tape, results: list[int], state: int, width: int) -> int:
    """Return the address of the tile of a program, see `program_loop`."""
    with _lock:
        return _program_tile(program_module(tape, results, state, width), tuple(_symbols(tape, results, width).items()))


@functools.cache  # loops of the same parts are built again and again, and linked code stays for ever
def _program_tile(source: str, symbols: tuple[tuple[str, int], ...]) -> int:
    return _link(_object_code(source), dict(symbols))


@functools.cache
def program_loop(width: int) -> Any:
    """Return the function (table, trials, steps) that runs programs; other threads may run meanwhile."""
    prototype = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
    return prototype(_program_loop(width))


@functools.cache
def _program_loop(width: int) -> int:
    with _lock:
        return _link(_object_code(loop_of_programs(width), looping=True), _system())


def stepper(table: np.ndarray, trials: int) -> Callable[[], None]:
    """Return the function that takes one step of a program; for one trial it costs a tenth of a call by ctypes."""
    if trials > 1 or not one_trial.supported():
        return functools.partial(program_loop(1 if trials == 1 else lanes()), table.ctypes.data, trials, 1)
    return one_trial.as_stepper(table, _stepper())


@functools.cache
def _stepper() -> int:
    with _lock:
        return _link(_object_code(one_trial.STEPPER), {**one_trial.symbols(), "run": _program_loop(1)})


def _symbols(tape: Tape, results: list[int], width: int) -> dict[str, int]:
    """Return the addresses that a tape's code refers to."""
    calls = zip(tape.calls, tape.asked(results), strict=True)
    found = (tile_address(call._replace(masked=False), width, asked) for call, asked in calls)
    return {**_system(), **{f"call{i}": address for i, address in enumerate(found)}}


def lanes() -> int:
    """Return how many trials fit into a vector of this machine."""
    return 8 if "+avx512f" in _features() else 4


def _object_code(source: str, looping: bool = False) -> bytes:
    """Return the object code of a module, with loops or straight, from the disk cache if it was compiled before."""
    key = _key(source)
    code = cache.load(key)
    if code is None:
        with telling():
            code = _compile(source, _machine(), looping)
        cache.save(key, code)
    return code


def _key(source: str) -> str:
    return hashlib.sha256("\n".join([llvmlite.__version__, _target(), source]).encode()).hexdigest()


@functools.cache
def _machine() -> llvm.TargetMachine:
    # LLVM orders instructions twice. The first time can, by default, take most of the time to compile a long kernel. In
    # the order of the source, numbers that do not wait for each other stay side by side, as the core needs them.
    llvm.set_option("gnc", ORDER)
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_triple(llvm.get_process_triple())
    return target.create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=_features(), opt=2, reloc="pic", codemodel="jitdefault", jit=True
    )


@functools.cache
def _features() -> str:
    return llvm.get_host_cpu_features().flatten()


@functools.cache
def _target() -> str:
    return " ".join([llvm.get_process_triple(), llvm.get_host_cpu_name(), _features(), ORDER])


def _vectors(tape: Tape) -> int:
    """Return how many vectors of trials take turns (`vector_code`): a matter of speed only.

    Two where operations mostly wait for each other; where seven or more find work at a time, one fills the core. Two
    also take twice as long to compile, so that very long kernels have one.
    """
    operations = len(tape.entries)
    return 2 if operations < min(LONG, 7 * tape.chain()) and not tape.calls else 1


def _compile(source: str, machine: llvm.TargetMachine, looping: bool) -> bytes:
    """Return the object code of a module.

    LLVM's passes over its text find nothing in straight-line code, which a tape has left without repeated or unused
    operations, and took two fifths of the time; what is inside a loop and does not change, they move out. Very long
    code can take 13 times as long without them (an update of 35 states by 9 measurements: 94 s).
    """
    module = llvm.parse_assembly(source)
    module.verify()
    if looping or source.count("\n") > VERY_LONG:
        builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=2))
        builder.getModulePassManager().run(module, builder)
    return machine.emit_object(module)


@functools.cache
def _jit() -> Any:
    return llvm.create_lljit_compiler(_machine())


def _link(code: bytes, symbols: dict[str, int]) -> int:
    """Load object code into the process and return the address of its loop."""
    builder = llvm.JITLibraryBuilder().add_object_img(code).export_symbol("loop")
    for name, address in symbols.items():
        builder.import_symbol(name, address)
    library = builder.link(_jit(), next(_names))
    _alive.append(library)
    return library["loop"]


@functools.cache
def _system() -> dict[str, int]:
    """Return the addresses of what loops need of the system."""
    library = ctypes.CDLL(None)
    names = ("feclearexcept", "aligned_alloc", "free")
    return {name: ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0 for name in names}
