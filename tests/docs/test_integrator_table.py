"""The table of integrators is what the code says, and every name in it exists."""

import importlib
from pathlib import Path

import pytest

from docs import integrator_table
from gnc.integrators import METHODS
from gnc.scenarios import missions, papers

USES = integrator_table.USES
MISSIONS = {path.stem for path in (Path(missions.__file__).parent / "builtin").glob("*.toml")}


def test_the_committed_page_is_what_the_code_says():
    page = Path(integrator_table.PAGE).read_text(encoding="utf-8")
    assert page == integrator_table.page(), "run: python -m docs.integrator_table"


def test_every_method_has_its_line_and_no_other_has_one():
    assert list(USES) == list(METHODS)


@pytest.mark.parametrize("name", USES)
def test_every_jacobian_filter_mission_and_figure_exists(name):
    use = USES[name]
    for path in (*([use.jacobian] if use.jacobian else []), *use.filters):
        module, _, attribute = path.rpartition(".")
        assert hasattr(importlib.import_module(module), attribute), path
    assert set(use.missions) <= MISSIONS
    assert all(len(papers.find(figure)) == 1 for figure in use.figures)


def test_every_variational_method_with_a_jacobian_drives_a_filter():
    """Contact has events, not a smooth step: it is the one that drives none."""
    for name, method in METHODS.items():
        if method.conserves and method.group != "contact":
            assert USES[name].jacobian and USES[name].filters, name
