"""A kernel of one trial as a C function of Python: no broadcasting, hence a fifth of what a gufunc call costs.

The function takes arrays of doubles in exactly the shapes of one trial, or floats and tests for `()`, copies them into
a buffer, runs the tape on it and returns new arrays. Any argument may have a leading axis of length 1, a batch of one
trial; the results then have it too. Whatever it does not take (more trials, other types, gaps in memory) it answers
with None, and the gufunc computes that. Bits are those of the gufunc: the arithmetic is the same tape.

It reads the fields of Python's and NumPy's objects where their public headers have them. `supported` looks whether the
objects of this process are laid out so; where they are not, the gufunc computes everything.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import math
import sys
import sysconfig
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from gnc.batch.layout import Core, Layout, starts
from gnc.batch.llvm_writer import Writer
from gnc.batch.numpy_ufunc import NPY_DOUBLE
from gnc.batch.tape import Tape
from gnc.batch.tile import compute, declarations
from gnc.batch.vector_code import tile_function

if TYPE_CHECKING:
    from gnc.batch.kernel import Kernel

# Places in NumPy's table of its C interface (__multiarray_api.h), and of fields in its objects [bytes].
ARRAY_API = {"PyArray_Type": 2, "PyDoubleArrType_Type": 31, "PyArray_Scalar": 60, "PyArray_New": 93}
TYPE, VALUE, DATA, AXES, DIMENSIONS, DESCRIPTION, FLAGS = 8, 16, 16, 24, 32, 56, 64
PLAIN = 0x0001 | 0x0100  # C-contiguous, aligned
METH_FASTCALL, METH_NOARGS = 0x0080, 0x0004
NUMPY_ABI = 0x02000000  # in which functions have these places in the table

_alive: list[Any] = []  # what Python points to


@functools.cache
def supported() -> bool:
    """Tell whether objects have the fields where this module looks for them: in this process, on samples."""
    usual = not sysconfig.get_config_var("Py_GIL_DISABLED") and not sysconfig.get_config_var("Py_TRACE_REFS")
    usual = usual and sys.implementation.name == "cpython" and sys.byteorder == "little"
    if not usual or ctypes.sizeof(ctypes.c_void_p) != 8 or object.__basicsize__ != 16:
        return False
    try:
        return _scalars_are_usual() and _arrays_are_usual() and _table_is_usual()
    except (ImportError, AttributeError, ValueError):  # of NumPy's private names
        return False


def _word(item: Any, offset: int) -> int:
    """The 8 bytes at a place in an object."""
    return ctypes.c_uint64.from_address(id(item) + offset).value


def _scalars_are_usual() -> bool:
    for sample in (1.5, np.float64(2.5)):
        if type(sample).__basicsize__ < VALUE + 8 or _word(sample, TYPE) != id(type(sample)):
            return False
        if ctypes.c_double.from_address(id(sample) + VALUE).value != sample:
            return False
    return True


def _arrays_are_usual() -> bool:
    sample = np.arange(6.0).reshape(2, 3)
    if np.ndarray.__basicsize__ < FLAGS + 4 or _word(sample, TYPE) != id(np.ndarray):
        return False
    if _word(sample, DATA) != sample.ctypes.data or _word(sample, DESCRIPTION) != id(np.dtype(np.float64)):
        return False
    axes, flags = (ctypes.c_int32.from_address(id(sample) + place).value for place in (AXES, FLAGS))
    sizes, steps = _word(sample, DIMENSIONS), _word(sample, DIMENSIONS + 8)
    if (axes, flags & PLAIN) != (2, PLAIN) or steps - sizes != 16:  # NumPy keeps shape and strides together
        return False
    gaps = np.arange(6.0)[::2]
    return list((ctypes.c_int64 * 2).from_address(sizes)) == [2, 3] and (
        ctypes.c_int32.from_address(id(gaps) + FLAGS).value & PLAIN != PLAIN
    )


def _table_is_usual() -> bool:
    """Tell whether NumPy's table has its types where they are sought, and the version whose functions are called."""
    found, numpy = symbols(), importlib.import_module("numpy._core._multiarray_umath")
    types = found["PyArray_Type"] == id(np.ndarray) and found["PyDoubleArrType_Type"] == id(np.float64)
    return types and numpy._get_ndarray_c_version() == NUMPY_ABI


