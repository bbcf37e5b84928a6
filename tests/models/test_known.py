"""What flight software knows, and what it knows that it does not know."""

import numpy as np

from gnc.draws import Draws
from gnc.estimators.navigation.dqekf import DqekfPart
from gnc.models.actuators.plumes import ThrustersPart
from gnc.models.craft.pose import PosePart
from gnc.models.known import Known


def known() -> Known:
    """Return what a chaser with the usual thrusters knows, whose commands come at 10 Hz."""
    jets = ThrustersPart().belief().paced(0.1)
    others = {"target": PosePart(mass_kg=200.0).belief()}
    return Known("chaser", PosePart().belief(), {}, {"jets": jets}, [], None, 0.1, 0.1, Draws(0, np.arange(2)), others)


def test_what_thrusters_do_beside_their_commands_is_two_per_cent_of_what_they_can():
    """Twelve of 10 N, two towards either side of each axis with a lever of 0.1 m: 20 N and 2 N m; commands at 10 Hz."""
    given = known()
    np.testing.assert_allclose(given.push_psd, np.diag([0.04**2] * 3 + [0.4**2] * 3) * 0.1, rtol=1e-12, atol=1e-18)


def test_an_own_filter_reckons_with_it_unless_a_density_is_stated():
    given = known()
    moment = (22.0 + 20.0 + 23.0) / 3.0
    of_itself, of_another = DqekfPart(), DqekfPart(of="target")
    np.testing.assert_allclose(
        of_itself.filter(given.nominal, given).wrench_psd,
        given.push_psd + np.diag([3.7e-11 * moment**2] * 3 + [0.0] * 3),
        rtol=1e-12,
    )
    stated = DqekfPart(torque_psd_Nm2s=1e-5, force_psd_N2s=0.0).filter(given.nominal, given).wrench_psd
    np.testing.assert_allclose(stated, np.diag([1e-5] * 3 + [0.0] * 3))
    assert not np.any(of_another.filter(given.others["target"], given).wrench_psd[3:, 3:])
