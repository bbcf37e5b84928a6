"""From a directory of results to its report page, as HTML or PDF."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gnc import config as configuration
from gnc import history
from gnc.errors import InputError
from gnc.files import read_json, read_text, replacing
from gnc.scenarios.missions.flight import Flight
from gnc.scenarios.missions.mission import Mission
from gnc.scenarios.replay.folder import ESTIMATES
from gnc.scenarios.report import campaign_page, covariance_page, flight_page, replay_page
from gnc.scenarios.report.page import Page, Shown, document, write_page
from gnc.scenarios.run import CONFIG, HISTORY, METRICS, TABLE, report

if TYPE_CHECKING:
    from xarray import Dataset

BANDS, COVARIANCE = "bands.nc", "covariance.nc"
LARGEST_FILE = 2**28  # bytes
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome", "msedge")
DRAWING_MS, LONGEST_S = 20_000, 300


def write(folder: Path, path: Path, trial: int | None = None) -> None:
    """Write the page of a flight, a campaign or a replay; as PDF if the file is called so."""
    try:
        content = page(folder, trial)
    except (KeyError, TypeError, IndexError, AttributeError, ValueError) as error:  # what damaged results lack
        if isinstance(error, InputError):
            raise
        raise InputError(f"{folder}: results are damaged ({type(error).__name__}: {error}); fly again") from error
    try:
        (_print if path.suffix.lower() == ".pdf" else write_page)(path, content)
    except OSError as error:
        raise InputError(f"--out {path}: {(error.strerror or str(error)).lower()}; give a file to write") from None


def _print(path: Path, content: Page) -> None:
    """Let a browser print the page."""
    browser = next((executable for name in BROWSERS if (executable := shutil.which(name))), None)
    if browser is None:
        raise InputError(
            f"--pdf: no browser is installed that could print ({', '.join(BROWSERS)}); print the HTML page"
        )
    with tempfile.TemporaryDirectory() as folder, replacing(path) as target:
        source = Path(folder, "page.html")
        write_page(source, content)
        printing = ["--headless=new", "--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
        printing += [
            f"--user-data-dir={folder}/profile",
            "--no-pdf-header-footer",
            f"--virtual-time-budget={DRAWING_MS}",
        ]
        command = [browser, *printing, f"--print-to-pdf={target}", source.as_uri()]
        try:
            run = subprocess.run(command, capture_output=True, timeout=LONGEST_S)
        except subprocess.TimeoutExpired:
            raise InputError(f"--pdf: {browser} did not print within {LONGEST_S} s; print the HTML page") from None
        if run.returncode or not target.is_file() or not target.stat().st_size:
            raise InputError(f"--pdf: {browser} could not print (exit code {run.returncode}); print the HTML page")


def write_flight(flight: Flight, path: Path, trial: int | None = None) -> Path:
    """Write the page of a flight that is still in memory."""
    write_page(path, of_flight(flight, trial))
    return path


def of_flight(flight: Flight, trial: int | None = None) -> Page:
    """Return the page of a flight that is still in memory."""
    _check_trial(flight.signals, trial)
    table, text = {str(k): v.values for k, v in flight.table.items()}, configuration.dump(flight.mission)
    return flight_page.page(report(flight), text, flight.mission, flight.signals, table, trial, None)


def shown(content: Page) -> Shown:
    """Return a page as notebooks show it."""
    return Shown(document(content))


def page(folder: Path, trial: int | None = None) -> Page:
    """Return the page of the results in a directory."""
    if not (folder / METRICS).is_file() or not (folder / CONFIG).is_file():
        if (beside := _covariance(folder)) is not None and trial is None:
            return covariance_page.page(folder.name, beside)
        raise InputError(f"{folder}: holds no results; give a directory of gnc run, monte-carlo, covariance or replay")
    if (folder / ESTIMATES).is_file():
        if trial is not None:
            raise InputError(f"--trial {trial}: a replay has no trials; leave it out")
        return replay_page.page(folder)
    results = read_json(folder / METRICS, LARGEST_FILE, "results of gnc")
    text = read_text(folder / CONFIG, LARGEST_FILE, "results of gnc")
    mission, beside = configuration.parse(text, Mission, str(folder / CONFIG)), _covariance(folder)
    if (folder / BANDS).is_file():
        return campaign_page.page(folder, results, text, mission, history.load(folder / BANDS), trial, beside)
    if results.get("mission_sha256", configuration.digest(mission)) != configuration.digest(mission):
        raise InputError(f"{folder / CONFIG}: is not the mission that was flown here; fly again")
    flight, table = history.load(folder / HISTORY), folder / TABLE
    _check_trial(flight, trial)
    columns = {str(k): v.values for k, v in history.load(table).items()} if table.is_file() else {}
    return flight_page.page(results, text, mission, flight, columns, trial, beside)


def _covariance(folder: Path) -> Dataset | None:
    """Return the results of `gnc covariance` that lie in a directory, if some do."""
    path = folder / COVARIANCE
    return history.load(path) if path.is_file() else None


def _check_trial(flight: Any, trial: int | None) -> None:
    numbers = flight["trial"].values.tolist()
    if trial is not None and trial not in numbers:
        raise InputError(f"--trial {trial}: not among the trials flown, {numbers[0]} to {numbers[-1]}")