@functools.cache
def symbols() -> dict[str, int]:
    """Return the addresses that the code refers to."""
    module = importlib.import_module("numpy._core._multiarray_umath")
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = ctypes.cast(pointer(module._ARRAY_API, None), ctypes.POINTER(ctypes.c_void_p))
    found = {name: int(table[place] or 0) for name, place in ARRAY_API.items()}
    for name in ("PyTuple_New", "PyTuple_SetItem", "Py_IncRef"):
        found[name] = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0
    found |= {"yes": id(np.True_), "no": id(np.False_), "none": id(None), "PyFloat_Type": id(float)}
    return found | {"description": id(np.dtype(np.float64))}


class _Definition(ctypes.Structure):
    _fields_ = (("n", ctypes.c_void_p), ("f", ctypes.c_void_p), ("flags", ctypes.c_int), ("d", ctypes.c_void_p))


@functools.cache  # Python keeps pointers to definitions, so these must live on
def _definition(name: bytes, address: int, flags: int) -> _Definition:
    _alive.append(letters := ctypes.create_string_buffer(name))
    return _Definition(ctypes.addressof(letters), address, flags, None)


def _as_function(name: str, address: int, flags: int, of: Any = None) -> Any:
    """Make a Python function of compiled code, which gets an object as its self."""
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    return new(ctypes.addressof(_definition(name.encode(), address, flags)), of, None)


def as_function(kernel: Kernel, address: int) -> Any:
    """Make a Python function of the code of `function_module`."""
    return _as_function(kernel.__name__, address, METH_FASTCALL)


def as_stepper(table: np.ndarray, address: int) -> Any:
    """Make a Python function without arguments of the code of `STEPPER`."""
    return _as_function("step", address, METH_NOARGS, table)


# Takes one step of a program (`program_loop`) of one trial; its self is the table, an array.
STEPPER = f"""
@none = external global i8
declare void @run(ptr, i64, i64)
declare void @Py_IncRef(ptr)
define ptr @loop(ptr %self, ptr %nothing) {{
  %place = getelementptr i8, ptr %self, i64 {DATA}
  %table = load ptr, ptr %place
  call void @run(ptr %table, i64 1, i64 1)
  call void @Py_IncRef(ptr @none)
  ret ptr @none
}}
"""


def function_module(layout: Layout, tape: Tape, results: list[int], repeating: bool) -> str:
    """Write the LLVM module with the function `@loop(self, args, nargs)` of a kernel."""
    lines = [*tile_function(layout, tape, results, 1, repeating), *_function(layout, repeating), *declarations(1)]
    return "\n".join([*lines, *_DECLARATIONS])


_DECLARATIONS = [f"@{name} = external global i8" for name in ("PyArray_Type", "PyDoubleArrType_Type", "PyFloat_Type")]
_DECLARATIONS += [f"@{name} = external global i8" for name in ("none", "yes", "no", "description")]
_DECLARATIONS += [
    "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)",
    "declare ptr @PyArray_Scalar(ptr, ptr, ptr)",
    "declare ptr @PyArray_New(ptr, i32, ptr, i32, ptr, ptr, i32, i32, ptr)",
    "declare ptr @PyTuple_New(i64)",
    "declare i32 @PyTuple_SetItem(ptr, i64, ptr)",
    "declare void @Py_IncRef(ptr)",
]


