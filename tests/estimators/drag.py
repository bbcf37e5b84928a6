"""A body that falls through air with quadratic drag: the process model of the tutorial."""

import numpy as np

from gnc import noise
from gnc.batch import batched
from gnc.estimators.chart import vector
from gnc.estimators.kernel_process import KernelProcess
from gnc.estimators.product_ekf import ProductEkf, Reading
from gnc.linalg import array

G_I = array([0.0, 0.0, -9.81])
CHART = vector(3), vector(3), vector(1)


def acceleration(v_I, c):
    return G_I - (c[0] * np.sqrt(v_I @ v_I)) * v_I


@batched("(3),(3),(1),()->(3),(3),(1)")
def fall(r_I, v_I, c, h):
    """Heun's rule; the drag constant c [1/m] is a state that does not change."""
    a = acceleration(v_I, c)
    v_end = v_I + h * a
    v_end = v_I + (0.5 * h) * (a + acceleration(v_end, c))
    return r_I + (0.5 * h) * (v_I + v_end), v_end, c


@batched("(3),(3),(3),(1)->(3)")
def place(z, r_I, v_I, c):
    return z - r_I


EKF = ProductEkf(KernelProcess(fall, CHART, longest=0.02))
READING = Reading(place, 0.5**2 * np.eye(3), CHART)
START = np.array([0.0, 0.0, 0.0]), np.array([30.0, 0.0, 10.0]), np.array([0.005])
SIGMA = np.array([0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.0001])


def normalised_errors(trials, seed, seconds=10):
    """NEES of all trials at the end; the truth takes ten times finer steps."""
    truth = START
    e = SIGMA * noise.normal(seed, trials, "start", 7)
    belief = EKF.moved(START, np.broadcast_to(np.diag(SIGMA**2), (trials, 7, 7)), -e)
    belief = belief._replace(C=np.broadcast_to(np.diag(SIGMA**2), (trials, 7, 7)))
    z = noise.normal(seed, trials, "place", (seconds, 3))
    for k in range(seconds):
        truth = fall.repeat(500, *truth, 0.002)
        belief = EKF.predict(belief, (), 1.0)
        belief, _ = EKF.update(belief, READING, truth[0] + 0.5 * z[:, k])
    return EKF.nees(belief, truth)
