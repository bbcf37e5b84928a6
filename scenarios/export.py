"""`gnc export`: flight code in C, with the bits of Python."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gnc.errors import InputError

if TYPE_CHECKING:
    from gnc.batch import Kernel

app = typer.Typer(no_args_is_help=True, help="Write kernels and flight software as C.", rich_markup_mode=None)


@app.callback()
def export() -> None:
    """Write kernels and flight software as C."""


@app.command("kernel")
def export_one_kernel(
    what: Annotated[str, typer.Argument(metavar="MODULE:NAME", help="A kernel, e.g. gnc.quaternion:mul.")],
    out: Annotated[Path, typer.Option("--out", help="Folder to write into.")] = Path("flight_code"),
    name: Annotated[str, typer.Option("--name", help="Name of the C function; by default the kernel's.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Machine-readable result on standard output.")] = False,
) -> None:
    """Write a kernel as C99: header, source, test vectors, a test program and its Makefile (`make test`)."""
    from gnc.export import export_kernel

    kernel = _kernel(what)
    name = name or "".join(c if c.isalnum() else "_" for c in kernel.__name__).strip("_")
    if not name.isidentifier():
        raise InputError(f"--name: {name!r} is no name of a C function")
    files = [str(file) for file in export_kernel(kernel, name, out)]
    print(json.dumps({"kernel": what, "function": name, "files": files}) if as_json else "\n".join(files))


def _kernel(what: str) -> Kernel:
    """Find a kernel by the name of its module, or of a file, and its own."""
    from gnc.batch import Kernel

    module, _, name = what.partition(":")
    try:
        sys.path.insert(0, str(Path.cwd()))
        found = getattr(importlib.import_module(module), name, None)
    except ImportError as error:
        raise InputError(f"{what}: {error}") from None
    finally:
        sys.path.pop(0)
    if not isinstance(found, Kernel):
        raise InputError(f"{what}: {module} has no kernel {name!r}; expected MODULE:NAME, as gnc.quaternion:mul")
    return found
