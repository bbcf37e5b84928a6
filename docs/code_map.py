"""Read the code without running it: docstrings, who names whom, and which test names a function."""

from __future__ import annotations

import ast
from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

ROOMS = {"gnc": "gnc", "models": "gnc.models", "estimators": "gnc.estimators", "controllers": "gnc.controllers"}
ROOMS["scenarios"] = "gnc.scenarios"
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


class Docstring(NamedTuple):
    """A docstring with its owner's dotted name, its lines joined."""

    name: str
    text: str


class Link(NamedTuple):
    """A test of something, named in the test itself or in its caller `via`."""

    test: str  # file::name
    via: str | None


class Module(NamedTuple):
    """A file: its dotted name, its tree, and what its imports call things."""

    name: str
    path: Path
    tree: ast.Module
    aliases: dict[str, str]


@dataclass(frozen=True)
class Code:
    """The rooms of the house and their tests."""

    modules: list[Module]
    tests: list[Module]

    @cached_property
    def docstrings(self) -> list[Docstring]:
        """All docstrings of the rooms."""
        return [docstring for module in self.modules for docstring in _docstrings(module)]

    @cached_property
    def _named_in_tests(self) -> dict[str, list[str]]:
        """Names of the project -> tests (file::name) that name them, in the order of files and lines."""
        tests_of: dict[str, list[str]] = defaultdict(list)
        for module in self.tests:
            for top, names in _uses(module, self._exports).items():
                for name in names if top.startswith("test_") else ():
                    tests_of[name].append(f"{module.path}::{top}")
        return tests_of

    @cached_property
    def _callers(self) -> dict[str, list[str]]:
        """Names of the project -> functions and classes of the project that name them."""
        callers_of: dict[str, list[str]] = defaultdict(list)
        for module in self.modules:
            for top, names in _uses(module, self._exports, closed=False).items():
                for name in sorted(names - {f"{module.name}.{top}"}):
                    callers_of[name].append(f"{module.name}.{top}")
        return callers_of

    @cached_property
    def _exports(self) -> dict[str, str]:
        """Names that a package hands on -> where they live."""
        return {
            f"{module.name}.{alias}": target
            for module in self.modules
            if module.path.name == "__init__.py"
            for alias, target in module.aliases.items()
        }

    @cached_property
    def _homes(self) -> dict[str, str]:
        return {
            top.name: str(module.path)
            for module in self.tests
            for top in module.tree.body
            if isinstance(top, ast.FunctionDef)
        }

    @cached_property
    def _ranks(self) -> dict[str, int]:
        """Tests (file::name) -> their place in the order of files and lines."""
        tests = (
            f"{module.path}::{name}" for module in self.tests for top in module.tree.body for name in _defined(top)
        )
        return {test: i for i, test in enumerate(tests)}

    def where(self, test: str) -> str:
        """Return file::name of a test, by its name."""
        if test not in self._homes:
            raise LookupError(f"there is no test {test}; a docstring names it")
        return f"{self._homes[test]}::{test}"

    def test_of(self, name: str) -> Link | None:
        """Return a test of a module, class, function or method; of a caller if no test names it."""
        todo, seen = deque([name]), {name}
        while todo:
            subject = todo.popleft()
            if tests := sorted(self._tests(subject), key=self._ranks.__getitem__):
                return Link(_first(tests, subject), None if subject == name else subject)
            new = [caller for caller in self._users(subject) if caller not in seen]
            seen.update(new)
            todo.extend(new)
        return None

    def _tests(self, subject: str) -> list[str]:
        """Return the tests that name a subject, or something in it if it is a module."""
        return _entries(self._named_in_tests, subject, self._files)

    def _users(self, subject: str) -> list[str]:
        """Return the functions and classes that name a subject; of a module, those of other modules."""
        return [user for user in _entries(self._callers, subject, self._files) if not _inside(user, subject)]

    @cached_property
    def _files(self) -> set[str]:
        return {module.name for module in self.modules if module.path.name != "__init__.py"}


