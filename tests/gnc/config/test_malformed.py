"""What is wrong with a file is said in one line: the file, the key, the value, and what would be right."""

import pytest

from gnc.config import parse
from gnc.errors import InputError
from tests.gnc.config.mission import MISSION, Mission


def complaint(text: str) -> str:
    with pytest.raises(InputError) as caught:
        parse(text, Mission, "mission.toml")
    return str(caught.value)


# What is replaced in the good mission, by what, and what the line must contain: the key, and the remedy.
WRONG = [
    # types
    ("duration_s = 5600", 'duration_s = "5600"', 'duration_s = "5600"', "give a number > 0 (Length of the flight [s])"),
    ("duration_s = 5600", "duration_s = true", "duration_s = true", "give a number > 0"),
    ("duration_s = 5600", "duration_s = [5600]", "duration_s = [5600]", "give a number > 0"),
    ("duration_s = 5600", "duration_s = 2025-03-20", "duration_s = 2025-03-20", "give a number > 0"),
    ("duration_s = 5600", "duration_s = {s = 1}", "duration_s = a table", "give a number > 0"),
    ('title = "pointing"', "title = 3", "title = 3", "give text in quotes"),
    ('title = "pointing"', "eclipse = 1", "eclipse = 1", "give true or false"),
    ('title = "pointing"', 'eclipse = "yes"', 'eclipse = "yes"', "give true or false"),
    ("start = 2025-03-20T09:01:00Z", 'start = "today"', 'start = "today"', "give a date and time such as"),
    ('title = "pointing"', "day = 20", "day = 20", "give a date such as"),
    ('title = "pointing"', "filter = 3", "filter = 3", "give a table"),
    ('title = "pointing"', "filter.substeps = 1.5", "filter.substeps = 1.5", "give a whole number >= 1 and <= 1000"),
    ('title = "pointing"', "filter.substeps = 1.0", "filter.substeps = 1.0", "give a whole number"),
    ('title = "pointing"', "labels = 3", "labels = 3", "give a table"),
    ('title = "pointing"', "labels.colour = 3", "labels.colour = 3", "give text in quotes"),
    ('title = "pointing"', "rates_hz = 1.0", "rates_hz = 1.0", "give a list, each entry a number > 0"),
    ('title = "pointing"', 'rates_hz = [1.0, "x"]', 'rates_hz.1 = "x"', "give a number > 0 (Rates to study [Hz])"),
    ('title = "pointing"', "steps = [[1, 2, 3]]", "steps.0 = [1, 2, 3]", "give a list of 2"),
    # numbers out of range
    ("duration_s = 5600", "duration_s = 0", "duration_s = 0", "give a number > 0"),
    ("duration_s = 5600", "duration_s = -1e3", "duration_s = -1000.0", "give a number > 0"),
    ("duration_s = 5600", "duration_s = inf", "duration_s = inf", "give a finite number > 0"),
    ("duration_s = 5600", "duration_s = nan", "duration_s = nan", "give a finite number > 0"),
    ("duration_s = 5600", "duration_s = 1e999", "duration_s = inf", "give a finite number > 0"),
    ("duration_s = 5600", f"duration_s = 1{'0' * 400}", "duration_s = 1000", "give a number > 0"),
    ("rate_hz = 0.2", "rate_hz = 0.2\nsigma_deg = 31", "sensors.magnetometer.sigma_deg = 31", ">= 0 and <= 30"),
    ("rate_hz = 0.2", "rate_hz = -0.2", "sensors.magnetometer.rate_hz = -0.2", "> 0 (Rate of samples [Hz])"),
    ('kind = "pd"', 'kind = "pd"\nbandwidth_rad_s = 10', "controller.bandwidth_rad_s = 10", "> 0 and < 10"),
    ('title = "pointing"', "rates_hz = [1.0, 0.0]", "rates_hz.1 = 0.0", "give a number > 0"),
    ('title = "pointing"', "filter.substeps = 0", "filter.substeps = 0", "give a whole number >= 1"),
    ('name = "dipole"', 'name = ""', 'dispersions.1.name = ""', "give text in quotes length >= 1"),
    ("sigma = 0.5", "sigma = -0.5", "dispersions.dipole.sigma = -0.5", "give a number > 0"),
    # arrays
    ("mass_kg = 12.0", "mass_kg = 12.0\ndipole_A_m2 = [1, 2]", "spacecraft.dipole_A_m2 = [1, 2]", "give 3 numbers"),
    ("mass_kg = 12.0", "mass_kg = 12.0\ndipole_A_m2 = 1", "spacecraft.dipole_A_m2 = 1", "not one number"),
    ("mass_kg = 12.0", "mass_kg = 12.0\ndipole_A_m2 = [1, 2, nan]", "spacecraft.dipole_A_m2", "finite numbers"),
    ("mass_kg = 12.0", 'mass_kg = 12.0\ndipole_A_m2 = [1, 2, "3"]', "spacecraft.dipole_A_m2", "finite numbers"),
    ("mass_kg = 12.0", "mass_kg = 12.0\ndipole_A_m2 = [1, 2, true]", "spacecraft.dipole_A_m2", "finite numbers"),
    ("mass_kg = 12.0", "mass_kg = 12.0\ndipole_A_m2 = [[1, 2, 3]]", "spacecraft.dipole_A_m2", "3 numbers, not 1 x 3"),
    ("J = [[0.22", "J = [[2.2", "spacecraft.J", "triangle inequality"),
    ("J = [[0.22", "J = [[-0.22", "spacecraft.J", "not positive definite"),
    ("J = [[0.22, 0.004", "J = [[0.22, 0.005", "spacecraft.J", "give both the same value"),
    ("J = [[0.22, 0.004, -0.003]", "J = [[0.22, 0.004]", "spacecraft.J", "give 3 rows of 3 numbers"),
    ("rate_hz = 1", "rate_hz = 1\nq_BS = [1, 1, 0, 0]", "sensors.star.q_BS = [1, 1, 0, 0]", "divide by the norm"),
    ("rate_hz = 1", "rate_hz = 1\nq_BS = [1, 0, 0]", "sensors.star.q_BS = [1, 0, 0]", "4 numbers of unit norm"),
    ('kind = "pd"', 'kind = "lqr"\nweights = [1, 1, 1]', "controller.weights = [1, 1, 1]", "give 3 rows of 3 numbers"),
    # keys
    ("duration_s = 5600", "duration = 5600", "duration = 5600: unknown key", "duration_s?; 1 more key is wrong"),
    ("rate_hz = 0.2", "rate_Hz = 0.2", "sensors.magnetometer.rate_Hz = 0.2: unknown key", "did you mean rate_hz?"),
    ("rate_hz = 0.2", "rate_hz = 0.2\nq_BS = [1, 0, 0, 0]", "sensors.magnetometer.q_BS", "known here: kind, rate_hz"),
    ("[spacecraft]", "[spacecaft]", "spacecaft = a table: unknown key", "did you mean spacecraft?"),
    ("[sensors.star]", "[sensor.star]", "sensor = a table: unknown key", "did you mean sensors?"),
    ('kind = "pd"', 'kind = "pd"\ndampin = 1', "controller.dampin = 1: unknown key", "did you mean damping?"),
    ("sigma = 0.5", "sigma = 0.5\nunit = 1", "dispersions.dipole.unit = 1: unknown key", "known here: name, sigma"),
    ("mass_kg = 12.0", "", "spacecraft.mass_kg is missing", "give a number > 0 (Mass [kg])"),
    ("sigma = 0.5", "", "dispersions.dipole.sigma is missing", "give a number > 0"),
    ("mass_kg = 12.0", '"a b" = 1\nmass_kg = 12.0', 'spacecraft."a b" = 1: unknown key', "known here: mass_kg, J"),
    # choices
    ('kind = "pd"', 'kind = "lqg"', 'controller.kind = "lqg"', 'did you mean "lqr"? give "pd" or "lqr" or "custom"'),
    ('kind = "pd"', "kind = 3", "controller.kind = 3", 'give "pd" or "lqr" or "custom"'),
    ('kind = "pd"', "damping = 0.7", "controller.kind is missing", 'give "pd" or "lqr" or "custom"'),
    ('kind = "star-tracker"', 'kind = "camera"', 'star.kind = "camera"', 'give "magnetometer" or "star-tracker"'),
    ('kind = "star-tracker"', "", "sensors.star.kind is missing", 'give "magnetometer" or "star-tracker"'),
    ('title = "pointing"', 'filter.name = "mekf-vi3"', "filter.name", 'did you mean "mekf-vi'),
    ('title = "pointing"', 'filter.gate = "of"', 'filter.gate = "of"', 'give a number or "off"'),
    ('title = "pointing"', "filter.gate = true", "filter.gate = true", 'give a number or "off"'),
    # tables
    ('title = "pointing"', "backup = true", "backup = true", "give a table"),
    ('[controller]\nkind = "pd"', "[[controller]]", "controller = [{}]", "give a table with kind"),
    ("[[dispersions]]", "[[labels]]", "labels = [", "give a table"),
    # what only the whole shows
    ("duration_s = 5600", "duration_s = 0.5", "magnetometer takes no sample in 0.5 s", "raise its rate_hz"),
]  # fmt: skip


