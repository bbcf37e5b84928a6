"""When an IMU rests, and how noisy its sensors are, from the log itself.

Windows of `window_s`, half of it apart, are summed up once. The quietest of them set the thresholds of rest; the
noises are those of the windows at rest, or, where the body never rests, of second differences, which do not see motion:
std(z_k - 2 z_(k-l) + z_(k-2l)) = sqrt(6) sigma. The magnetometer is used at steps after which its noise is white.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

Array = Any

WINDOW_S = 1.0
LAGS = 10  # at which the magnetometer's autocorrelation is asked for
WHITE = 0.05
QUIETEST, CALM, FACTOR = 5.0, 1.3, 4.0  # percentile of windows; spread of a field without a moving magnet; threshold
MOST_GYRO, MOST_ACC, MOST_RATE = np.radians(0.3), 0.15, np.radians(3.0)  # [rad/s], [m/s^2] noise of an IMU at rest
MOST_BIAS = np.radians(10.0)  # of a gyro at rest, where a field tells that the body does not turn
DRIFTS, DRIFT_ACC, DRIFT_MAG = 5.0, 0.03, 2e-3  # sigmas, [m/s^2], share of a field by which a direction moves
DIFFERENCE_S = 0.01  # of second differences
FEWEST = 5  # windows at rest that tell a noise


@dataclass(frozen=True)
class ImuNoise:
    """Standard deviations of a sample, thresholds of rest, and the steps after which the magnetometer is white."""

    gyro: float  # [rad/s]
    acc: float  # [m/s^2]
    mag: float  # as the field
    field: float  # usual strength, as the columns have it
    white_steps: int
    rest_gyro: float  # largest standard deviations within a window at rest
    rest_acc: float
    rest_share: float  # of the windows
    bias_walk: float | None = None  # [rad/s/sqrt(s)] of a gyro whose body hardly rests


@dataclass
class RestSurvey:
    """Sums up windows of the log, chunk by chunk; about 30 kB per minute is kept."""

    dt: float
    _rows: Array = field(default_factory=lambda: np.zeros((0, 9)), repr=False)
    _windows: list[Array] = field(default_factory=list, repr=False)

    @property
    def window(self) -> int:
        """Return the samples of a window."""
        return max(int(WINDOW_S / self.dt), 2 * LAGS)

    def add(self, gyro: Array, acc: Array, mag: Array) -> None:
        """Take rows; a missing sample of accelerometer or magnetometer counts as the last one."""
        others = [_filled(z, self._rows[-1:, i : i + 3]) for i, z in ((3, acc), (6, mag))]
        rows = np.concatenate([self._rows, np.concatenate([gyro, *others], axis=1)])
        n, hop = self.window, self.window // 2
        whole = max((len(rows) - n) // hop + 1, 0)
        if whole:
            self._windows.append(self._summed(np.lib.stride_tricks.sliding_window_view(rows, n, axis=0)[::hop][:whole]))
        self._rows = rows[whole * hop :]

    def _summed(self, windows: Array) -> Array:
        """Return per window: standard deviations 9, mean rates 3, field, autocovariances 11, second differences 9."""
        mean = windows.mean(axis=2)
        z = windows - mean[:, :, None]
        n, field = z.shape[2], z[:, 6:]
        lagged = [np.einsum("wcn,wcn->w", field[:, :, lag:], field[:, :, : n - lag]) for lag in range(LAGS + 1)]
        step = min(max(round(DIFFERENCE_S / self.dt), 1), n // 4)
        second = z[:, :, 2 * step :] - 2.0 * z[:, :, step:-step] + z[:, :, : -2 * step]
        strength = np.sqrt((mean[:, 6:] ** 2).sum(axis=1))
        parts = [
            np.sqrt(np.einsum("wcn,wcn->wc", z, z) / n),
            mean[:, :3],
            strength[:, None],
            np.stack(lagged, axis=1),
            second.std(axis=2) / np.sqrt(6),
        ]
        return np.concatenate(parts, axis=1)

    def noise(self) -> ImuNoise:
        """Return noises and thresholds; they are NaN for a log shorter than a window."""
        w = np.concatenate(self._windows) if self._windows else np.full((1, 33), np.nan)
        sigma, rate = w[:, :9], np.abs(w[:, 9:12]).max(axis=1)
        gyro, acc, _ = _levels(sigma, QUIETEST)
        rest_gyro, rest_acc = FACTOR * min(gyro, MOST_GYRO), FACTOR * min(acc, MOST_ACC)
        quiet = (sigma[:, :3].max(axis=1) < rest_gyro) & (sigma[:, 3:6].max(axis=1) < rest_acc)
        slow = quiet & (rate < MOST_RATE)
        rests = slow if slow.sum() >= FEWEST else quiet & (rate < MOST_BIAS)
        enough = rests.sum() >= FEWEST
        gyro, acc, mag = _levels(sigma[rests], 50.0) if enough else _levels(w[:, 24:33], QUIETEST)
        quiet = rests & (sigma[:, 6:9].max(axis=1) < CALM * mag)
        lagged = w[quiet if quiet.sum() >= FEWEST else slice(None), 13:24].sum(axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            white = np.flatnonzero(lagged[1:] / lagged[0] < WHITE)
        steps = (int(white[0]) + 1 if len(white) else LAGS) | 1  # odd: an upsampled sensor is met at both its phases
        return ImuNoise(gyro, acc, mag, float(np.median(w[:, 12])), steps, rest_gyro, rest_acc, float(rests.mean()))


def _levels(sigma: Array, percentile: float) -> list[float]:
    """Return the percentile over windows of gyro, accelerometer and magnetometer, as mean power of their axes."""
    parts = np.percentile(sigma, percentile, axis=0).reshape(3, 3)
    return [float(level) for level in np.sqrt((parts**2).mean(axis=1))]


def _filled(mag: Array, last: Array) -> Array:
    """Return samples with missing ones as the last before them, zeros before the first."""
    mag = np.concatenate([last if len(last) else np.zeros((1, 3)), mag])
    known = np.isfinite(mag[:, 0])
    return mag[np.maximum.accumulate(np.where(known, np.arange(len(mag)), 0))][1:]


def resting(gyro: Array, acc: Array, skip: int, window: int, noise: ImuNoise, mag: Array | None = None) -> Array:
    """Tell of each row from `skip` on whether the window that ends there rests; the rows before are its past.

    A body that turns slowly and evenly has a quiet gyro, too: then the directions of force or field move.
    """
    mean, spread = _trailing(gyro, window)
    _, shaking = _trailing(acc, window)
    still = (spread.max(axis=1) < noise.rest_gyro) & (shaking.max(axis=1) < noise.rest_acc)
    still &= np.abs(mean).max(axis=1) < (MOST_RATE if mag is None else MOST_BIAS)
    still[: window - 1] = False
    if still.any():
        still &= ~_moves(acc, window, noise.acc, DRIFT_ACC)
        still &= mag is None or ~_moves(mag, window, noise.mag * np.sqrt(noise.white_steps), DRIFT_MAG * noise.field)
    return still[skip:]


def _moves(z: Array, n: int, sigma: float, least: float) -> Array:
    """Tell of each row whether a direction moves, and its length does not, between halves of the window to there."""
    known = np.isfinite(z).all(axis=1)
    terms = np.concatenate([np.where(known[:, None], z, 0.0), known[:, None]], axis=1)
    sums = np.cumsum(np.concatenate([np.zeros((1, 4)), terms]), axis=0)
    row, moves = np.arange(n - 1, len(z)), np.zeros(len(z), bool)
    edges = [sums[row + 1 - back] for back in (n, n // 2, 0)]
    halves = [end - begin for begin, end in zip(edges[:-1], edges[1:], strict=True)]
    with np.errstate(invalid="ignore", divide="ignore"):
        first, last = (half[:, :3] / half[:, 3:] for half in halves)
        change, lengths = _length(last - first), (_length(first), _length(last))
        chance = DRIFTS * sigma * np.sqrt(1.0 / halves[0][:, 3] + 1.0 / halves[1][:, 3])
        moves[row] = (change > np.maximum(chance, least)) & (np.abs(lengths[1] - lengths[0]) < 0.5 * change)
    return moves


def _length(x: Array) -> Array:
    return np.sqrt((x * x).sum(axis=1))


def _trailing(x: Array, n: int) -> tuple[Array, Array]:
    """Return mean and standard deviation over the last n rows, NaN where there are fewer."""
    centre = x.mean(axis=0)
    sums = [np.cumsum(np.concatenate([np.zeros((1, 3)), z]), axis=0) for z in (x - centre, (x - centre) ** 2)]
    mean, square = (np.full_like(x, np.nan) for _ in range(2))
    mean[n - 1 :], square[n - 1 :] = ((s[n:] - s[:-n]) / n for s in sums)
    return mean + centre, np.sqrt(np.maximum(square - mean * mean, 0.0))