class _Lines(Writer):
    """Lines of a function that leaves where something is not as expected."""

    def begin(self, block: str) -> None:
        self.body.append(f"{block}:")

    def at(self, memory: str, offset: int) -> str:
        return self.let(f"getelementptr i8, ptr {memory}, i64 {offset}")

    def read(self, kind: str, memory: str, offset: int) -> str:
        return self.let(f"load {kind}, ptr {self.at(memory, offset)}")

    def demand(self, test: str, block: str) -> None:
        """Go on in a new block if a test holds, and answer None if not."""
        self.do(f"br i1 {test}, label %{block}, label %refused")
        self.begin(block)


def _function(layout: Layout, repeating: bool) -> Iterator[str]:
    """Write the function: check and copy the arguments, compute, return new objects."""
    w, ins = _Lines(), (*layout.ins, ()) if repeating else layout.ins
    slots = layout.inputs + layout.outputs + 1
    w.do(f"%buffer = alloca [{slots} x double], align 64")
    w.do("%lead = alloca i64")
    w.do("store i64 0, ptr %lead")
    w.demand(w.let(f"icmp eq i64 %nargs, {len(ins)}"), "counted")
    place = 0
    for i, core in enumerate(ins):
        _take(w, w.read("ptr", "%args", 8 * i), core, w.at("%buffer", 8 * place), f"in{i}")
        place += math.prod(core)
    ends = starts(layout.ins) if repeating else [*starts(layout.ins), *starts(layout.outs, layout.inputs)]
    given = [w.at("%buffer", 8 * end) for end in ends]
    compute(w, layout, 1, given, w.at("%buffer", 8 * layout.inputs) if repeating else None)
    _give(w, layout, 0 if repeating else layout.inputs)
    w.begin("refused")
    w.do("call void @Py_IncRef(ptr @none)")
    w.do("ret ptr @none")
    w.begin("failed")
    w.do("ret ptr null")
    yield "define ptr @loop(ptr %self, ptr %args, i64 %nargs) {"
    yield from (*w.head, *w.body, "}")


def _take(w: _Lines, item: str, core: Core, target: str, label: str) -> None:
    """Copy one argument into the buffer, if it is what is expected."""
    kind = w.read("ptr", item, TYPE)
    if not core:  # a Python float or a NumPy one, which keep their value in the same place
        native = w.let(f"icmp eq ptr {kind}, @PyFloat_Type")
        scalar = w.let(f"or i1 {native}, {w.let(f'icmp eq ptr {kind}, @PyDoubleArrType_Type')}")
        w.do(f"br i1 {scalar}, label %{label}.scalar, label %{label}.other")
        w.begin(f"{label}.scalar")
        w.do(f"store double {w.read('double', item, VALUE)}, ptr {target}")
        w.do(f"br label %{label}.done")
        w.begin(f"{label}.other")  # NumPy has one object for every test that holds, and one for those that do not
        holds = w.let(f"icmp eq ptr {item}, @yes")
        test = w.let(f"or i1 {holds}, {w.let(f'icmp eq ptr {item}, @no')}")
        w.do(f"br i1 {test}, label %{label}.test, label %{label}.array")
        w.begin(f"{label}.test")
        w.do(f"store double {w.let(f'uitofp i1 {holds} to double')}, ptr {target}")
        w.do(f"br label %{label}.done")
        w.begin(f"{label}.array")
    w.demand(w.let(f"icmp eq ptr {kind}, @PyArray_Type"), f"{label}.typed")
    w.demand(_plain(w, item), f"{label}.plain")
    dimensions = w.read("ptr", item, DIMENSIONS)
    extra = w.let(f"sub i32 {w.read('i32', item, AXES)}, {len(core)}")
    w.do(f"switch i32 {extra}, label %refused [i32 0, label %{label}.sized i32 1, label %{label}.led]")
    w.begin(f"{label}.led")
    w.demand(w.let(f"icmp eq i64 {w.read('i64', dimensions, 0)}, 1"), f"{label}.one")
    w.do("store i64 1, ptr %lead")
    w.do(f"br label %{label}.sized")
    w.begin(f"{label}.sized")
    own = w.let(f"getelementptr i64, ptr {dimensions}, i32 {extra}")
    for axis, size in enumerate(core):
        w.demand(w.let(f"icmp eq i64 {w.read('i64', own, 8 * axis)}, {size}"), f"{label}.axis{axis}")
    _copy(w, target, w.read("ptr", item, DATA), math.prod(core))
    w.do(f"br label %{label}.done")
    w.begin(f"{label}.done")


