"""Report pages in a real browser; what needs no scene runs without WebGL, where a page loads several times faster."""

import base64
import io
import json
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image
from scipy.spatial.transform import Rotation, Slerp

from gnc.scenarios.report.page import Arrow, Chapter, Page, Plot, Series, Table
from tests.scenarios.report.conftest import scene_of, with_scene

MOVED_PIXELS = 200
HOSTILE = '</script><img src="x" onerror="window.ran = 1"><script>window.ran = 1</script>'


def scrub(driver, t: float) -> None:
    """Set the slider as a hand would."""
    slider = "const slider = document.getElementById('scrub'); slider.value = arguments[0];"
    driver.execute_script(f"{slider} slider.dispatchEvent(new Event('input'))", t)


def shown_quaternion(driver, body: str) -> np.ndarray:
    text = driver.execute_script(
        "return document.querySelector(`dd[data-name='${arguments[0]}'][data-quantity='quaternion']`).textContent", body
    )
    return np.array([float(word) for word in text.split()])


def drawn_quaternion(driver) -> np.ndarray:
    """Of the first body in the scene graph, which is what the renderer draws."""
    return np.array(
        driver.execute_script("const q = gncReport.view.bodies[0].group.quaternion; return [q.w, q.x, q.y, q.z]")
    )


def picture(driver) -> np.ndarray:
    """The scene as drawn, once two frames have passed."""
    driver.execute_async_script("const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(done))")
    png = driver.execute_script("return document.getElementById('scene').toDataURL().split(',')[1]")
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(png))).convert("RGB")).astype(int)


def pixels_changed_by_play(driver, until: float = 102.0) -> int:
    from selenium.webdriver.support.ui import WebDriverWait

    before = picture(driver)
    driver.find_element("css selector", "#speed option[value='5']").click()
    driver.find_element("id", "play").click()
    WebDriverWait(driver, 60).until(lambda d: d.execute_script(f"return gncReport.player.t > {until}"))
    driver.find_element("id", "play").click()
    return int((np.abs(picture(driver) - before).max(axis=2) > 8).sum())


def test_a_page_gets_ready_without_a_message_on_the_console(browser, show: Callable, page: Page) -> None:
    assert show(browser, page).get_log("browser") == []


def test_a_page_requests_nothing_but_itself(browser, show: Callable, page: Page) -> None:
    driver = show(browser, page)
    events = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    requested = [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]
    assert requested == [driver.current_url]
    assert driver.execute_script("return performance.getEntriesByType('resource').length") == 0


def test_the_scene_moves_after_play(browser, show: Callable, page: Page) -> None:
    assert pixels_changed_by_play(show(browser, page)) > MOVED_PIXELS


def test_a_frozen_scene_is_told_from_one_that_moves(browser, show: Callable, frozen: Page) -> None:
    assert pixels_changed_by_play(show(browser, frozen)) <= MOVED_PIXELS


def test_scrubbing_to_a_sample_shows_the_logged_quaternion(browser, show: Callable, page: Page) -> None:
    driver = show(browser, page)
    body, t = scene_of(page).bodies[0], scene_of(page).t
    for k in (0, 137, 256, t.size - 1):
        scrub(driver, t[k])
        np.testing.assert_allclose(shown_quaternion(driver, "chaser"), body.q[k], atol=1e-5)
        np.testing.assert_allclose(drawn_quaternion(driver), body.q[k], atol=1e-5)


@pytest.mark.slow
def test_between_samples_the_body_turns_at_constant_rate(browser, show: Callable, page: Page) -> None:
    body = scene_of(page).bodies[0]
    bodies = [replace(body, r=body.r[::100], q=body.q[::100])]
    few = replace(scene_of(page), t=scene_of(page).t[::100], bodies=bodies, arrows=(), cones=(), orbit=None)
    driver = show(browser, with_scene(page, few))
    scrub(driver, 107.3)
    exact = Slerp(few.t, Rotation.from_quat(few.bodies[0].q, scalar_first=True))(107.3)
    drawn = Rotation.from_quat(drawn_quaternion(driver), scalar_first=True)
    assert (drawn.inv() * exact).magnitude() < 1e-6


