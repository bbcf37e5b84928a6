"""The equation map is what the docstrings say, and every test that is named exists."""

import ast
from pathlib import Path

import pytest

from docs import equation_map
from docs.equation_map import Code

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def code():
    return Code(ROOT)


def test_the_committed_page_is_what_the_docstrings_say(code):
    page = (ROOT / "docs" / "equations.md").read_text(encoding="utf-8")
    assert page == equation_map.page(code), "run: python -m docs.equation_map"


def test_every_equation_that_a_docstring_claims_has_a_test(code):
    assert [row for row in equation_map.rows(code) if row.test is None] == []


def test_every_erratum_names_a_test_that_exists(code):
    stated = equation_map.errata(code)
    assert len(stated) > 15
    assert [name for name, _, tests in stated if not tests] == []
    for _, _, tests in stated:
        for test in tests:
            file, _, name = code.where(test).partition("::")
            tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
            assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_every_test_of_an_erratum_is_in_the_table_of_errata():
    page = (ROOT / "docs" / "errata.md").read_text(encoding="utf-8")
    for path in (ROOT / "tests").rglob("test_*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        if any(isinstance(node, ast.FunctionDef) and node.name.startswith("test_erratum") for node in tree.body):
            assert path.name in page, path


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("QVI eqs. (33), (49), in momentum form", [("QVI", "(33)"), ("QVI", "(49)")]),
        ("DQMB eqs. (50) to (60).", [("DQMB", "(50) to (60)")]),
        ("DQVI eq. (11), DQMB eq. (24)", [("DQVI", "(11)"), ("DQMB", "(24)")]),
        ("DQVI Algorithm 1 lines 6 to 11", [("DQVI", "Algorithm 1 lines 6 to 11")]),
        ("DQMB Table 2, Lemma 1", [("DQMB", "Table 2"), ("DQMB", "Lemma 1")]),
        ("Danby and Burkardt, Celest. Mech. 31 (1983) 95", []),
    ],
)
def test_sources_are_read_as_they_are_written(source, says):
    assert list(equation_map.places(source)) == says


def test_a_file_of_tests_belongs_to_the_module_it_imports_or_to_one_that_this_uses(tmp_path):
    files = {
        "gnc/sum.py": 'def add(a, b):\n    """Add. Source: QVI eq. (1)."""\n',
        "gnc/lone.py": "def lone(): ...",
        "models/mass.py": "from gnc.sum import add",
        "tests/test_all.py": "from gnc.models import mass as m",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert Code(tmp_path).test_of("gnc.sum.add") == "tests/test_all.py" and Code(tmp_path).test_of("gnc.lone") is None
    (tmp_path / "tests" / "test_other.py").write_text("import gnc.sum\n\ngnc.sum.add(1, 1)")
    assert Code(tmp_path).test_of("gnc.sum.add") == "tests/test_other.py"
    (tmp_path / "tests" / "test_sum.py").write_text("from gnc import sum as s")
    assert Code(tmp_path).test_of("gnc.sum.add") == "tests/test_sum.py"
