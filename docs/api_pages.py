"""The API reference: a page for each package, found in the tree, and links to it from the other pages."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from types import ModuleType
from typing import Any

from gnc.batch.kernel import Kernel

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("gnc", "models", "estimators", "controllers", "scenarios")
NAMED = re.compile(r"(?<!`)`(gnc\.[\w.]+)`(?!`)")
BLOCK = re.compile(r"(^```.*?^```$)", re.M | re.S)
INDEX = """\
API reference
=============

Made from the docstrings. What has one trial's shapes, ``(4),(3)->(3)``, is a kernel: it takes any leading axes.

.. toctree::

"""


def packages() -> dict[str, list[str]]:
    """Return the public modules of each package, by dotted names; of scenarios those that others import."""
    modules_of: dict[str, list[str]] = {}
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("__init__.py")):
            inside = path.parent.relative_to(ROOT).parts
            if any(p.is_symlink() for p in path.parents) or (room == "scenarios" and len(inside) > 1):
                continue
            name = ".".join(inside if room == "gnc" else ("gnc", *inside))
            modules = sorted(p.stem for p in path.parent.glob("*.py") if not p.stem.startswith("_"))
            modules_of[name] = [f"{name}.{module}" for module in modules]
    return modules_of


def write(folder: Path) -> None:
    """Write the pages; one that has not changed keeps its time, so that it is not built again."""
    folder.mkdir(exist_ok=True)
    pages = {name: _page(name, modules) for name, modules in packages().items()}
    pages["index"] = INDEX + "".join(f"   {name}\n" for name in pages)
    for old in folder.glob("*.rst"):
        if old.stem not in pages:
            old.unlink()
    for name, text in pages.items():
        path = folder / f"{name}.rst"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    modules = [importlib.import_module(module) for modules in packages().values() for module in modules]
    for module in modules:  # only when all are imported: some use kernels as such while they are
        _unwrap(module)


def _page(name: str, modules: list[str]) -> str:
    parts = [f"{name}\n{'=' * len(name)}\n\n.. automodule:: {name}\n   :no-members:\n\n"]
    for module in modules:
        short = module.rpartition(".")[2]
        parts.append(f"{short}\n{'-' * len(short)}\n\n.. automodule:: {module}\n   :members:\n\n")
    return "".join(parts)


def _unwrap(module: ModuleType) -> None:
    """Show kernels as the functions they are written as, with the shapes of one trial."""
    space = module.__dict__
    for name, value in list(space.items()):
        if isinstance(value, Kernel) and value.__module__ == module.__name__:
            value.function.__doc__ = f"{value.__doc__}\n\nShapes of one trial: `{value.layout.signature()}`."
            space[name] = value.function


def link_names(_app: Any, name: str, source: list[str]) -> None:
    """Make every `gnc...` in backticks a link where the reference has an entry of that name."""
    if name.startswith("api/"):
        return
    parts = BLOCK.split(source[0])
    source[0] = "".join(p if p.startswith("```") else NAMED.sub(r"{py:obj}`\1`", p) for p in parts)