def test_a_click_in_a_plot_scrubs_the_player_and_the_other_plots(
    browser_without_webgl, show: Callable, page: Page
) -> None:
    from selenium.webdriver import ActionChains

    driver = show(browser_without_webgl, page)
    first, second = driver.find_elements("css selector", ".u-over")[:2]
    driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", first)
    width, right_of_middle = first.size["width"], 60
    ActionChains(driver).move_to_element_with_offset(first, right_of_middle, 0).click().perform()
    expected, pixel = 100 + 20 * (0.5 + right_of_middle / width), 20 / width
    assert driver.execute_script("return gncReport.player.t") == pytest.approx(expected, abs=1.5 * pixel)
    assert float(driver.find_element("id", "scrub").get_property("value")) == pytest.approx(expected, abs=1.5 * pixel)
    line = second.find_element("class name", "now")
    assert line.rect["x"] + 1 - second.rect["x"] == pytest.approx(width * (expected - 100) / 20, abs=2)


@pytest.mark.slow
def test_following_a_body_keeps_it_at_the_centre_of_the_view(browser, show: Callable, page: Page) -> None:
    driver = show(browser, page)
    driver.find_element("css selector", "#follow option:nth-child(2)").click()
    scrub(driver, scene_of(page).t[300])
    target = driver.execute_script("return gncReport.view.controls.target.toArray()")
    np.testing.assert_allclose(target, scene_of(page).bodies[0].r[300], atol=1e-5)


def test_pass_and_fail_are_words_and_the_verdict_counts_them(browser_without_webgl, show: Callable, page: Page) -> None:
    driver = show(browser_without_webgl, page)
    assert [mark.text for mark in driver.find_elements("css selector", "td .mark")] == ["✓ pass", "✗ fail"]
    assert driver.find_element("id", "verdict").text == "✗ 1 of 2 requirements failed by 3 trials"


def test_hostile_text_is_shown_and_does_not_run(browser, show: Callable, page: Page) -> None:
    hostile_bodies = [replace(scene_of(page).bodies[0], name=HOSTILE)]
    arrow = Arrow(HOSTILE, HOSTILE, scene_of(page).bodies[0].r)
    t = scene_of(page).t
    driver = show(
        browser,
        Page(
            title=HOSTILE,
            subtitle=HOSTILE,
            chapters=[
                Chapter(
                    HOSTILE,
                    HOSTILE,
                    [Table(HOSTILE, [HOSTILE], [[HOSTILE]])],
                    [Plot(HOSTILE, HOSTILE, HOSTILE, t, [Series(HOSTILE, t)], {HOSTILE: 1.0})],
                    replace(scene_of(page), bodies=hostile_bodies, arrows=[arrow], caption=HOSTILE, cones=()),
                )
            ],
            configuration=HOSTILE,
            notes=[HOSTILE],
        ),
    )
    assert driver.execute_script("return window.ran") is None
    assert driver.execute_script("return [document.images.length, document.scripts.length]") == [0, 3]
    assert driver.title == HOSTILE
    assert driver.find_element("tag name", "h1").text.strip() == HOSTILE
    assert driver.get_log("browser") == []


def test_the_policy_refuses_any_script_but_the_viewer(browser_without_webgl, show: Callable, page: Page) -> None:
    driver = show(browser_without_webgl, page)
    added = "const s = document.createElement('script'); s.textContent = 'window.ran = 1'; document.body.append(s)"
    driver.execute_script(added)
    assert driver.execute_script("return window.ran") is None
    assert "Content Security Policy" in driver.get_log("browser")[0]["message"]


def test_a_lost_body_vanishes_when_it_is_lost(browser, show: Callable, page: Page) -> None:
    body = scene_of(page).bodies[0]
    lost = replace(body, r=body.r.copy(), q=body.q.copy())
    lost.r[200:], lost.q[200:] = np.nan, np.nan
    driver = show(browser, with_scene(page, replace(scene_of(page), bodies=[lost], cones=())))
    visible = []
    for k in (199, 200):
        scrub(driver, scene_of(page).t[k])
        visible.append(driver.execute_script("return gncReport.view.bodies[0].group.visible"))
    picture(driver)
    assert visible == [True, False]
    assert driver.get_log("browser") == []


