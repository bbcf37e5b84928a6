"""C of a loop's flight software: the bits of every step of a flight, in its test program and in the loop."""

import dataclasses
import os
import re
import shutil
import subprocess

import numpy as np
import pytest

from gnc import __version__
from gnc.errors import InputError
from gnc.export import Component, Software, export_component
from gnc.export.aboard import Aboard, Library
from gnc.loop import Controller, Instrument, Loop
from gnc.noise import Stream
from gnc.trees import leaves
from tests.gnc.export.test_kernel_files import built
from tests.gnc.test_compiled_loop import Branching, Cart, Filter, H, Law, Line, Track, look, predicted

pytestmark = [pytest.mark.jit, pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")]


class Repeating(Filter):
    """Predicts in small steps, as many as the time asks for."""

    def predict(self, belief, command, report, t, h):
        belief = super().predict(belief, command, report, t, h)
        x, v, P = predicted.repeat(round(4 * h), belief.x, belief.v, belief.P, 0.1 * t, 0.01)
        return Track(x, v, P, belief.inside)


def begun(navigation, law, latency, trials=2):
    """Return a loop of some trials, and what these begin with."""
    instruments = [
        Instrument("a", 1.0, look, Stream(1, trials, "a", 2), latency),
        Instrument("cart.b", 1.5, look, Stream(1, trials, "b", 2)),
    ]
    ones, controller = np.ones(trials), Controller(law, 2.0, (np.zeros(trials),))
    loop = Loop(H, 20.0, Cart(ones), instruments, navigation, controller, record_s=H)
    belief = Track(ones, 0.0 * ones, np.tile(np.eye(2), (trials, 1, 1)), (ones, None))
    return loop, (Line(ones, np.arange(1.0, trials + 1), "cart"), belief, (np.zeros(trials),))


def component(*parts, **options):
    loop, start = begun(*parts)
    return Component(Software(loop, *start), "software", **options), start[0]


def aboard(exported, loop, start, folder):
    parameters = exported.software.parameters_of(Software(loop, *start))
    return Aboard(exported, (start[1], loop.controller.idle, start[2]), parameters, Library(folder, exported))


def flown(loop, start):
    """Return all numbers of all ticks, and all innovations."""
    moments, worth = [], []
    loop.fly(*start, lambda one: moments.append(one), lambda *one: worth.append(one))
    return [leaf for tree in (moments, worth) for one in tree for leaf in leaves(tuple(one))]


def same(first, second):
    pairs = zip(first, second, strict=True)
    return all(a is b or a == b if isinstance(a, (str, type(None))) else np.array_equal(a, b) for a, b in pairs)


@pytest.mark.parametrize("latency", [0.0, 1.0], ids=["prompt", "late"])
@pytest.mark.parametrize("navigation", [Filter(), Repeating()], ids=["filter", "repeated kernel"])
def test_the_c_of_the_software_has_the_bits_of_python(navigation, latency, tmp_path):
    exported, truth = component(navigation, Law(), latency)
    export_component(exported, truth, tmp_path, {}, sizes=False)
    for optimisation in ("-O0", "-O2"):
        assert built(tmp_path, optimisation).endswith(" steps, 0 numbers differ, 0 errors\n")
    header = (tmp_path / "software.h").read_text()
    assert "real_t P[4];" in header and "real_t report;" in header and "software_B 4u /* cart.b */" in header
    assert re.search(r"TICK_S\) [<>]=? 7\.0", (tmp_path / "software.c").read_text())  # the filter asks the time
    for compiled in (False, True):
        loop, start = begun(navigation, Law(), latency, 5)
        python = flown(dataclasses.replace(loop, compiled=compiled), start)
        loop, start = begun(navigation, Law(), latency, 5)
        code = aboard(exported, loop, start, tmp_path)
        assert same(flown(dataclasses.replace(loop, compiled=compiled, flight_code=code), start), python)


def test_a_law_that_cannot_be_recorded_cannot_be_exported():
    with pytest.raises(InputError, match="flight software cannot be exported: command: TypeError: .* may not branch"):
        component(Filter(), Branching(), 0.0)


def test_another_version_configuration_or_layout_is_refused(tmp_path):
    exported, truth = component(Filter(), Law(), 0.0)
    export_component(exported, truth, tmp_path, {}, sizes=False)
    header, text = tmp_path / "software.h", (tmp_path / "software.h").read_text()
    changes = {
        "written by gnc 9.9, and this is": (f'VERSION "{__version__}"', 'VERSION "9.9"'),
        "its configuration has the hash": ('HASH "', 'HASH "0'),
        "wrong ABI: .* bytes of a number are": ("typedef double", "typedef float"),
    }
    for message, change in changes.items():
        assert change[0] in text
        header.write_text(text.replace(*change))
        with pytest.raises(InputError, match=message):
            Library(tmp_path, exported)
    other, _ = component(Repeating(), Law(), 0.0)
    single, _ = component(Filter(), Law(), 0.0, single=True)
    assert len({exported.hash, other.hash, single.hash, component(Filter(), Law(), 1.0)[0].hash}) == 4


def test_single_precision_is_near_and_has_no_double(tmp_path):
    exported, truth = component(Repeating(), Law(), 0.0, single=True)
    export_component(exported, truth, tmp_path, {}, sizes=False)
    loop, start = begun(Repeating(), Law(), 0.0, 5)
    python = flown(loop, start)
    loop, start = begun(Repeating(), Law(), 0.0, 5)
    code = aboard(exported, loop, start, tmp_path)
    near = flown(dataclasses.replace(loop, flight_code=code), start)
    numbers = [(a, b) for a, b in zip(python, near, strict=True) if isinstance(a, np.ndarray)]
    assert any(not np.array_equal(a, b) for a, b in numbers)
    assert all(np.allclose(a, b, rtol=1e-4, atol=1e-4) for a, b in numbers)


def checked_by_tools(folder, name):
    """Run the test program under sanitisers and valgrind, and cppcheck on the sources."""
    for flags in ("-O1 -g -fsanitize=undefined,address", "-O1 -g"):
        built(folder, flags)
    subprocess.run(["valgrind", "-q", "--error-exitcode=1", "./main_test"], cwd=folder, check=True)
    checks = ["--enable=warning,portability,performance", "--error-exitcode=1", "--suppress=missingIncludeSystem"]
    sources = [f"{name}.c", f"{name}_wire.c", "server.c", "main_test.c"]
    run = subprocess.run(["cppcheck", "--std=c99", "-q", *checks, *sources], cwd=folder, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def test_sanitisers_valgrind_and_cppcheck_find_nothing(tmp_path):
    missing = [tool for tool in ("valgrind", "cppcheck") if shutil.which(tool) is None]
    if missing and os.environ.get("GNC_COMPILERS") != "required":
        pytest.skip(f"not installed: {', '.join(missing)}")
    exported, truth = component(Repeating(), Law(), 1.0)
    export_component(exported, truth, tmp_path, {}, sizes=False)
    checked_by_tools(tmp_path, "software")
