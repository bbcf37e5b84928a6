"""The grammar of conditions: what it says, and that nothing else gets through."""

import string

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gnc.errors import InputError
from gnc.expression import DEEPEST, LONGEST, parse

VALUES = {"t": np.array([0.0, 5.0, 20.0]), "mode": np.array(["sun", "nadir", "nadir"]), "dark": np.array([1, 0, 1]) > 0}


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("t > 4", [0, 1, 1]),
        ("t > 4 and not dark", [0, 1, 0]),
        ("mode == 'nadir' and t >= 20 or dark", [1, 0, 1]),
        ("not (t < 1 or t == 20)", [0, 1, 0]),
        ("2 * t + 1 <= 11", [1, 1, 0]),
        ("t - -1 > 1 + 2 * 2", [0, 1, 1]),
        ("abs(t - 5) < 5.5", [1, 1, 0]),
        ("t / 4 != 5", [1, 1, 0]),
        ('mode != "sun"', [0, 1, 1]),
        ("not not dark", [1, 0, 1]),
        ("t > 4e0 and t < .1e2", [0, 1, 0]),
    ],
)
def test_a_condition_says_what_it_reads_like(text, holds):
    assert parse(text).value(VALUES.__getitem__).tolist() == [bool(x) for x in holds]


def test_names_are_told_and_largest_asks_for_the_largest_part():
    found = parse("largest(sat.wheels.momentum_Nms) > 0.1 and star-tracker.used < 3")
    assert found.names == {"sat.wheels.momentum_Nms", "star-tracker.used"}
    asked = []
    parse("largest(a.b)").value(lambda name: asked.append(name) or 0.0)
    assert asked == ["largest a.b"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is empty"),
        ("t >", "expected a name, a number or ("),
        ("t = 3", "compare with =="),
        ("t > 3 && dark", "write and, or"),
        ("(t > 3", "expected )"),
        ("t > 3)", "expected and, or"),
        ("t > 3 > 2", "expected and, or"),
        ("abs t", "expected ( after abs"),
        ("largest(3)", "(name) after largest"),
        ("and t", "expected a name"),
        ("t.__class__", "'t.__class__'"),
        ("f(t)", "expected and, or"),
        ("[t]", "not understood"),
        ("lambda: t", "not understood"),
        ("(" * (DEEPEST + 5) + "t", "nested too deeply"),
        ("not " * (DEEPEST + 5) + "t", "nested too deeply"),
        ("-" * 200 + "1", "nested too deeply"),
        ("t" * (LONGEST + 1), "too many"),
    ],
)
def test_what_is_no_condition_is_refused_in_one_line(text, says):
    if says == "'t.__class__'":  # a name like any other: nothing is looked up but signals
        assert parse(text).names == {"t.__class__"}
        return
    with pytest.raises(InputError) as error:
        parse(text)
    assert says in str(error.value) and "\n" not in str(error.value).strip()


@pytest.mark.parametrize("text", ["mode + 1", "mode > 3", "mode != 3", "-mode", "abs(mode)", "t == 'a'", "dark - dark"])
def test_numbers_text_and_conditions_do_not_mix(text):
    """Each was a defect of gnc, or true at all times."""
    with pytest.raises(InputError, match="mixes numbers with text or with conditions"):
        parse(text).value(VALUES.__getitem__)
    with pytest.raises(InputError, match="'1/0': divides by zero"):
        parse("1/0").value(VALUES.__getitem__)


@settings(max_examples=400, deadline=None)
@given(st.text(alphabet=string.ascii_letters + string.digits + " ().<>=!+-*/'\"_&|[]{}:;,\\\n\t", max_size=60))
@example("1e999 > t")
def test_whatever_is_written_is_a_condition_or_one_line(text):
    try:
        found = parse(text)
    except InputError as error:
        assert str(error)
        return
    assert all(isinstance(name, str) for name in found.names)
