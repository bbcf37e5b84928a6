"""How Sphinx builds the site: `make docs`. Pages are Markdown; the API reference is made from the docstrings."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from docs import api_pages, offline, plain_docstrings
from gnc import __version__

project, version, release = "gnc", __version__, __version__
extensions = ["myst_parser", "sphinx.ext.autodoc"]
exclude_patterns = ["**/__pycache__"]
root_doc = "index"
highlight_language = "none"  # equations in docstrings are no Python
html_theme = "furo"
html_title = f"gnc {__version__}"
html_static_path = ["style"]
html_css_files = ["tables.css"]
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_typehints_format = "short"
autodoc_type_aliases = {name: name for name in ("Array", "ArrayLike", "State")}  # not what they stand for
suppress_warnings = ["ref.python"]  # a short name of a type that several modules have, such as State, links to none
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 100
toc_object_entries_show_parents = "hide"


def setup(app: Any) -> None:
    """Connect what the project adds."""
    app.connect("builder-inited", lambda app: api_pages.write(Path(app.srcdir, "api")))
    app.connect("source-read", api_pages.link_names)
    app.connect("autodoc-process-docstring", plain_docstrings.process)
    app.connect("autodoc-skip-member", plain_docstrings.skip_fields)
    app.connect("build-finished", _check_offline)


def _check_offline(app: Any, error: Exception | None) -> None:
    if error is None:
        offline.check(Path(app.outdir))
