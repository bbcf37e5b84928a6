"""The report page: what it says, and the one self-contained file it becomes."""

import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gnc.errors import InputError
from gnc.files import replacing
from gnc.scenarios.report import plot as described
from gnc.scenarios.report.blocks import Blocks, encoded, encoded_fields
from gnc.scenarios.report.plot import Plot, Series
from gnc.scenarios.report.scene import Arrow, Body, Scene

__all__ = [
    "Arrow", "Badge", "Bar", "Body", "Chapter", "Page", "Plot", "Scene", "Series", "Table", "write_page"
]  # fmt: skip


class Bar(NamedTuple):
    """A number in a table, drawn as a bar too."""

    value: float
    of: float = 1.0  # the whole
    percent: bool = True


class Badge(NamedTuple):
    """The verdict beside the title; None is neither good nor bad."""

    text: str
    ok: bool | None


Cell = str | bool | int | float | Bar | None


@dataclass(frozen=True)
class Table:
    """Rows under named columns; a bool is shown as pass or fail, None as an empty cell."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]

    def __post_init__(self) -> None:
        for k, row in enumerate(self.rows):
            if len(row) != len(self.columns):
                raise InputError(f"table {self.title!r}: row {k} has {len(row)} cells for {len(self.columns)} columns")

    def encoded(self, blocks: Blocks) -> dict[str, Any]:
        """The JSON object of this table."""
        return encoded_fields(self, blocks, rows=[[_cell(cell) for cell in row] for row in self.rows])


@dataclass(frozen=True)
class Chapter:
    """One question of the story that a page tells, with what answers it."""

    title: str
    lead: str = ""
    tables: Sequence[Table] = ()
    plots: Sequence[Plot | described.Path] = ()
    scene: Scene | None = None
    folded: bool = False


@dataclass(frozen=True)
class Page:
    """Everything a report shows; all of its text is shown as it is, never as HTML."""

    title: str
    subtitle: str = ""
    chapters: Sequence[Chapter] = ()
    configuration: str = ""  # TOML
    notes: Sequence[str] = ()
    badge: Badge | None = None
    takes: Mapping[str, Sequence[Chapter]] = field(default_factory=dict)  # by name, in place of `chapters`: trials

    def encoded(self, blocks: Blocks) -> dict[str, Any]:
        """The JSON object of this page."""
        takes = [{"name": n, "chapters": encoded(x, blocks)} for n, x in (self.takes or {"": self.chapters}).items()]
        return encoded_fields(self, blocks, takes=takes, chapters=[], licences=_bundled("LICENSES.txt"))


@dataclass(frozen=True)
class Shown:
    """A page in a notebook."""

    html: str

    def __repr__(self) -> str:
        return f"<page of {len(self.html) // 1000} kB>"

    def _repr_html_(self) -> str:
        return f'<iframe srcdoc="{escape(self.html)}" width="100%" height="720" style="border:0"></iframe>'


def write_page(path: Path, page: Page) -> None:
    """Write the page as one HTML file that needs nothing else: no server, no network."""
    html = document(page)
    with replacing(Path(path)) as temporary:
        temporary.write_text(html, encoding="utf-8", newline="\n")


def document(page: Page) -> str:
    """Return the page as HTML."""
    blocks = Blocks()
    content = _json(page.encoded(blocks))
    style, script = _bundled("viewer.css"), _bundled("viewer.js")
    # By their hashes the viewer and its style are all a browser will run or apply, whatever the content holds.
    policy = f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; base-uri 'none'"
    return "\n".join(
        [
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(page.title)}</title>\n<style>{style}</style>\n</head>\n<body>",
            "<noscript>This report is drawn by a script inside the file; allow JavaScript to see it.</noscript>",
            f'<script type="application/json" id="page">{content}</script>',
            f'<script type="text/plain" id="data">{blocks.text()}</script>',
            f"<script>{script}</script>\n</body>\n</html>\n",
        ]
    )


def _json(value: Any) -> str:
    """JSON in which nothing can end the script element around it."""
    text = json.dumps(value, allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _cell(cell: Any) -> Any:
    """A cell for the viewer: a string, a bool, None, or the text of a number that is set to the right."""
    if isinstance(cell, Bar):
        share = float(np.nan_to_num(cell.value / cell.of))
        return {"number": f"{100.0 * share:.3g} %" if cell.percent else f"{cell.value:.3g}", "bar": share}
    if isinstance(cell, bool | np.bool_):
        return bool(cell)
    if isinstance(cell, int | np.integer):
        return {"number": str(cell)}
    if isinstance(cell, float | np.floating):
        return {"number": f"{cell:.6g}"}
    return cell


def _bundled(name: str) -> str:
    return (resources.files("gnc.scenarios.report") / "bundle" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
