"""How the site is built: docstrings as they stand, every module in the reference, nothing from other hosts."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from docs import offline, plain_docstrings

ROOT = Path(__file__).resolve().parents[2]


def test_marks_of_docstrings_are_shown_and_not_read_as_markup():
    made = plain_docstrings.as_rst(["Return |p|^2 of `q_IB`, a_b * c.", "", "    a *b*", "    |c|", "", "More_ text."])
    assert made[0] == r"Return \|p\|^2 of ``q_IB``, a\_b \* c."
    assert made[2:6] == ["::", "", "    a *b*", "    |c|"]
    assert made[-1] == r"More\_ text." and made[-2] == ""


@pytest.mark.parametrize(
    "text",
    [
        '<script src="https://cdn.example/x.js">',
        "<link rel=stylesheet href=//fonts.example/a.css>",
        '<img alt="a" src="http://x.example/a.png">',
        "@import url('https://fonts.example/a.css')",
        "background: url(//x.example/a.png)",
    ],
)
def test_what_a_page_loads_from_another_host_is_found(text):
    assert offline.loads(text)


@pytest.mark.parametrize(
    "text", ['<a href="https://example.org">paper</a>', '<script src="_static/a.js">', "url(a.png)"]
)
def test_links_to_follow_and_files_of_the_site_are_no_offence(text):
    assert not offline.loads(text)


def test_every_page_is_reached_from_the_first():
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    listed = {line for block in re.findall(r"```{toctree}\n(.*?)```", index, re.S) for line in block.splitlines()}
    pages = {str(p.relative_to(ROOT / "docs").with_suffix("")) for p in (ROOT / "docs").rglob("*.md")}
    assert pages - {"index"} <= listed


@pytest.mark.slow
def test_the_site_builds_without_a_warning_and_has_every_module_and_equation_function(tmp_path):
    pytest.importorskip("sphinx", reason="pip install -e .[docs]")
    site = tmp_path / "site"
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-W",
        "--keep-going",
        "-q",
        "-d",
        str(tmp_path / "trees"),
        "docs",
        str(site),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    offline.check(site)
    quaternion = (site / "api" / "gnc.html").read_text(encoding="utf-8")
    assert 'id="gnc.quaternion.mul"' in quaternion and "(4),(4)-&gt;(4)" in quaternion
    assert 'href="api/gnc.html#gnc.quaternion.mul"' in (site / "equations.html").read_text(encoding="utf-8")
