"""What is written reads back equal, bit for bit."""

import datetime
import math
import pickle
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnc.config import Component, Section, difference, digest, dump, parse
from tests.gnc.config.mission import (
    MISSION,
    Custom,
    Dispersion,
    Filter,
    Lqr,
    Magnetometer,
    Mission,
    Pd,
    Spacecraft,
    StarTracker,
)

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
names = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
finite = st.floats(allow_nan=False, allow_infinity=False)
positive = st.floats(min_value=0, exclude_min=True, allow_infinity=False)
rates = st.floats(min_value=1.0, max_value=1e6)
vectors = st.tuples(finite, finite, finite)
arguments = st.recursive(
    st.one_of(st.booleans(), st.integers(-(2**70), 2**70), finite, text, st.dates()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(names, inner, max_size=3)),
    max_leaves=6,
)


@st.composite
def quaternions(draw: st.DrawFn) -> list[float]:
    q = draw(st.lists(st.floats(-1, 1), min_size=4, max_size=4).filter(lambda q: math.hypot(*q) > 0.1))
    return [x / math.hypot(*q) for x in q]


@st.composite
def inertias(draw: st.DrawFn) -> list[list[float]]:
    a, b, c = draw(st.tuples(*[st.floats(0.1, 100.0)] * 3))  # masses on the axes: always a rigid body
    return [[b + c, 0.0, 0.0], [0.0, c + a, 0.0], [0.0, 0.0, a + b]]


filters = st.builds(
    Filter,
    name=st.sampled_from(["mekf-vi2", "mekf-vi4", "usque"]),
    substeps=st.integers(1, 1000),
    gate=st.one_of(finite, st.just("off")),
)
components = st.builds(
    Component, source=st.just("json:JSONDecoder"), arguments=st.dictionaries(names, arguments, max_size=3)
)
missions = st.builds(
    Mission,
    title=text,
    duration_s=rates,
    start=st.none() | st.datetimes(timezones=st.none() | st.just(datetime.UTC)).map(lambda t: t.replace(fold=0)),
    day=st.dates(),
    eclipse=st.booleans(),
    rates_hz=st.lists(positive, max_size=40),
    steps=st.lists(st.tuples(st.integers(), st.integers()), max_size=3),
    labels=st.dictionaries(names, text, max_size=3),
    spacecraft=st.builds(Spacecraft, mass_kg=positive, J=inertias(), dipole_A_m2=vectors),
    sensors=st.dictionaries(
        names,
        st.one_of(
            st.builds(Magnetometer, rate_hz=rates, sigma_deg=st.floats(0, 30)),
            st.builds(StarTracker, rate_hz=rates, q_BS=quaternions()),
        ),
        max_size=3,
    ),
    controller=st.one_of(
        st.builds(Pd, damping=positive),
        st.builds(Lqr, weights=st.tuples(vectors, vectors, vectors)),
        st.builds(Custom, law=components),
    ),
    filter=filters,
    backup=st.none() | filters,
    dispersions=st.lists(
        st.builds(Dispersion, name=text.filter(bool), sigma=positive), max_size=3
    ),
)  # fmt: skip


def bits(value: Any) -> Any:
    """Signs of zero and types included, which equality leaves out; the order of keys left out."""
    if isinstance(value, dict | Section):
        return type(value), sorted((key, repr(bits(item))) for key, item in dict(value).items())
    return tuple(map(bits, value)) if isinstance(value, tuple) else repr(value)


@settings(max_examples=150, deadline=None)
@given(missions)
def test_a_configuration_reads_back_equal_from_its_own_dump(mission: Mission) -> None:
    again = parse(dump(mission), Mission)
    assert again == mission
    assert bits(again) == bits(mission)
    assert hash(again) == hash(mission)
    assert digest(again) == digest(mission)
    assert difference(again, mission) == []
    assert dump(again) == dump(mission)


def test_the_dump_says_what_each_field_means() -> None:
    text = dump(parse(MISSION, Mission))
    assert "rate_hz = 0.2  # Rate of samples [Hz], > 0\n" in text
    assert "damping = 0.8  # Damping ratio, > 0\n" in text  # described by a docstring
    assert "# backup =  # The filter in safe mode\n" in text
    assert 'kind = "pd"  # "pd" or "lqr" or "custom"\n' in text
    assert 'kind = "magnetometer"  # "magnetometer" or "star-tracker"\n' in text
    assert "\n# What varies from trial to trial\n[[dispersions]]\n" in text
    assert text.startswith("# A pointing mission.\n#\n# For tests.\n")


def test_a_long_list_is_broken_into_lines_and_reads_back() -> None:
    mission = parse(MISSION, Mission).model_copy(update={"rates_hz": tuple(1 / k for k in range(1, 60))})
    text = dump(mission)
    assert max(map(len, text.splitlines())) <= 120
    assert parse(text, Mission) == mission


def test_a_configuration_survives_pickling() -> None:
    mission = parse(MISSION, Mission)
    assert pickle.loads(pickle.dumps(mission)) == mission


@pytest.mark.parametrize("line", ["start = 2025-03-20T09:01:00Z\n", ""])
def test_an_absent_value_reads_back_as_absent(line: str) -> None:
    mission = parse(MISSION.replace("start = 2025-03-20T09:01:00Z\n", line), Mission)
    assert (mission.start is None) == (line == "")
    assert parse(dump(mission), Mission) == mission