@pytest.mark.parametrize(("good", "bad", "key", "remedy"), WRONG)
def test_a_wrong_entry_is_named_in_one_line_with_its_remedy(good: str, bad: str, key: str, remedy: str) -> None:
    assert MISSION.count(good) >= 1
    line = complaint(MISSION.replace(good, bad, 1))
    assert line.startswith("mission.toml: ")
    assert key in line
    assert remedy in line
    assert "\n" not in line
    assert len(line) < 400


# Malformed text, where the error lies, and the hint.
SYNTAX = [
    ("a = ", "1:5", "text needs quotes"),
    ("x = 1\nkind = pd", "2:8", "text needs quotes"),
    ("x = .5", "1:5", "digits on both sides of the point"),
    ("x = 5.", "1:6", "key = value"),
    ("x = True", "1:5", "truth is true or false"),
    ("x = 1\nx = 2", "2:6", "given twice"),
    ("[a]\n[a]", "2:3", "given twice"),
    ("[a\nx = 1", "1:3", "[table]"),
    ("x = [1, 2", "1:10", "close the list"),
    ('x = "abc', "1:9", "close the text"),
    ('x = "abc\n"', "1:9", "close the text"),
    ("x 1", "1:3", "key = value"),
    ("x = 1 y = 2", "1:7", "one key = value to a line"),
    ("= 1", "1:1", "a key has letters"),
    ("x = 01", "1:6", "key = value"),
    ("x = 1 2", "1:7", "one key = value to a line"),
    ("x: 1", "1:2", "key = value"),
    ('{"x": 1}', "1:1", "a key has letters"),
    ("<html>", "1:1", "a key has letters"),
]


@pytest.mark.parametrize(("text", "place", "hint"), SYNTAX)
def test_malformed_text_is_placed_by_line_and_column(text: str, place: str, hint: str) -> None:
    line = complaint(text)
    assert line.startswith(f"mission.toml:{place}: ")
    assert hint in line
    assert "\n" not in line


@pytest.mark.parametrize(
    "text", ["x = " + "[" * 100_000, "x = " + "1" * 5000, "x = {" * 50_000, ".".join("a" * 4000) + "=1"]
)
def test_extreme_text_is_refused_in_one_line(text: str) -> None:
    line = complaint(text)
    assert line.startswith("mission.toml")
    assert "\n" not in line
    assert len(line) < 400


def test_several_errors_are_counted_by_key() -> None:
    wrong = (
        MISSION.replace("mass_kg = 12.0", "mass_kg = -1")
        .replace("sigma = 0.5", "sigma = 0")
        .replace("rate_hz = 0.2", "rate_hz = 0")
    )
    assert complaint(wrong).endswith("; 2 more keys are wrong")


def test_a_value_with_line_breaks_stays_in_one_line() -> None:
    assert "\n" not in complaint(MISSION.replace("duration_s = 5600", 'duration_s = """a\nb"""'))
