"""The notebooks of the documentation run from top to bottom, and tell what they show as HTML."""

from pathlib import Path

import pytest

nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed; notebooks go untested")
nbformat = pytest.importorskip("nbformat")
pytest.importorskip("ipykernel", reason="ipykernel is not installed; notebooks go untested")

FOLDER = Path(__file__).parents[2] / "docs" / "notebooks"
SHOWS = {"first_flight": 6, "own_law": 1, "filter_and_sensors": 2}  # cells that answer with HTML or a picture


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] * (n == "own_law")) for n in SHOWS])
def test_a_notebook_runs_from_top_to_bottom(name, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(FOLDER.parents[1]))
    book = nbformat.read(FOLDER / f"{name}.ipynb", 4)
    assert all(not cell.get("outputs") for cell in book.cells)  # outputs are not committed
    nbclient.NotebookClient(book, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    kinds = [set(output.get("data", {})) for cell in book.cells for output in cell.get("outputs", ())]
    assert sum(bool(kind & {"text/html", "image/png"}) for kind in kinds) >= SHOWS[name]


def test_every_notebook_is_run():
    assert {path.stem for path in FOLDER.glob("*.ipynb")} == set(SHOWS)
