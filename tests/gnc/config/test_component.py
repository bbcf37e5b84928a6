"""A user's own class is loaded from a file or a module, or refused in one line."""

from pathlib import Path

import pytest

from gnc.config import Component, difference, digest, dump, load_component, override, parse, read
from gnc.errors import InputError
from tests.gnc.config.mission import MISSION, Custom, Mission

LAW = """
from dataclasses import dataclass

@dataclass(frozen=True)
class MyLaw:
    gain: float
    axes: tuple = (1, 2, 3)

    def __post_init__(self):
        if self.gain < 0:
            raise ValueError("gain is negative")
"""
CUSTOM = """kind = "custom"
[controller.law]
source = "my_law.py:MyLaw"
arguments = {gain = 2.5, axes = [1, 0, 0]}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "my_law.py").write_text(LAW)
    (tmp_path / "mission.toml").write_text(MISSION.replace('kind = "pd"\n', CUSTOM))
    return tmp_path


def law(mission: Mission) -> Component:
    assert isinstance(mission.controller, Custom)
    return mission.controller.law


def refused(source: str, base: Path) -> str:
    with pytest.raises(InputError) as caught:
        load_component(source, base)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_law_beside_the_configuration_flies_with_its_arguments(folder: Path) -> None:
    mission = read(folder / "mission.toml", Mission)
    built = law(mission).build()
    assert (type(built).__name__, built.gain, built.axes) == ("MyLaw", 2.5, (1, 0, 0))
    assert law(mission).build(gain=3.0).gain == 3.0


def test_a_class_is_loaded_once_until_its_file_changes(folder: Path) -> None:
    first = load_component("my_law.py:MyLaw", folder)
    assert load_component(str(folder / "my_law.py") + ":MyLaw") is first
    (folder / "my_law.py").write_text(LAW.replace("gain: float", "gain: float = 7.0"))
    assert load_component("my_law.py:MyLaw", folder)().gain == 7.0


def test_a_class_of_an_installed_module_is_loaded_by_its_name() -> None:
    from fractions import Fraction

    assert load_component("fractions:Fraction") is Fraction
    assert Component(source="fractions:Fraction", arguments={"numerator": 3, "denominator": 6}).build() == Fraction(
        1, 2
    )


def test_a_dumped_configuration_finds_its_law_from_elsewhere(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    mission = read(folder / "mission.toml", Mission)
    elsewhere = tmp_path_factory.mktemp("results") / "configuration.toml"
    elsewhere.write_text(dump(mission))
    again = read(elsewhere, Mission)
    assert again == mission
    assert law(again).build().gain == 2.5


def test_a_changed_law_changes_the_digest_and_is_refused_by_the_old_configuration(folder: Path) -> None:
    before = read(folder / "mission.toml", Mission)
    stored = dump(before)
    (folder / "my_law.py").write_text(LAW + "# better\n")
    after = read(folder / "mission.toml", Mission)
    assert digest(after) != digest(before)
    old = parse(stored, Mission)
    assert digest(old) == digest(before)
    (line,) = difference(old, after)
    assert line.startswith("controller.law.sha256: ")
    with pytest.raises(InputError, match="has changed since sha256 was taken; take the key sha256 out"):
        law(old).build()
    assert law(after).build().gain == 2.5


def test_where_the_law_lies_does_not_matter_to_the_digest(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = tmp_path_factory.mktemp("moved")
    for name in ("my_law.py", "mission.toml"):
        (other / name).write_bytes((folder / name).read_bytes())
    a, b = read(folder / "mission.toml", Mission), read(other / "mission.toml", Mission)
    assert digest(a) == digest(b)
    assert difference(a, b) == []


def test_another_law_may_be_set_from_the_command_line(folder: Path) -> None:
    (folder / "other.py").write_text(LAW.replace("MyLaw", "Other"))
    mission = override(read(folder / "mission.toml", Mission), [f"controller.law.source={folder}/other.py:Other"])
    assert type(law(mission).build()).__name__ == "Other"


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("x = 1\nimport nothing_of_that_name", "law.py:2: cannot be imported: ModuleNotFoundError: No module named"),
        ("\n\ndef f(:\n    pass", "law.py:3: cannot be imported: SyntaxError: "),
        ("def f():\n    return 1 / 0\nf()", "law.py:2: cannot be imported: ZeroDivisionError: division by zero"),
        ("import sys\nsys.exit(3)", "law.py:2: cannot be imported: SystemExit: 3"),
        ("raise ValueError('a\\nb')", "law.py:1: cannot be imported: ValueError: a b"),
        ("class Low: pass\nfrom pathlib import Path", "no class Law in law.py; it has Low"),
        ("Law = 3", "no class Law in law.py; it has no classes"),
    ],
)
def test_what_is_wrong_in_the_file_is_said_with_its_line(tmp_path: Path, code: str, said: str) -> None:
    (tmp_path / "law.py").write_text(code)
    for _ in range(2):  # a failure leaves nothing behind that would change the second answer
        assert said in refused("law.py:Law", tmp_path)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("nothing.py:Law", "there is no file"),
        ("my_law.py", "give file.py:Class or package.module:Class"),
        (":Law", "give file.py:Class or package.module:Class"),
        ("my_law.py:", "give file.py:Class or package.module:Class"),
        ("my_law.py:My Law", "give file.py:Class or package.module:Class"),
        ("no_such_package.module:Law", "No module named"),
        ("no_such_module:Law", "no such module; install it, or give file.py:Class"),
        ("fractions:Fractoin", "no class Fractoin in fractions; it has"),
    ],
)
def test_what_is_wrong_with_the_name_is_said(folder: Path, source: str, said: str) -> None:
    assert said in refused(source, folder)


def test_a_missing_file_is_reported_under_its_key(folder: Path) -> None:
    (folder / "my_law.py").unlink()
    with pytest.raises(InputError, match=r"controller\.law\.source = \"my_law\.py:MyLaw\": there is no file .*; give"):
        read(folder / "mission.toml", Mission)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("{}", "missing a required argument: 'gain'; the class takes (gain: float, axes: tuple"),
        ("{gain = 1, gian = 2}", "got an unexpected keyword argument 'gian'; the class takes (gain"),
        ("{gain = -1}", "ValueError: gain is negative; given were gain = -1"),
        ('{gain = "x"}', "TypeError: "),
    ],
)
def test_wrong_arguments_are_refused_with_what_the_class_takes(folder: Path, arguments: str, said: str) -> None:
    text = (folder / "mission.toml").read_text().replace("{gain = 2.5, axes = [1, 0, 0]}", arguments)
    mission = parse(text, Mission, str(folder / "mission.toml"))
    with pytest.raises(InputError) as caught:
        law(mission).build()
    assert said in str(caught.value)
    assert "my_law.py:MyLaw" in str(caught.value)


@pytest.mark.parametrize("arguments", ["{gain = nan}", "{gain = [1, inf]}", "{gain = {a = [[nan]]}}"])
def test_arguments_are_finite(folder: Path, arguments: str) -> None:
    text = (folder / "mission.toml").read_text().replace("{gain = 2.5, axes = [1, 0, 0]}", arguments)
    with pytest.raises(InputError, match=r"controller\.law\.arguments: .* is not finite; give finite numbers"):
        parse(text, Mission, str(folder / "mission.toml"))


def test_arguments_that_toml_cannot_hold_are_refused() -> None:
    with pytest.raises(ValueError, match="a NoneType cannot be written in TOML"):
        Component(source="fractions:Fraction", arguments={"numerator": None})
