"""Report pages as files, without a browser."""

import base64
import gzip
import hashlib
import json
import re
import tomllib
from dataclasses import replace
from fnmatch import fnmatch
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from gnc.errors import InputError
from gnc.scenarios.report.page import Arrow, Body, Chapter, Page, Plot, Scene, Series, Table, write_page
from gnc.scenarios.report.scene import Cone
from tests.scenarios.report.conftest import scene_of

T = np.arange(5.0)
R, Q = np.zeros((5, 3)), np.tile([1.0, 0, 0, 0], (5, 1))


class Elements(HTMLParser):
    """The elements of a page, and the text of those with an id."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: dict[str, str] = {}
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if identity := self.tags[-1][1].get("id") if self.tags else None:
            self.text[identity] = self.text.get(identity, "") + data


def written(page: Page, folder: Path) -> Elements:
    write_page(folder / "page.html", page)
    return Elements((folder / "page.html").read_text(encoding="utf-8"))


def content(page: Page, folder: Path) -> tuple[dict, bytes]:
    """The JSON of a written page and the bytes of its numbers."""
    elements = written(page, folder)
    return json.loads(elements.text["page"]), gzip.decompress(base64.b64decode(elements.text["data"]))


def plot_content(plot: Plot, folder: Path) -> tuple[dict, bytes]:
    out, data = content(Page("t", chapters=[Chapter("c", plots=[plot])]), folder)
    return out["takes"][0]["chapters"][0]["plots"][0], data


def numbers(data: bytes, reference: dict) -> np.ndarray:
    dtype = {"f4": "<f4", "f8": "<f8"}[reference["block"]]
    return np.frombuffer(data, dtype, reference["length"], reference["offset"])


def test_a_page_refers_to_no_other_file(page: Page, tmp_path: Path) -> None:
    elements = written(page, tmp_path)
    assert [attrs for _, attrs in elements.tags if {"src", "href", "srcset", "data"} & attrs.keys()] == []
    assert {tag for tag, _ in elements.tags} == {"html", "head", "meta", "title", "style", "body", "noscript", "script"}
    style = (tmp_path / "page.html").read_text().split("<style>")[1].split("</style>")[0]
    assert "url(" not in style and "@import" not in style


def test_the_policy_lets_run_what_the_page_carries_and_nothing_else(page: Page, tmp_path: Path) -> None:
    elements = written(page, tmp_path)
    (policy,) = [a["content"] for tag, a in elements.tags if tag == "meta" and "http-equiv" in a]
    script = re.search(r"<script>(.*)</script>", (tmp_path / "page.html").read_text(), re.DOTALL)
    assert script and policy
    digest = base64.b64encode(hashlib.sha256(script[1].encode()).digest()).decode()
    assert policy.startswith("default-src 'none'; ")
    assert f"script-src 'sha256-{digest}';" in policy
    assert "unsafe" not in policy


def test_numbers_come_back_as_float32(page: Page, tmp_path: Path) -> None:
    out, data = content(page, tmp_path)
    chapters = out["takes"][0]["chapters"]
    for plot, given in zip(chapters[1]["plots"], page.chapters[1].plots, strict=True):
        for series, origin in zip(plot["series"], given.series, strict=True):
            np.testing.assert_array_equal(numbers(data, series["y"]), origin.y.astype(np.float32))
    for body, origin in zip(chapters[2]["scene"]["bodies"], scene_of(page).bodies, strict=True):
        np.testing.assert_array_equal(numbers(data, body["r"]).reshape(-1, 3), origin.r.astype(np.float32))
        np.testing.assert_array_equal(numbers(data, body["q"]).reshape(-1, 4), origin.q.astype(np.float32))


def test_uniform_times_are_three_doubles_exact_to_round_off(tmp_path: Path) -> None:
    t = 1e6 + 0.1 * np.arange(60_001)
    reference = plot_content(Plot("p", "t", "y", t, [Series("y", t)]), tmp_path)[0]["t"]
    assert reference.keys() == {"t0", "dt", "n"}
    again = reference["t0"] + np.arange(reference["n"]) * reference["dt"]
    np.testing.assert_allclose(again, t, rtol=0, atol=4 * np.spacing(1e6))


def test_uneven_times_come_back_to_the_last_bit(tmp_path: Path) -> None:
    t = np.cumsum(0.1 + 1e-4 * np.sin(np.arange(1001.0)))
    plot = Plot("p", "t", "y", t, [Series("y", t[:] * 0 + 1)])
    out, data = plot_content(plot, tmp_path)
    np.testing.assert_array_equal(numbers(data, out["t"]), t)


def test_missing_samples_stay_missing(tmp_path: Path) -> None:
    y = np.array([1.0, np.nan, 1e300, -np.inf, 2.0])
    out, data = plot_content(Plot("p", "t", "y", T, [Series("y", y)]), tmp_path)
    np.testing.assert_array_equal(np.isfinite(numbers(data, out["series"][0]["y"])), [1, 0, 0, 0, 1])


def test_no_text_of_a_page_can_end_its_element(tmp_path: Path) -> None:
    hostile = "</script></title><img src=x onerror=alert(1)>&lt;<!--<script>"
    page = Page(hostile, hostile, [Chapter(hostile, "", [Table(hostile, [hostile], [[hostile]])])], hostile, [hostile])
    elements = written(page, tmp_path)
    assert [tag for tag, _ in elements.tags].count("script") == 3
    assert "img" not in {tag for tag, _ in elements.tags}
    assert not set("<>&") & set(elements.text["page"])
    out = json.loads(elements.text["page"])
    assert [
        out["title"],
        out["subtitle"],
        out["takes"][0]["chapters"][0]["tables"][0]["rows"][0][0],
        out["notes"][0],
    ] == [hostile] * 4


def test_numpy_and_missing_values_may_stand_in_a_table(tmp_path: Path) -> None:
    row = [np.bool_(True), np.float64(0.1), np.int64(7), float("nan"), None, "text"]
    out, _ = content(Page("t", chapters=[Chapter("c", "", [Table("a", list("abcdef"), [row])])]), tmp_path)
    expected = [True, {"number": "0.1"}, {"number": "7"}, {"number": "nan"}, None, "text"]
    assert out["takes"][0]["chapters"][0]["tables"][0]["rows"] == [expected]


def test_the_same_page_gives_the_same_bytes(page: Page, tmp_path: Path) -> None:
    for name in ("a.html", "b.html"):
        write_page(tmp_path / name, page)
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_a_page_that_cannot_be_written_leaves_the_earlier_one(page: Page, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text("earlier")
    with pytest.raises(TypeError):
        write_page(tmp_path / "page.html", replace(page, notes=[object()]))  # type: ignore[list-item]
    assert [path.read_text() for path in tmp_path.iterdir()] == ["earlier"]


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Table("a", ["x", "y"], [[1]]), "table 'a': row 0 has 1 cells for 2 columns"),
        (lambda: Series("a", T, "dotted"), "style of 'a': 'dotted' is not one of"),
        (lambda: Series("a", T, "band", lower=T), "series 'a': a band has lower and upper"),
        (lambda: Series("a", T, "line", lower=T, upper=T), "series 'a': a band has lower and upper"),
        (lambda: Series("a", None), "series 'a': y is missing"),
        (lambda: Plot("p", "t", "y", T, [Series("a", T[:4])]), "series 'a' of plot 'p'.*(5,).*(4,)"),
        (lambda: Plot("p", "t", "y", T[::-1], [Series("a", T)]), "t of plot 'p': 3 follows 4 at 1; give times"),
        (lambda: Plot("p", "t", "y", T, [], {"limit": np.nan}), "bound 'limit' of plot 'p'.*not finite"),
        (lambda: Body("b", R, Q, [1, 1, 0]), "size_m of 'b'.*not positive"),
        (lambda: Body("b", R, Q, [1, 1, 1], "red"), "colour of 'b': 'red' is not a colour; write it as '#5b8def'"),
        (lambda: Scene(T, []), "bodies of the scene: .*give one or more"),
        (lambda: Scene(T, [Body("b", R, Q, [1, 1, 1])] * 2), "each with a name of its own"),
        (lambda: Scene(T, [Body("b", R[1:], Q, [1, 1, 1])]), "r of 'b'.*(5, 3).*(4, 3)"),
        (lambda: Scene(T[:1], [Body("b", R[:1], Q[:1], [1, 1, 1])]), "at least 2 times"),
        (
            lambda: Scene(T, [Body("b", R, Q, [1, 1, 1])], [Arrow("a", "c", R)]),
            "body of arrow 'a': 'c' is not one of 'b'",
        ),
        (
            lambda: Scene(T, [Body("b", R, Q, [1, 1, 1])], cones=[Cone("a", "c", R[0], R[0], 10.0)]),
            "body of cone 'a': 'c' is not one of 'b'",
        ),
    ],
)
def test_what_cannot_be_shown_is_refused_in_one_line(build, message: str) -> None:
    with pytest.raises(InputError, match=message.replace("(", r"\(").replace(")", r"\)")) as caught:
        build()
    assert "\n" not in str(caught.value)


def test_takes_that_share_numbers_store_them_once(page: Page, tmp_path: Path) -> None:
    one, _ = content(page, tmp_path)
    two, data = content(replace(page, chapters=(), takes={"a": page.chapters, "b": page.chapters}), tmp_path)
    assert [take["chapters"] for take in two["takes"]] == [one["takes"][0]["chapters"]] * 2


def test_a_transient_yields_the_axis_to_what_is_settled() -> None:
    t = np.arange(100.0)
    transient = Plot("p", "t", "y", t, [Series("y", 100.0 * np.exp(-t) + np.sin(t))], {"limit": 2.0})
    low, high = transient.settled or (0.0, 0.0)
    assert -1.5 < low < -1.0 and 2.0 < high < 2.5
    assert Plot("p", "t", "y", t, [Series("y", np.sin(t))], {"limit": 2.0}).settled is None


def test_the_committed_bundle_was_built_from_the_committed_source(repository: Path) -> None:
    report = repository / "scenarios" / "report"
    source = b"".join(path.read_bytes() for path in sorted((report / "viewer" / "src").iterdir()))
    built_from = (report / "bundle" / "viewer.js").read_text().split("*/")[0]
    assert built_from == f"/* built from src {hashlib.sha256(source).hexdigest()} "


def test_the_bundle_is_installed_with_the_package(repository: Path) -> None:
    settings = tomllib.loads((repository / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]
    files = [path.name for path in (repository / "scenarios" / "report" / "bundle").iterdir()]
    assert set(files) == {"LICENSES.txt", "viewer.css", "viewer.js"}
    assert all(fnmatch(f"bundle/{name}", settings["gnc.scenarios.report"][0]) for name in files)


def test_the_lock_of_the_viewer_pins_contents_and_names_no_host(repository: Path) -> None:
    lock = (repository / "scenarios" / "report" / "viewer" / "package-lock.json").read_text()
    packages = {name: entry for name, entry in json.loads(lock)["packages"].items() if name}
    assert {"node_modules/three", "node_modules/uplot", "node_modules/esbuild"} <= packages.keys()
    assert all("integrity" in entry for entry in packages.values())
    assert "://" not in lock and "resolved" not in lock