def _plain(w: _Lines, item: str) -> str:
    """Test the type of the numbers and that there are no gaps between them."""
    doubles = w.let(f"icmp eq ptr {w.read('ptr', item, DESCRIPTION)}, @description")
    flags = w.let(f"and i32 {w.read('i32', item, FLAGS)}, {PLAIN}")
    dense = w.let(f"icmp eq i32 {flags}, {PLAIN}")
    return w.let(f"and i1 {doubles}, {dense}")


def _copy(w: _Lines, target: str, source: str, numbers: int) -> None:
    w.do(f"call void @llvm.memcpy.p0.p0.i64(ptr {target}, ptr {source}, i64 {8 * numbers}, i1 false)")


def _give(w: _Lines, layout: Layout, first: int) -> None:
    """Return the results as new objects, several in a tuple."""
    several, place = len(layout.outs) > 1, first
    w.do("%led = load i64, ptr %lead")
    together = w.let(f"call ptr @PyTuple_New(i64 {len(layout.outs)})") if several else ""
    for i, core in enumerate(layout.outs):
        source = w.at("%buffer", 8 * place)
        place += math.prod(core)
        made = _new_array(w, core, source, i) if core else _new_number(w, source, i)
        if several:
            w.do(f"call i32 @PyTuple_SetItem(ptr {together}, i64 {i}, ptr {made})")
    w.do(f"ret ptr {together or made}")


def _new_number(w: _Lines, source: str, i: int) -> str:
    """Return a NumPy float, or an array of one if there is a leading axis."""
    w.do(f"%test{i} = icmp eq i64 %led, 0")
    w.do(f"br i1 %test{i}, label %bare{i}, label %kept{i}")
    w.begin(f"bare{i}")
    bare = w.let(f"call ptr @PyArray_Scalar(ptr {source}, ptr @description, ptr null)")
    _made(w, bare, f"bare{i}")
    w.do(f"br label %number{i}")
    w.begin(f"kept{i}")
    kept = _new_array(w, (), source, i)
    w.do(f"br label %number{i}")
    w.begin(f"number{i}")
    return w.let(f"phi ptr [{bare}, %made.bare{i}], [{kept}, %made.{i}]")


def _new_array(w: _Lines, core: Core, source: str, i: int) -> str:
    """Return a new array of the shape (1, *core), or (*core,) if there is no leading axis."""
    shape = w.let(f"alloca [{1 + len(core)} x i64]")
    for axis, size in enumerate((1, *core)):
        w.do(f"store i64 {size}, ptr {w.at(shape, 8 * axis)}")
    start = w.let(f"getelementptr i64, ptr {shape}, i64 {w.let('sub i64 1, %led')}")
    axes = w.let(f"add i32 {w.let('trunc i64 %led to i32')}, {len(core)}")
    given, defaults = f"i32 {axes}, ptr {start}, i32 {NPY_DOUBLE}", "ptr null, ptr null, i32 0, i32 0, ptr null"
    made = w.let(f"call ptr @PyArray_New(ptr @PyArray_Type, {given}, {defaults})")
    _made(w, made, str(i))
    _copy(w, w.read("ptr", made, DATA), source, math.prod(core))
    return made


def _made(w: _Lines, item: str, label: str) -> None:
    """Leave with Python's error where there was no memory for a result."""
    w.do(f"br i1 {w.let(f'icmp eq ptr {item}, null')}, label %failed, label %made.{label}")
    w.begin(f"made.{label}")