def test_without_webgl_one_line_says_so_and_the_rest_stands(browser_without_webgl, show: Callable, page: Page) -> None:
    driver = show(browser_without_webgl, page)
    assert driver.find_element("id", "no-scene").text.startswith("No 3-D scene: this browser offers no WebGL")
    assert driver.find_elements("id", "scene") == []
    assert len(driver.find_elements("css selector", ".plot canvas")) == 3
    scrub(driver, scene_of(page).t[137])
    np.testing.assert_allclose(shown_quaternion(driver, "chaser"), scene_of(page).bodies[0].q[137], atol=1e-5)
    assert driver.get_log("browser") == []


def test_a_page_of_text_alone_gets_ready(browser_without_webgl, show: Callable) -> None:
    driver = show(browser_without_webgl, Page("Only a title"))
    assert driver.find_elements("id", "player") == []
    assert driver.get_log("browser") == []


def test_another_trial_is_shown_when_it_is_chosen(browser, show: Callable, page: Page) -> None:
    scene = scene_of(page)
    other = with_scene(page, replace(scene, bodies=[replace(b, q=np.roll(b.q, 40, axis=0)) for b in scene.bodies]))
    driver = show(browser, replace(page, chapters=(), takes={"trial 0": page.chapters, "trial 7": other.chapters}))
    scrub(driver, scene.t[137])
    driver.find_element("css selector", "#take option:nth-child(2)").click()
    assert driver.execute_script("return [gncReport.take, gncReport.player.t]") == [1, pytest.approx(scene.t[137])]
    np.testing.assert_allclose(drawn_quaternion(driver), scene.bodies[0].q[97], atol=1e-5)
    assert driver.get_log("browser") == []


def test_in_the_frame_of_a_body_that_body_rests_and_others_keep_their_distance(browser, show, page: Page) -> None:
    driver, scene = show(browser, page), scene_of(page)
    driver.execute_script("gncReport.view.sitOn('chaser')")
    for k in (0, 300):
        scrub(driver, scene.t[k])
        picture(driver)
        places = driver.execute_script(
            "return gncReport.view.bodies.map(({group}) => { group.updateWorldMatrix(true); "
            "const e = group.matrixWorld.elements; return [e[12], e[13], e[14]] })"
        )
        expected = Rotation.from_quat(scene.bodies[0].q[k], scalar_first=True).inv().apply(3.0 - scene.bodies[0].r[k])
        np.testing.assert_allclose(places, [np.zeros(3), expected], atol=1e-5)


@pytest.mark.parametrize("width", [400, 1280])
def test_nothing_is_wider_than_the_screen(browser_without_webgl, show: Callable, page: Page, width: int) -> None:
    wide = Table("Wide", [f"column {k}" for k in range(9)], [[f"value-{k}" * 3 for k in range(9)]])
    size = {"width": width, "height": 700, "deviceScaleFactor": 1, "mobile": False}
    browser_without_webgl.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    story = [*page.chapters, Chapter("More", "", [wide])]
    takes = {"trial 0": story, "trial 7, worst " + "of a long name " * 9: story}
    driver = show(browser_without_webgl, replace(page, takes=takes))
    assert driver.execute_script("return document.documentElement.scrollWidth") <= width
    cut = "return [...document.querySelectorAll('.scroll')].filter((e) => e.scrollWidth > e.clientWidth + 1).length"
    assert driver.execute_script(cut) == 0
    browser_without_webgl.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_in_print_no_plot_is_cut_and_no_chapter_lies_on_another(browser, show: Callable, page: Page) -> None:
    driver = show(browser, page)
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    driver.execute_script("dispatchEvent(new Event('beforeprint'))")
    cut = """const right = (e) => e.getBoundingClientRect().right;
    return [...document.querySelectorAll(".plot canvas")].map((e) => right(e.closest(".card")) - right(e))"""
    assert len(rooms := driver.execute_script(cut)) == 3 and min(rooms) >= 0.0
    edges = """return [...document.querySelectorAll(".chapter > *")].map((e) => e.getBoundingClientRect())
    .map(({ top, bottom }) => [top, bottom])"""
    tops, bottoms = np.array(driver.execute_script(edges)).T
    assert (tops[1:] >= bottoms[:-1]).all()
    driver.execute_script("dispatchEvent(new Event('afterprint'))")
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
