"""Settings from the command line change what they name, and nothing else."""

import pytest

from gnc.config import difference, override, parse
from gnc.errors import InputError
from tests.gnc.config.mission import MISSION, Filter, Lqr, Magnetometer, Mission, Pd


@pytest.fixture(scope="module")
def mission() -> Mission:
    return parse(MISSION, Mission)


@pytest.mark.parametrize(
    ("setting", "changed"),
    [
        ("duration_s=100", ["duration_s: 5600.0 != 100.0"]),
        ("duration_s = 1e2 ", ["duration_s: 5600.0 != 100.0"]),
        ("title=slow pointing", ['title: "pointing" != "slow pointing"']),
        ('title="a = b"', ['title: "pointing" != "a = b"']),
        ("title=a=b", ['title: "pointing" != "a=b"']),
        ("eclipse=false", ["eclipse: true != false"]),
        ("sensors.magnetometer.rate_hz=0.5", ["sensors.magnetometer.rate_hz: 0.2 != 0.5"]),
        ('sensors."star".rate_hz=2', ["sensors.star.rate_hz: 1.0 != 2.0"]),
        ("dispersions.dipole.sigma=0.1", ["dispersions.1.sigma: 0.5 != 0.1"]),
        ("dispersions.0.sigma=0.1", ["dispersions.0.sigma: 0.02 != 0.1"]),
        ("rates_hz=[3, 4.5]", ["rates_hz: [1.0, 0.1] != [3.0, 4.5]"]),
        ("rates_hz.1=7", ["rates_hz: [1.0, 0.1] != [1.0, 7.0]"]),
        ("filter.name=usque", ['filter.name: "mekf-vi4" != "usque"']),
        ("filter.gate=off", ['filter.gate: 0.999 != "off"']),
        ("filter={gate=0.9}", ["filter.gate: 0.999 != 0.9"]),
        ("start=", ["start: 2025-03-20T09:01:00+00:00 != absent"]),
        ("day=2026-01-02", ["day: 2025-03-20 != 2026-01-02"]),
        ('labels."a.b"=c', ['labels: {} != absent', 'labels."a.b": absent != "c"']),
        ("spacecraft.dipole_A_m2=[0, 0, 0.02]", ["spacecraft.dipole_A_m2: [0.0, 0.0, 0.0] != [0.0, 0.0, 0.02]"]),
    ],
)  # fmt: skip
def test_a_setting_changes_the_key_that_it_names(mission: Mission, setting: str, changed: list[str]) -> None:
    assert difference(mission, override(mission, [setting])) == changed


def test_a_value_with_a_line_break_sets_no_second_key(mission: Mission) -> None:
    assert override(mission, ["title=3\nx=4"]).title == "3\nx=4"


def test_no_settings_change_nothing(mission: Mission) -> None:
    assert override(mission, []) == mission


def test_of_two_settings_for_one_key_the_later_counts(mission: Mission) -> None:
    assert override(mission, ["duration_s=100", "duration_s=200"]).duration_s == 200


def test_a_setting_starts_a_table_that_was_absent(mission: Mission) -> None:
    assert override(mission, ["backup.substeps=4"]).backup == Filter(substeps=4)


def test_settings_add_a_sensor(mission: Mission) -> None:
    added = override(mission, ["sensors.second.rate_hz=3", "sensors.second.kind=magnetometer"])
    assert added.sensors["second"] == Magnetometer(rate_hz=3)


def test_a_new_kind_drops_the_keys_that_it_does_not_have(mission: Mission) -> None:
    assert override(mission, ["controller.kind=lqr"]).controller == Lqr()
    back = override(override(mission, ["controller.kind=lqr"]), ["controller.damping=0.5", "controller.kind=pd"])
    assert back.controller == Pd(damping=0.5)


def test_a_new_kind_keeps_the_keys_that_both_have(mission: Mission) -> None:
    assert override(mission, ["sensors.star.kind=magnetometer"]).sensors["star"] == Magnetometer(rate_hz=1)


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("duration_s", "--set duration_s: not key=value"),
        ("=3", "--set =3: not key=value"),
        ("a b=3", "--set a b=3: a b is not a dotted key; write a.b.c=value"),
        ("duration_s=fast", 'duration_s = "fast": give a number > 0'),
        ("duration_s=-1", "duration_s = -1: give a number > 0"),
        ("duration=1", "duration = 1: unknown key; did you mean duration_s?"),
        ("sensors.magnetometer.rate=1", "sensors.magnetometer.rate = 1: unknown key; did you mean rate_hz?"),
        ("sensrs.magnetometer.rate_hz=1", "sensrs = a table: unknown key; did you mean sensors?"),
        ("duration_s.x=1", "--set duration_s.x: duration_s is neither table nor list; shorten the key"),
        ("dispersions.mass.sigma=1", "no entry mass in the list; it has inertia, dipole"),
        ("dispersions.2.sigma=1", "no entry 2 in the list; it has inertia, dipole"),
        ("rates_hz.5=1", "no entry 5 in the list; it has 0, 1"),
        (
            "spacecraft={dipole_A_m2=[0, 0, 1]}",
            "--set spacecraft: the table would reset J, mass_kg; set fields alone, as",
        ),
        ("title=3", "title = 3: give text in quotes"),
        ("controller.kind=pid", 'controller.kind = "pid": did you mean "pd"?'),
        ("duration_s=", "duration_s is missing; give a number > 0"),
        ("spacecraft.J=[[1, 0, 0], [0, 1, 0], [0, 0, 3]]", "triangle inequality"),
        ("sensors.new.rate_hz=3", 'sensors.new.kind is missing; give "magnetometer" or "star-tracker"'),
        ("rates_hz.0=", "rates_hz.0: an entry of a list has no default; give a value"),
    ],
)
def test_a_setting_that_cannot_be_used_is_refused_in_one_line(mission: Mission, setting: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        override(mission, [setting])
    assert said in str(caught.value)
    assert str(caught.value).startswith("--set")
    assert "\n" not in str(caught.value)
