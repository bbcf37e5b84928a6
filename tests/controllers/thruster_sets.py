"""Sets of thrusters to test with."""

import numpy as np

from gnc.models.actuators import Thrusters


def pairs(thrust=1.0):
    """Return 12 thrusters, a pair towards each of +-x, +-y, +-z, half a metre off the axis."""
    positions, directions = [], []
    for axis in range(3):
        for push in (1.0, -1.0):
            for side in (0.5, -0.5):
                position, direction = np.zeros(3), np.zeros(3)
                position[axis], position[(axis + 1) % 3], direction[axis] = -0.5 * push, side, push
                positions.append(position)
                directions.append(direction)
    return Thrusters(positions_B=positions, directions_B=directions, thrust=thrust)


def corners():
    """Return 24 thrusters, three at each corner of a cube, of unequal thrust."""
    signs = 2.0 * np.array(list(np.ndindex(2, 2, 2))) - 1.0
    positions = np.repeat(0.5 * signs, 3, axis=0)
    directions = (-signs[:, :, None] * np.eye(3)).reshape(-1, 3)
    return Thrusters(positions_B=positions, directions_B=directions, thrust=np.linspace(0.8, 1.2, 24))


def askew(n=16, seed=1):
    """Return thrusters anywhere in any direction."""
    rng = np.random.default_rng(seed)
    directions = rng.normal(size=(n, 3))
    directions /= np.linalg.norm(directions, axis=-1, keepdims=True)
    return Thrusters(positions_B=rng.normal(size=(n, 3)), directions_B=directions, thrust=rng.uniform(0.5, 2.0, n))


SETS = {"pairs": pairs(), "unequal pairs": pairs(np.linspace(0.5, 1.5, 12)), "corners": corners(), "askew": askew()}