def read_code(root: Path) -> Code:
    """Parse the rooms and the tests of a repository."""
    modules = [
        _module(root, path, dotted) for room, dotted in ROOMS.items() for path in _files(root / room) if path.is_file()
    ]
    return Code(modules, [_module(root, path, "tests") for path in _files(root / "tests")])


def _files(folder: Path) -> list[Path]:
    """Return the Python files of a folder; links to other folders are not followed."""
    return sorted(path for path in folder.rglob("*.py") if not any(p.is_symlink() for p in path.parents))


def _module(root: Path, path: Path, dotted: str) -> Module:
    inside = path.relative_to(root).with_suffix("").parts[1:]
    name = ".".join((dotted, *(part for part in inside if part != "__init__")))
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return Module(name, path.relative_to(root), tree, dict(_aliases(tree)))


def _aliases(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield what imports call things, and what they are."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from ((n.asname or n.name, f"{node.module}.{n.name}") for n in node.names)
        elif isinstance(node, ast.Import):
            yield from (
                (n.asname or n.name.split(".")[0], n.name if n.asname else n.name.split(".")[0]) for n in node.names
            )


def _docstrings(module: Module) -> Iterator[Docstring]:
    def visit(node: ast.Module | Definition, name: str) -> Iterator[Docstring]:
        if text := ast.get_docstring(node):
            yield Docstring(name, " ".join(text.split()))
        for child in node.body:
            if isinstance(child, Definition):
                yield from visit(child, f"{name}.{child.name}")

    yield from visit(module.tree, module.name)


def _uses(module: Module, exports: dict[str, str], closed: bool = True) -> dict[str, set[str]]:
    """Return for each name of the module's top level what it names of the project.

    Closed: also through other names of the same file.
    """
    own = {name: node for node in module.tree.body for name in _defined(node)}
    direct = {name: {exports.get(c, c) for c in _chains(node, module)} for name, node in own.items()}
    if not closed:
        return direct
    near = {name: _names(node) & own.keys() for name, node in own.items()}
    return {name: set().union(*(direct[other] for other in _reached(name, near))) for name in own}


def _defined(node: ast.stmt) -> list[str]:
    if isinstance(node, Definition):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return [n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)]


def _chains(node: ast.AST, module: Module) -> Iterator[str]:
    """Yield dotted names of the project that a piece of code names, `qvi.step` as `gnc.integrators.qvi.step`."""
    for part in ast.walk(node):
        dotted, inner = [], part
        while isinstance(inner, ast.Attribute):
            dotted.append(inner.attr)
            inner = inner.value
        if not isinstance(inner, ast.Name):
            continue
        base = module.aliases.get(inner.id, f"{module.name}.{inner.id}")
        if base.startswith("gnc"):
            yield ".".join([base, *reversed(dotted)])


def _reached(name: str, near: dict[str, set[str]]) -> set[str]:
    reached, todo = {name}, [name]
    while todo:
        for other in near[todo.pop()] - reached:
            reached.add(other)
            todo.append(other)
    return reached


def _entries(index: dict[str, list[str]], subject: str, modules: set[str]) -> list[str]:
    """Return what an index has of a subject: of a module all in it, of a method its class."""
    if subject in modules:
        return [entry for name, entries in index.items() if _inside(name, subject) for entry in entries]
    above = subject
    while "." in above and above.rpartition(".")[0] not in modules:
        above = above.rpartition(".")[0]
    return index.get(above if "." in above else subject, [])


def _inside(name: str, module: str) -> bool:
    return name.startswith(module + ".")


def _first(tests: list[str], subject: str) -> str:
    """Return the first test in a file named after the subject's module, else the first of all."""
    parts = subject.split(".")
    after = [test for test in tests if any(f"/test_{part}.py::" in test for part in parts[1:])]
    return (after or tests)[0]


def _names(node: ast.AST) -> set[str]:
    """Return all plain names in a piece of code, arguments (fixtures) among them."""
    names = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
    return names | {part.arg for part in ast.walk(node) if isinstance(part, ast.arg)}
