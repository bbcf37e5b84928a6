"""`gnc export`: flight code in C, with the bits of Python."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gnc.errors import InputError

if TYPE_CHECKING:
    from gnc.batch import Kernel


def export(
    what: Annotated[str, typer.Argument(metavar="MISSION|kernel", help="A mission, or the word kernel.")],
    kernel: Annotated[
        str | None, typer.Argument(metavar="MODULE:NAME", help="A kernel, such as gnc.quaternion:mul.")
    ] = None,
    settings: Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a field.")] = None,
    craft: Annotated[str | None, typer.Option(help="The craft; needed if several have flight software.")] = None,
    out: Annotated[Path, typer.Option("--out", help="Folder to write into.")] = Path("flight_code"),
    name: Annotated[str, typer.Option("--name", help="Name of the C function of a kernel.")] = "",
    single: Annotated[bool, typer.Option("--single", help="Single precision: other bits.")] = False,
    most_repeats: Annotated[
        int, typer.Option(min=1, help="Steps of any repeated kernel; beyond it is NaN.")
    ] = 1_000_000,
    surroundings: Annotated[str, typer.Option(help="Field, Sun and orbit: inputs, or table.")] = "inputs",
    sizes: Annotated[bool, typer.Option("--sizes/--no-sizes", help="Measure code and stack by compilers here.")] = True,
    compare: Annotated[
        int, typer.Option(min=0, metavar="TRIALS", help="Fly trials with it and in double precision: differences.")
    ] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Machine-readable result on standard output.")] = False,
) -> None:
    """Write flight software of a mission, or a kernel, as C99, with test vectors, a test program and its Makefile."""
    if what == "kernel":
        if compare:
            raise InputError("--compare: takes a mission")
        summary = _export_kernel(kernel or "", name, out)
    else:
        from gnc.scenarios.missions import flight_code
        from gnc.scenarios.missions.load import read

        if kernel is not None:
            raise InputError(f"{kernel}: unexpected; give a mission alone, or kernel MODULE:NAME")
        if surroundings not in ("inputs", "table"):
            raise InputError(f"--surroundings {surroundings}: give inputs or table")
        options = {"single": single, "most_repeats": most_repeats}
        mission = read(what, settings or ())
        if compare and len(mission.software) != 1:
            raise InputError("--compare: flies missions in which one craft has flight software")
        files = flight_code.export(mission, craft, out, surroundings == "table", sizes, **options)
        summary = {"mission": mission.name, "files": [str(file) for file in files]}
        if compare:
            from gnc.scenarios.covariance.arithmetic import compared

            summary |= compared(mission, out, compare, mission.run.seed)
    _tell(summary, as_json)


def _tell(summary: dict[str, Any], as_json: bool) -> None:
    from gnc.scenarios import display

    if as_json:
        display.tell(summary)
        return
    print("\n".join(summary["files"]))
    if "differences" in summary:
        rows = [[f"{x:.6g}" if isinstance(x, float) else x for x in one.values()] for one in summary["differences"]]
        header = ("signal", "unit", "RMS in double", "RMS of difference", "largest", "RMS by covariance")
        lost = ", ".join(f"{len(trials)} lost in {name}" for name, trials in summary["lost"].items())
        display.table(f"what this arithmetic changes, {summary['trials']} trials, {lost}", header, rows)


def _export_kernel(what: str, name: str, out: Path) -> dict[str, Any]:
    """Write a kernel: header, source, test vectors, a test program and its Makefile (`make test`)."""
    from gnc.export import export_kernel

    kernel = _kernel(what)
    name = name or "".join(c if c.isalnum() else "_" for c in kernel.__name__).strip("_")
    if not name.isidentifier():
        raise InputError(f"--name: {name!r} is no name of a C function")
    return {"kernel": what, "function": name, "files": [str(file) for file in export_kernel(kernel, name, out)]}


def _kernel(what: str) -> Kernel:
    """Find a kernel by the name of its module, or of a file, and its own."""
    from gnc.batch import Kernel

    module, _, name = what.partition(":")
    try:
        sys.path.insert(0, str(Path.cwd()))
        kernel = getattr(importlib.import_module(module), name, None)
    except ImportError as error:
        raise InputError(f"{what}: {error}") from None
    finally:
        sys.path.pop(0)
    if not isinstance(kernel, Kernel):
        raise InputError(f"{what}: {module} has no kernel {name!r}; expected MODULE:NAME, as gnc.quaternion:mul")
    return kernel
