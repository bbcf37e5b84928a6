import pytest

from benchmarks.fresh import Cost
from benchmarks.peers import peer
from benchmarks.scaling import Curve


def test_the_exponent_of_a_power_is_its_power_whatever_a_small_size_costs():
    sizes = (1, 10, 100, 1000)
    seconds = [7.0, *(2.0 * n**1.2 for n in sizes[1:])]
    curve = Curve("a power", "trials", sizes, [Cost(s, 1.0, 1.0) for s in seconds], fitted=1)
    assert curve.exponent(seconds) == pytest.approx(1.2, abs=1e-12)


def test_a_peer_that_is_not_installed_is_named(capsys):
    assert peer("no_such_peer.inside", "accuracy") is None
    assert capsys.readouterr().err == "accuracy: without no_such_peer, which is not installed\n"
