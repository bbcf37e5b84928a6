"""gnc <- models <- {estimators, controllers} <- scenarios, read off the import statements."""

import ast
from pathlib import Path

import pytest

BELOW = {
    "gnc": set(),
    "models": {"gnc"},
    "estimators": {"gnc", "models"},
    "controllers": {"gnc", "models"},
    "scenarios": {"gnc", "models", "estimators", "controllers"},
}
ROOMS = BELOW.keys() - {"gnc"}


def layer_of_module(module: str) -> str | None:
    """The layer of a dotted name, or None for somebody else's package."""
    parts = module.split(".")
    if parts[0] != "gnc":
        return None
    return parts[1] if len(parts) > 1 and parts[1] in ROOMS else "gnc"


def imported_modules(source: str, package: str) -> list[str]:
    """Dotted names of what the source imports; `from gnc import models` counts as gnc.models."""
    names = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            up = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*up, *([node.module] if node.module else [])])
            names += [f"{base}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            names += [str(arg.value) for arg in node.args[:1] if isinstance(arg, ast.Constant)]
    return names


def violations(source: str, package: str) -> list[str]:
    own = layer_of_module(package)
    assert own is not None
    layers = {name: layer_of_module(name) for name in imported_modules(source, package)}
    return [name for name, layer in layers.items() if layer not in {None, own} | BELOW[own]]


def python_files(repository: Path, layer: str) -> list[tuple[Path, str]]:
    """Files of a layer with the dotted name of the package each lies in."""
    files = []
    for path in sorted((repository / layer).rglob("*.py")):
        inside = path.relative_to(repository).parent.parts
        if layer == "gnc" and len(inside) > 1 and inside[1] in ROOMS:
            continue  # reached through a symlink: it is seen in its own layer
        files.append((path, ".".join(inside if layer == "gnc" else ("gnc", *inside))))
    return files


@pytest.mark.parametrize("layer", BELOW)
def test_a_layer_imports_only_what_stands_below_it(repository: Path, layer: str) -> None:
    files = python_files(repository, layer)
    assert files
    wrong = {str(path): violations(path.read_text(), package) for path, package in files}
    assert {path: names for path, names in wrong.items() if names} == {}


@pytest.mark.parametrize(
    ("package", "line"),
    [
        ("gnc", "from gnc.models import rigid_body"),
        ("gnc", "from gnc import models"),
        ("gnc", "from . import scenarios"),
        ("gnc.batch", "from ..models import rigid_body"),
        ("gnc.models", "import gnc.estimators.mekf"),
        ("gnc.models.sensors", "from ...scenarios import cli"),
        ("gnc.estimators", "def f():\n    from gnc.controllers import lqr"),
        ("gnc.controllers", "import gnc.estimators"),
        ("gnc.controllers", "import importlib\nimportlib.import_module('gnc.scenarios')"),
    ],
)
def test_the_rule_catches_an_import_from_above_or_beside(package: str, line: str) -> None:
    assert violations(line, package)


@pytest.mark.parametrize(
    ("package", "line"),
    [
        ("gnc", "import numpy\nfrom gnc import check\nfrom . import noise"),
        ("gnc.models", "from gnc import quaternion\nfrom . import rigid_body\nfrom .sensors import gyro"),
        ("gnc.estimators", "from gnc.models.sensors import gyro\nfrom gnc.estimators import kalman"),
        ("gnc.scenarios.papers", "from gnc import models, estimators, controllers\nfrom .case import case"),
    ],
)
def test_the_rule_lets_imports_from_below_and_from_the_same_layer_pass(package: str, line: str) -> None:
    assert violations(line, package) == []


def test_no_python_package_lies_outside_the_layers(repository: Path) -> None:
    packages = {path.parent.name for path in repository.glob("*/__init__.py")}
    assert packages <= BELOW.keys() | {"tests", "benchmarks"}
