"""A page with everything on it, and browsers to open pages in."""

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from gnc.scenarios.report.page import Arrow, Badge, Body, Chapter, Page, Plot, Scene, Series, Table, write_page
from gnc.scenarios.report.plot import Path as Way
from gnc.scenarios.report.plot import Shade
from gnc.scenarios.report.scene import Cone, Orbit

ARGUMENTS = ("--headless=new", "--no-sandbox", "--hide-scrollbars", "--window-size=1000,700")
SOFTWARE_GL = ("--use-angle=swiftshader", "--enable-unsafe-swiftshader")


@pytest.fixture
def page() -> Page:
    """Twenty seconds of a body that turns and moves past one that rests, on every kind of element."""
    t = 100.0 + 0.05 * np.arange(401)
    turn = Rotation.from_rotvec(np.outer(0.4 * (t - 100), [0.6, 0.0, 0.8]))
    q = turn.as_quat(scalar_first=True)
    r = np.stack([0.2 * (t - 110), np.sin(0.3 * t), np.zeros_like(t)], axis=1)
    still = np.tile([1.0, 0, 0, 0], (t.size, 1))
    bodies = [
        Body("chaser", r, q, [1.0, 0.6, 0.4]),
        Body("target", np.full((t.size, 3), 3.0), still, [1, 1, 1], "#e0a030"),
    ]
    wave = np.sin(t)
    plots = [
        Plot(
            "Error",
            "time [s]",
            "error [deg]",
            t,
            [Series("x", wave), Series("y", wave / 2, "dashed")],
            {"limit": 1.5},
            shades=[Shade("eclipse", [(105.0, 110.0)], "#667085"), Shade("contact", [(112.0, 112.0)], "#cf2b32")],
        ),
        Plot("Band", "time [s]", "error [deg]", t, [Series("3 sigma", wave, "band", wave - 1, wave + 1)]),
        Plot("Size", "time [s]", "size", t[::20] ** 1.01, [Series("z", 10.0 ** wave[::20], "points")], log_y=True),
    ]
    return Page(
        title="A passage",
        subtitle="seed 7",
        chapters=[
            Chapter(
                "Checks",
                "",
                [Table("All", ["check", "value", "holds"], [["drift", 1.25e-7, True], ["lost", 2, False]])],
            ),
            Chapter("Errors", "In words.", plots=plots),
            Chapter(
                "Flight", plots=[Way("Way", "x [m]", "y [m]", {"it": (r[:, 0], r[:, 1])})], scene=_scene(t, bodies)
            ),
        ],
        configuration='scenario = "passage"\n',
        notes=["One note."],
        badge=Badge("1 of 2 requirements failed by 3 trials", False),
    )


def _scene(t, bodies) -> Scene:
    sun = np.tile([0.0, 1, 1], (t.size, 1))
    cone = Cone("corridor", "target", (0, 0, 0), (1, 0, 0), 10.0, 2.0, 0.1)
    orbit = Orbit(np.stack([1.1 * np.cos(t), 1.1 * np.sin(t), 0 * t], axis=1), sun)
    arrows = [Arrow("Sun", "chaser", sun)]
    return Scene(t, bodies, arrows, caption="Frame: inertial.", cones=[cone], orbit=orbit)


def scene_of(page: Page) -> Scene:
    """The scene of a page."""
    found = next(chapter.scene for chapter in page.chapters if chapter.scene is not None)
    assert found is not None
    return found


def with_scene(page: Page, scene: Scene) -> Page:
    """The page with another scene."""
    return replace(page, chapters=[replace(c, scene=scene) if c.scene else c for c in page.chapters])


@pytest.fixture
def frozen(page: Page) -> Page:
    """The same page, in which nothing moves."""
    scene = scene_of(page)
    bodies = [replace(body, r=0 * body.r + body.r[0], q=0 * body.q + body.q[0]) for body in scene.bodies]
    return with_scene(page, replace(scene, bodies=bodies, orbit=None))


def start(*arguments: str):
    """A headless browser, driven without looking for a driver on the network."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    if not (browser and driver):
        pytest.skip("no chromium with chromedriver is installed; report pages go untested in a browser")
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for argument in (*ARGUMENTS, *arguments):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return webdriver.Chrome(options=options, service=webdriver.ChromeService(driver, env=dict(os.environ)))


@pytest.fixture(scope="session")
def browser() -> Iterator:
    driver = start(*SOFTWARE_GL)
    yield driver
    driver.quit()


@pytest.fixture(scope="session")
def browser_without_webgl() -> Iterator:
    driver = start("--disable-3d-apis")
    yield driver
    driver.quit()


@pytest.fixture
def show(tmp_path: Path) -> Callable:
    """Open a page and wait for the flag the viewer raises last."""

    def open_in(driver, page: Page):
        from selenium.webdriver.support.ui import WebDriverWait

        path = tmp_path / "page.html"
        write_page(path, page)
        for log in ("browser", "performance"):
            driver.get_log(log)  # what earlier pages left
        driver.get(path.as_uri())
        WebDriverWait(driver, 60).until(lambda d: d.execute_script("return window.gncReport?.ready"))
        return driver

    return open_in
