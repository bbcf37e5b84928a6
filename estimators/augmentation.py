"""All extra states of a filter together: what they add to torque, inertia and readings, and by which derivatives."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gnc import lie
from gnc.batch import Kernel, sized
from gnc.errors import InputError
from gnc.estimators.extra_states import FORMS, ExtraState, Inertia, Kick, momentum_slope, sensitivity
from gnc.linalg import array, skew
from gnc.models.parameters import store
from gnc.models.sensors.direction import UnitDirection
from gnc.models.sensors.interface import Prediction

Array = Any


@dataclass(frozen=True, eq=False)
class Augmentation:
    """Extra states one after the other; `values` (..., size) holds all their estimates."""

    states: tuple[ExtraState, ...]
    size: int = field(init=False)
    walk: Array = field(init=False)  # (..., size)
    _parts: tuple[slice, ...] = field(init=False)
    # What no state does is known from the start, and left out of every step.
    changes_rate: bool = field(init=False)  # at a given momentum: the inertia is among the states
    _steady: bool = field(init=False)
    _M: Array = field(init=False)  # by_momentum without inertia
    _nothing: Kick = field(init=False)

    def __post_init__(self) -> None:
        """Refuse names that are not unique, lay out the states, and see what they do."""
        names = [state.name for state in self.states]
        if len(set(names)) < len(names):
            raise InputError(f"extras: two have the same name, of {', '.join(names)}; give each its own")
        ends = np.cumsum([0, *(state.size for state in self.states)]).tolist()
        parts = tuple(slice(a, b) for a, b in zip(ends[:-1], ends[1:], strict=True))
        store(self, size=ends[-1], walk=self._walks(), _parts=parts)
        zeros = [(state, np.zeros(state.size)) for state in self.states]
        store(self, changes_rate=any(state.inertia(value) is not None for state, value in zeros))
        store(self, _steady=any(state.steady_torque(value) is not None for state, value in zeros))
        store(self, _M=np.concatenate([np.eye(3), np.zeros((3, self.size))], axis=1))
        store(self, _nothing=Kick(np.zeros(3), np.zeros((3, 3)), np.zeros((3, self.size))))

    def _walks(self) -> Array:
        lead = np.broadcast_shapes(*[state.walk.shape[:-1] for state in self.states])
        walks = [np.broadcast_to(state.walk, (*lead, state.size)) for state in self.states]
        return np.concatenate([np.zeros((*lead, 0)), *walks], axis=-1)

    def each(self, values: Array) -> Iterator[tuple[ExtraState, slice, Array]]:
        """Give the states, where they are, and their estimates."""
        for state, part in zip(self.states, self._parts, strict=True):
            yield state, part, values[..., part]

    def value(self, values: Array, name: str) -> Array:
        """Return the estimate of the state of that name."""
        for state, _, value in self.each(values):
            if state.name == name:
                return value
        raise InputError(f"extras: there is no {name!r}, only {', '.join(state.name for state in self.states)}")

    def inertia(self, J: Array, values: Array) -> Array:
        """Return J with its estimated deviation."""
        if not self.changes_rate:
            return J
        for state, _, value in self.each(values):
            dJ = state.inertia(value)
            J = J if dJ is None else J + dJ
        return J

    def torque(self, tau_B: Array, values: Array) -> Array:
        """Return the torque that is constant over a step: the known one and the estimated."""
        if not self._steady:
            return tau_B
        for state, _, value in self.each(values):
            steady = state.steady_torque(value)
            tau_B = tau_B if steady is None else np.asarray(tau_B) + steady
        return tau_B

    def kick(self, q_IB: Array, values: Array, env: Any) -> Kick:
        """Return the sum of the torques that depend on the attitude."""
        if len(self.states) == 1:
            return self.states[0].kick(q_IB, values, env) or self._nothing
        lead = values.shape[:-1]
        total = Kick(*(np.zeros((*lead, *core), values.dtype) for core in ((3,), (3, 3), (3, self.size))))
        for state, part, value in self.each(values):
            kick = state.kick(q_IB, value, env)
            if kick is not None:
                total = Kick(total.tau_B + kick.tau_B, total.T + kick.T, total.D)
                total.D[..., part] = kick.D
        return total

    def gains(
        self, values: Array, G: Array, step: tuple[Array, ...], divided: Callable[..., tuple[Array, Sequence[float]]]
    ) -> Array:
        """Return the derivative (..., 6, size) of a step (P_B, tau_B, J, rho_B, h) for the states that act in it.

        `divided(*step)` tells in how many substeps, and by which stages.
        """
        if not (self._steady or self.changes_rate):
            return np.zeros((6, self.size))
        gains = np.zeros((*G.shape[:-2], 6, self.size), G.dtype)
        for state, part, value in self.each(values):
            if state.inertia(value) is not None:
                (P_B, *given, h), (n, stages) = step, divided(*step)
                form = state.form if isinstance(state, Inertia) else "full"
                nothing = np.zeros((6, FORMS[form].shape[1]))
                by_form = sensitivity(tuple(stages), form).repeat(n, P_B, nothing, *given, h / n)[1]
                gains[..., part] = by_form if isinstance(state, Inertia) else by_form @ state.inertia_slope(value)
            elif state.steady_torque(value) is not None:
                gains[..., part] = G
        return gains

    def by_momentum(self, w_B: Array, values: Array) -> Array:
        """Return M (..., 3, 3 + size) with dw = J^-1 M (dP, dvalues)."""
        if not self.changes_rate:
            return self._M
        M = np.zeros((*w_B.shape[:-1], 3, 3 + self.size), w_B.dtype)
        M[..., :3] = np.eye(3)
        for state, part, value in self.each(values):
            if isinstance(state, Inertia):
                M[..., 3 + part.start : 3 + part.stop] = -momentum_slope(state.form)(w_B)
            elif state.inertia(value) is not None:
                M[..., 3 + part.start : 3 + part.stop] = -momentum_slope("full")(w_B) @ state.inertia_slope(value)
        return M

    def kernel_of(self, sensor: Any, n: int, env: Any) -> tuple[Kernel, tuple[Array, ...]] | None:
        """Return the sensor's kernel over n error states and its arguments, if there is one and no state changes it."""
        if self.states and (self.changes_rate or any(s.concerns(sensor) for s in self.states)):
            return None
        expected = getattr(sensor, "expected", None)
        return None if expected is None else expected(n, env)

    def expect(self, sensor: Any, x: Any, env: Any, values: Array) -> Prediction:
        """Return the sensor's prediction at its estimated bias and tilt, H over all states, or x alone."""
        if isinstance(sensor, UnitDirection):
            return sensor.seen(self._whole(sensor, sensor.of, x, env, values))
        return self._whole(sensor, sensor, x, env, values)

    def _whole(self, sensor: Any, read: Any, x: Any, env: Any, values: Array) -> Prediction:
        bias: Array | None = None
        slopes: list[tuple[slice, Array]] = []
        for state, part, value in self.each(values):
            if state.is_bias_of(sensor):
                bias = value
                slopes.append((part, sensor.H_bias))
        z, H, R = read.predict(x, env) if bias is None else read.predict(x, env, bias=bias)
        for state, part, value in self.each(values):
            if state.is_tilt_of(sensor):
                added = np.zeros(3) if bias is None else bias
                z, H, slope = _tilted(np.shape(H)[-1], part.stop - part.start)(z, H, value, added)
                slopes.append((part, slope))
        return Prediction(z, self._wide(H, slopes) if slopes else H, R)

    def _wide(self, H: Array, slopes: list[tuple[slice, Array]]) -> Array:
        """Return H over all states, by its derivatives for some of the extra ones."""
        lead = np.broadcast_shapes(H.shape[:-2], *(np.shape(one)[:-2] for _, one in slopes))
        m, n = H.shape[-2:]
        wide = np.zeros((*lead, m, n + self.size), H.dtype)
        wide[..., :n] = H
        for part, slope in slopes:
            wide[..., n + part.start : n + part.stop] = slope
        return wide


@sized(lambda n, size: f"(3),(3,{n}),({size}),(3)->(3),(3,{n}),(3,{size})")
def _tilted(z, H, tilt, bias, *, size):
    """Return z and H of a sensor that is turned, and perhaps uneven, and the derivative of z by both."""
    D, seen = lie.so3_exp(-tilt[:3]), z - bias
    slope = skew(D @ seen) @ lie.so3_right_jacobian(tilt[:3])
    if size == 9:
        x, y, z_ = seen
        by_even = array([[x, 0.0, 0.0, y, z_, 0.0], [0.0, y, 0.0, x, 0.0, z_], [0.0, 0.0, z_, 0.0, x, y]])
        a, b, c, d, e, f = tilt[3:]
        D, slope = D + array([[a, d, e], [d, b, f], [e, f, c]]), np.concatenate([slope, by_even], axis=1)
    return D @ seen + bias, D @ H, slope
