"""C of a loop's flight software: the bits of every tick of a flight."""

import shutil

import numpy as np
import pytest

from gnc.export import Software, export_software
from gnc.flying import State
from gnc.loop import Controller, Instrument, Loop
from gnc.noise import Stream
from tests.gnc.export.test_kernel_files import built
from tests.gnc.test_compiled_loop import Branching, Cart, Filter, H, Law, Line, Track, look, predicted

pytestmark = [pytest.mark.jit, pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")]


class Repeating(Filter):
    """Predicts in small steps, as many as the time asks for."""

    def predict(self, belief, command, report, t, h):
        belief = super().predict(belief, command, report, t, h)
        x, v, P = predicted.repeat(round(4 * h), belief.x, belief.v, belief.P, 0.1 * t, 0.01)
        return Track(x, v, P, belief.inside)


def flown(navigation, law, latency):
    instruments = [
        Instrument("a", 1.0, look, Stream(1, 1, "a", 2), latency),
        Instrument("cart.b", 1.5, look, Stream(1, 1, "b", 2)),
    ]
    loop = Loop(H, 20.0, Cart(np.ones(1)), instruments, navigation, Controller(law, 2.0, (np.zeros(1),)))
    belief = Track(np.ones(1), np.zeros(1), np.tile(np.eye(2), (1, 1, 1)), (np.ones(1), None))
    software = Software(loop)
    software.fly(State(Line(np.ones(1), np.ones(1), "cart"), belief, (np.zeros(1),), (np.zeros(1),)), 40)
    return software


@pytest.mark.parametrize("latency", [0.0, 1.0], ids=["prompt", "late"])
@pytest.mark.parametrize("navigation", [Filter(), Repeating()], ids=["filter", "repeated kernel"])
def test_the_c_of_the_software_has_the_bits_of_python(navigation, latency, tmp_path):
    software = flown(navigation, Law(), latency)
    assert len(software.vectors) > 20 and len(software.ticks) < 20
    export_software(software, "software", tmp_path)
    for optimisation in ("-O0", "-O2"):
        assert built(tmp_path, optimisation) == f"software: {len(software.vectors)} vectors, 0 numbers differ\n"
    header = (tmp_path / "software.h").read_text()
    assert "double belief_P[4];" in header and "double report[1];" in header and "a_0[1]; /* a */" in header
    assert "double cart_b_0[1]; /* cart.b */" in header
    assert "times < 7 s" in header and "times >= 7 s" in header  # the filter asks the time


def test_a_law_that_cannot_be_recorded_cannot_be_exported():
    with pytest.raises(TypeError, match="may not branch"):
        flown(Filter(), Branching(), 0.0)
