"""What lands in somebody's site-packages: the package gnc, whole, and nothing else."""

import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

IMPORT_ALL = """
import gnc.models, gnc.estimators, gnc.controllers, gnc.scenarios, gnc.scenarios.cli
for package in (gnc, gnc.models, gnc.estimators, gnc.controllers, gnc.scenarios):
    print(package.__file__)
"""
ROOMS = ("models", "estimators", "controllers", "scenarios")


def run(*command: str | Path, cwd: Path, **environment: str) -> str:
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "COV_", "COVERAGE"))}
    done = subprocess.run(command, cwd=cwd, env=clean | environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of a fresh checkout: of a copy without environments, caches and earlier build products."""
    source, built = tmp_path_factory.mktemp("fresh") / "checkout", tmp_path_factory.mktemp("built")
    made = shutil.ignore_patterns(".*", "build", "dist", "out", "htmlcov", "*.egg-info", "__pycache__")
    shutil.copytree(repository, source, symlinks=True, ignore=made)
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", built, cwd=source)  # a wheel of the sdist
    (found,) = built.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("target")
    pip = (sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-compile")
    run(*pip, "--target", target, wheel, cwd=target)
    return target


def test_the_wheel_puts_nothing_at_the_top_level_but_gnc(wheel: Path) -> None:
    top = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    (information,) = top - {"gnc"}
    assert information.startswith("gnc-") and information.endswith(".dist-info")


def test_the_wheel_holds_every_module_of_the_repository_once(wheel: Path, repository: Path) -> None:
    rooms = {f"gnc/{path.relative_to(repository)}" for room in ROOMS for path in (repository / room).rglob("*.py")}
    core = {str(path.relative_to(repository)) for path in (repository / "gnc").rglob("*.py")}
    names = zipfile.ZipFile(wheel).namelist()
    assert sorted(name for name in names if name.endswith(".py")) == sorted(rooms | core)


def test_every_folder_of_modules_is_a_package(repository: Path) -> None:
    folders = {path.parent for top in ("gnc", *ROOMS) for path in (repository / top).rglob("*.py")}
    assert [str(folder) for folder in folders if not (folder / "__init__.py").exists()] == []


def test_the_wheel_carries_the_marker_of_typed_packages_and_the_licence(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert "gnc/py.typed" in names
    assert any(name.endswith("/LICENSE") for name in names)


def test_the_installed_wheel_imports_outside_the_repository(installed: Path, tmp_path: Path) -> None:
    blind = "import sys; sys.meta_path[:] = [f for f in sys.meta_path if 'editable' not in repr(f)]"
    files = run(sys.executable, "-c", f"{blind}\n{IMPORT_ALL}", cwd=tmp_path, PYTHONPATH=str(installed)).split()
    assert len(files) == 5
    assert all(Path(file).is_relative_to(installed) for file in files)


def test_the_installed_wheel_brings_the_command_gnc(installed: Path, tmp_path: Path, repository: Path) -> None:
    version = tomllib.loads((repository / "pyproject.toml").read_text())["project"]["version"]
    out = run(sys.executable, installed / "bin" / "gnc", "--version", cwd=tmp_path, PYTHONPATH=str(installed))
    assert out == f"gnc {version}\n"


def test_a_checkout_imports_from_its_root(repository: Path) -> None:
    files = run(sys.executable, "-c", IMPORT_ALL, cwd=repository).split()
    assert len(files) == 5
    assert all(Path(file).resolve().is_relative_to(repository) for file in files)


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_is_a_relative_link_under_gnc(repository: Path, room: str) -> None:
    assert os.readlink(repository / "gnc" / room) == f"../{room}"


def test_pins_and_settings_name_no_address(repository: Path) -> None:
    pins = [line for line in (repository / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
    assert pins
    assert [pin for pin in pins if pin.count("==") != 1 or "/" in pin or "@" in pin] == []
    assert "://" not in (repository / "pyproject.toml").read_text()
