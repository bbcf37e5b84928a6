"""When a filter should doubt itself: refusals that fit what other sensors say lately, patience in seconds.

A gate refuses what does not fit the filter. Either the measurement is wrong or the filter is, and what was accepted
lately tells which. W is the information of the measurements accepted within about `patience_s` on attitude or pose, in
inertial axes, where errors stay still while a body turns. A refused residual y = H d + noise is held against them
alone, as by a filter whose memory is that short. With A = H^T R^-1 H, b = H^T R^-1 y, c = y R^-1 y,

    least over d of  (y - H d) R^-1 (y - H d) + d W d  =  c - b (A + W)^-1 b

Beyond the gate, the measurement contradicts the others: it is an outlier and counts for nothing, however often it
comes. Within, a state exists that pleases all of them and is not the filter's: `doubt` grows by the time since the last
such refusal, at most a fifth of the patience at once. An accepted measurement takes half of its own time away again:
one of two sensors may agree for ever where it cannot see the error. When doubt reaches the patience, the covariance is
inflated, and the gate alone lets measurements in again; nothing is let in blindly. A sensor of rates alone, which W
says nothing of, counts as one that fits.
"""

from gnc.batch import maximum, minimum, precise, where
from gnc.estimators.kalman import factor, solve
from gnc.linalg import array, zeros

FORGIVEN = 0.5  # of the time that one accepted measurement makes up for
LEAST = 5.0  # refusals before a filter may doubt itself, whatever the rate
CORRELATED = precise(1.0 + 1e-9, 1.0 + 1e-4)  # square of a correlation, with round-off
LARGEST = 1e150  # beyond, the covariance of a trial has diverged: its products would overflow
UNSEEN, SMALLEST = 1e-9, 1e-200  # information, relative and absolute, on what no sensor has seen


def watch_size(g: int) -> int:
    """Return how many numbers `watch` has for a group with g errors: doubt, two clocks, the upper triangle of W."""
    return 3 + g * (g + 1) // 2


def _explained(A, b, least):
    """Return A^-1 b, A made positive by `least`."""
    A = A.copy()
    for i in range(len(b)):
        A[i, i] = A[i, i] + least
    return solve(*factor(A)[:2], b.reshape(len(b), 1))[:, 0]


def _triangle(g):
    return [(i, j) for i in range(g) for j in range(i, g)]


def _fading(agreed_s, patience_s):
    """Return what is left of W when nothing was accepted for a time."""
    left = maximum(1.0 - agreed_s / (2.0 * patience_s), 0.0)
    return left * left


def agreed(watch, idle, used, H, R, patience_s):
    """Return `watch` after a measurement, if it was accepted; only its clocks move on if it was not.

    H is over the group's errors in inertial axes, idle the time since the last measurement.
    """
    took, refused_s, agreed_s = used > 0.0, watch[1] + idle, watch[2] + idle
    weighted = solve(*factor(R)[:2], H)
    kept, most = _fading(agreed_s, patience_s), patience_s / LEAST
    W = [kept * w + H[:, i] @ weighted[:, j] for (i, j), w in zip(_triangle(H.shape[1]), watch[3:], strict=True)]
    doubt = maximum(watch[0] - FORGIVEN * minimum(agreed_s, most), 0.0)
    return array(
        [where(took, doubt, watch[0]), refused_s, where(took, 0.0, agreed_s), *where(took, array(W), watch[3:])]
    )


def refused(watch, y, H, R, bend, gate, patience_s):
    """Return `watch` after a refusal, its clocks moved on by `agreed`.

    bend is the variance of what an error as large as y does beyond H: no d explains that, and it is no contradiction.
    """
    g = H.shape[1]
    doubt, refused_s, agreed_s = watch[:3]
    kept, W = _fading(agreed_s, patience_s), zeros(g, g)
    for (i, j), w in zip(_triangle(g), watch[3:], strict=True):
        W[i, j] = W[j, i] = kept * w
    L, inverse, _ = factor(R)
    weighted = solve(L, inverse, H)
    A, b = H.T @ weighted, weighted.T @ y
    c = y @ solve(L, inverse, y.reshape(len(y), 1))[:, 0]
    seen = sum((A[i, i] for i in range(g)), 0.0)
    alone, together = (c - b @ _explained(A + V, b, UNSEEN * seen + SMALLEST) for V in (zeros(g, g), W))
    noise = sum((R[i, i] for i in range(len(y))), 0.0)
    left = together - alone + alone * (noise / (noise + len(y) * bend))
    counted = (left <= gate) | (seen == 0.0)
    doubt = where(counted, doubt + minimum(refused_s, patience_s / LEAST), doubt)
    return array([doubt, where(counted, 0.0, refused_s), *watch[2:]])


def inflated(C, spread, inflation, widest):
    """Return C with the first blocks of three up to `inflation` times as uncertain, but no wider than `widest`.

    `spread` has the trace of each block in the units of `widest`, standard deviations per axis. All correlations go:
    they were those of a wrong state. The extra states stay as well known as they were: a wrong pose says nothing of an
    inertia, which, made uncertain too, would take the rest of the error and become that of no body
    (`tests/scenarios/test_rendezvous.py`: test_outliers_let_in_at_the_start_are_recovered_from).
    """
    wide, n = zeros(*C.shape), 3 * len(spread)
    for k, (trace, limit) in enumerate(zip(spread, widest, strict=True)):
        part = slice(3 * k, 3 * k + 3)
        wide[part, part] = maximum(minimum(inflation, 3.0 * limit * limit / trace), 1.0) * C[part, part]
    wide[n:, n:] = C[n:, n:]
    return wide


def healthy(C):
    """Tell whether all variances are positive, none has overflowed, and no correlation exceeds 1."""
    good = C[0, 0] > 0.0
    for i in range(len(C)):
        good = good & (C[i, i] > 0.0) & (C[i, i] < LARGEST)
        for j in range(i):
            good = good & (C[i, j] * C[i, j] <= CORRELATED * (C[i, i] * C[j, j]))
    return good
