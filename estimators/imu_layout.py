"""States, settings and traces of the IMU attitude filter.

World axes ENU with y to magnetic north; R takes body components there; the error is R_true = Exp(theta) R. States:

    theta 3, b 3 gyro bias, v 2 and p 2 horizontal velocity and position, ba 3 accelerometer bias, r 2 field (north,
    up), d 3 inhomogeneity of the field, tau magnetometer delay, h 3 magnet on the body, e 3 magnet in the room
"""

from typing import Any, NamedTuple

import numpy as np

TH, B, V, POS, BA, RF, D, TAU, HI, E, N = 0, 3, 6, 8, 10, 13, 15, 18, 19, 22, 25
SHOWN = 6  # states whose covariance is told: attitude and gyro bias
MOST_UPDATES = 11  # of one number each, in one block
GONE = -1.0  # in the place of an update's variance: the magnets are closed
FIELD = 50.0  # strength to which the log's field is scaled inside: about that of the Earth [uT]
UNEXPLAINED = 50.0  # NIS without magnets before any is seen
# Memory beside the state
NIS_MEAN, NIS_BACK, OPEN, MOVING, ELAPSED, RATE2, LAST_MAG, LAST_T, AWAY, COUNT = range(10)
LAST_GYRO, LAST_ACC, ACC_BEFORE, RESTED, MEMORY = 10, 13, 16, 19, 20  # three numbers each: samples before


class Settings(NamedTuple):
    """Numbers of the filter, SI but for fields, of which the log's own has FIELD.

    Those with a default are what a log does not tell; halves and doubles of them change the error by less than a sixth
    (docs/replay.md).
    """

    gyro: float  # sigma of a sample at rest [rad/s]
    acc: float  # [m/s^2]
    mag: float
    dt: float  # usual step [s]
    block: float  # longest block [s]
    mag_step: float  # least time between magnetometer samples that are used [s]
    gap: float  # a step longer than this is a gap [s]
    k_rate: float = 1e-3  # [sqrt(s)] rate noise per rate: 0.1 % of scale and misalignment over 0.5 s
    q_bias: float = float(np.radians(0.002))  # [rad/s/sqrt(s)] bias walk
    sigma_p: float = 0.3  # [m] an arm's reach
    tau_p: float = 1.0  # [s] a stroke
    sigma_d: float = 0.01 * FIELD  # 1 % of the field indoors
    tau_d: float = 2.0  # [s]
    gate: float = 30.0  # chi-square of 3: 1e-6 for one sample
    gate_mean: float = 8.0  # of the mean over t_mean
    t_mean: float = 0.2  # [s]
    share_e: float = 0.5  # of a contradiction that goes to the room, the rest goes to the body
    tau_e: float = 20.0  # [s] in which a magnet is passed
    t_move: float = 1.0  # [s] a magnet that is brought goes on moving
    t_back: float = 2.0  # [s] over which the field has to be explained without magnets
    back: float = 6.0  # mean NIS of 3 below which it is
    sigma_zru: float = float(np.radians(0.1))  # [rad/s] zero rate at rest
    sigma_zv: float = 0.02  # [m/s]
    rest_step: float = 0.035  # [s] over which a zero rate or velocity counts as one measurement
    shift: float = 0.0  # [rad/s] by which a bias in motion is another than at rest
    loose: float = 0.0  # [1/sqrt(s)] by which an open magnet changes, as a share of it


class State(NamedTuple):
    """Attitude, states, covariance, sums over the block under way, memory; all are written in place."""

    q: Any  # (4,)
    x: Any  # (N,)
    P: Any  # (N, N)
    SR: Any  # (3, 3) integral of R
    SF: Any  # (3, 3) integral of [f]x
    m: Any  # (MEMORY,)


class Samples(NamedTuple):
    """Rows of the log in order of time, and whether the body rests; NaN where there is no measurement."""

    t: Any
    gyro: Any  # (n, 3) [rad/s]
    acc: Any  # (n, 3) [m/s^2]
    mag: Any  # (n, 3)
    rest: Any  # (n,) bool
    doubt: Any  # (n, 3) by which the variance of the turn grows, body axes: what the gyro could not show


class Told(NamedTuple):
    """What the filter says per sample, and of each magnetometer sample that was used."""

    q: Any  # (n, 4)
    w: Any  # (n, 3)
    bias: Any  # (n, 3)
    C: Any  # (n, 6, 6) attitude in body axes, bias
    magnet: Any  # (n, 6)
    row: Any  # (n,) sample of an innovation
    y: Any  # (n, 3)
    S: Any  # (n, 3, 3)
    nis: Any  # (n,)
    away: float = 0.0  # [s] for which the body was beyond its place


class Trace(NamedTuple):
    """What the way back needs of every block; empty arrays where there is no way back."""

    row: Any  # (blocks,) sample at which a block ends
    first: Any  # (blocks + 1,) its first update
    SR: Any  # (blocks, 3, 3)
    SF: Any
    c: Any  # (blocks, 3) duration, decay of d and e
    P: Any  # (blocks, 6, N) after all updates
    h: Any  # (updates, N)
    k: Any
    ys: Any  # (updates, 2) residual, its variance or GONE
    n: Any  # (2,) blocks, updates
