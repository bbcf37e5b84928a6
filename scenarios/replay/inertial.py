"""The inertial navigation filter in replay: its sensors and states by the configuration, its start, its samples."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from gnc import dual_quaternion, quaternion
from gnc.errors import InputError
from gnc.estimators.imu_rest import WINDOW_S, ImuNoise, resting
from gnc.estimators.imu_start import aligned, levelled
from gnc.estimators.ins import InsFilter
from gnc.estimators.ins_sensors import InsSensor
from gnc.models.sensors import Measurement
from gnc.scenarios.replay import config
from gnc.scenarios.replay.filter_protocol import Array, First, ReplayFilter, Sample, blocks, given, named, variance
from gnc.scenarios.replay.merge import Block
from gnc.scenarios.replay.quantities import GRAVITY, Quantity
from gnc.scenarios.replay.sensor_config import ALIGNED, Aiding
from gnc.scenarios.replay.sensors import Channel
from gnc.scenarios.replay.start import Starter
from gnc.scenarios.replay.stream import LogStream, Measurements
from gnc.scenarios.replay.ticks import SAME_S

LONGEST_GAP_S = 1.0  # behind a longer one pose and velocity are as good as unknown
REST_STEP_S = 0.1  # between two zero velocities
QUIET, STILL = 1.5, np.array([1e-3, 0.02])  # deviations at rest: of the sensors' noise, and beside it [rad/s, m/s^2]
BIAS_DEG_S = 0.5  # of a gyro's bias, if nothing is stated: that of an IMU of unknown make
LEVEL = np.radians(5.0)  # sigma of the vertical by one sample of the accelerometer
LONGEST_COAST_S = 5.0  # after which a velocity is no more unknown
MOVING_LEVEL, UNGATED_S = np.radians(15.0), 2.0  # of a body that moves; [s] behind a gap until the gate closes
UNKNOWN = np.radians(60.0)  # sigma of a heading that nothing tells


def driving(replay: config.Replay) -> tuple[Any, Any]:
    """Return the sections of gyro and accelerometer."""
    gyro, acc = (next(s for s in replay.sensors if s.kind == kind) for kind in ("gyro", "accelerometer"))
    return gyro, acc


def tells_attitude(replay: config.Replay) -> bool:
    """Tell whether the start or a sensor tells a first attitude with its heading."""
    stated = replay.start.q_IB is not None or replay.start.dq_IB is not None
    return stated or any(s.kind in ("pose", "attitude", "vector", "magnetometer") for s in replay.sensors)


class Inertial(ReplayFilter):
    """Driven by samples (gyro, accelerometer); extra states are gravity, lever arms and time offsets."""

    sample_size, longest_gap_s = 6, LONGEST_GAP_S

    def __init__(self, replay: config.Replay) -> None:
        chosen = replay.filter
        assert chosen.kind == "ins"
        gyro, acc = driving(replay)
        self._chosen, self._first, self._sigmas = chosen, list[float](), list[float]()
        names = list(named("a", "r", "v", "bias", "acc_bias"))
        if chosen.sigma_gravity_m_s2 > 0.0:
            names += self._extra("gravity", chosen.gravity_m_s2, chosen.sigma_gravity_m_s2)
        self.sensors: dict[str, InsSensor] = {}
        for s in replay.sensors:
            if s.kind in ("gyro", "accelerometer"):
                continue
            sensor = _sensor(s)
            if isinstance(s, Aiding) and s.sigma_lever_m > 0.0:
                sensor = dataclasses.replace(sensor, lever_at=len(self._first))
                names += self._extra(f"lever_{s.name}", s.lever_m, s.sigma_lever_m)
            if isinstance(s, Aiding) and s.sigma_delay_s > 0.0:
                sensor = dataclasses.replace(sensor, delay_at=len(self._first))
                names += self._extra(f"delay_{s.name}", (0.0,), s.sigma_delay_s)
            self.sensors[s.name] = sensor
        self.errors = tuple(names)
        self.filter = InsFilter(
            arw=gyro.arw, vrw=acc.vrw, gyro_walk=gyro.bias_walk, acc_walk=acc.bias_walk, extras=len(self._first),
            gravity_known=chosen.sigma_gravity_m_s2 == 0.0, gravity_I=chosen.gravity_m_s2, form=chosen.error_state,
            gate_probability=chosen.gate_probability,
        )  # fmt: skip
        self.headings, self.heading_sigma = np.zeros(1), UNKNOWN  # where nothing but gravity tells the first attitude
        self.chart = self.filter.chart
        self.fields = ("x", "bias", "extras")[: len(self.chart)]

    def _extra(self, name: str, values: Sequence[float], sigma: float) -> list[str]:
        self._first += values
        self._sigmas += [sigma] * len(values)
        return [name] if len(values) == 1 else [f"{name}_{axis}" for axis in "xyz"]

    def begin(self, first: First, start: config.Start, held: Sample) -> Any:
        """Return the belief at the first pose."""
        v_I = quaternion.rotate(first.q_IB, np.array(start.v_B))
        bias_deg_s = start.sigma_bias_deg_s if "sigma_bias_deg_s" in start.model_fields_set else BIAS_DEG_S
        sigmas = start.sigma_velocity_m_s, np.radians(bias_deg_s), self._chosen.sigma_acc_bias_m_s2
        C = given(start)
        C = blocks(first.C, *map(variance, sigmas), np.diag(np.square(self._sigmas))) if C is None else C
        bias = np.concatenate([start.bias, np.zeros(3)])
        belief = self.filter.start(first.q_IB, first.r_IB, v_I, C, bias, np.array(self._first))
        if not first.headless:
            return belief
        turns = quaternion.exp(np.outer(self.headings, [0.0, 0.0, 1.0]))  # of several headings: candidates of a batch
        q = quaternion.mul(turns if len(turns) > 1 else turns[0], first.q_IB)
        return belief._replace(x=np.concatenate([q, np.broadcast_to(belief.x[4:], (*q.shape[:-1], 6))], axis=-1))

    def kept(self, belief: Any, before: Any, gap_s: float) -> Any:
        """Return a new belief with biases and extra states of the one before a gap, and about its velocity."""
        C = np.array(np.broadcast_to(belief.C, before.C.shape))
        C[..., 9:, 9:] = before.C[..., 9:, 9:]
        C[..., 6:9, 6:9] += variance(self.filter.coast_m_s2 * min(gap_s, LONGEST_COAST_S))
        x = np.concatenate([np.broadcast_to(belief.x, before.x.shape)[..., :7], before.x[..., 7:]], axis=-1)
        return belief._replace(x=x, bias=before.bias, extras=before.extras, C=C, recoveries=before.recoveries)

    def step(self, belief: Any, sample: Sample, h: Array, end: Measurement) -> Any:
        """Move by a sample, or by the last one."""
        if sample is None:
            return self.filter.predict(belief, belief.sample, np.zeros(()), h)
        return self.filter.predict(belief, sample.z, sample.valid, h)

    def slope(self, before: Any, after: Any, sample: Sample, h: Array, end: Measurement) -> Array:
        """Return F."""
        return self.filter.transition(before, after, h)

    def columns(self, belief: Any) -> dict[str, Array]:
        """Return pose, velocity, rate, biases, extra states and C."""
        q, r, v = belief.x[..., :4], belief.x[..., 4:7], belief.x[..., 7:]
        told = {"q_IB": quaternion.normalize(q), "r_IB": r, "dq_IB": dual_quaternion.from_pose(q, r), "v_I": v}
        told |= {"w_B": belief.sample[..., :3] - belief.bias[..., :3], "v_B": quaternion.inverse_rotate(q, v)}
        told |= {"bias": belief.bias[..., :3], "acc_bias": belief.bias[..., 3:]}
        return told | ({"extras": belief.extras} if len(self._first) else {}) | {"C": belief.C}


def _sensor(s: Any) -> InsSensor:
    """Return a sensor as the filter knows it."""
    if s.kind == "pose":
        R = np.diag([np.radians(s.sigma_deg) ** 2] * 3 + [s.sigma_m**2] * 3)
        return InsSensor(kind="pose", R=R, lever_B=s.lever_m, q_BM=s.q_BS)
    if s.kind == "attitude":
        sigma = s.sigma_deg if s.sigma_arcsec is None else np.asarray(s.sigma_arcsec) / 3600.0
        return InsSensor(kind="attitude", R=np.radians(sigma) ** 2 * np.eye(3), q_BM=s.q_BS)
    if s.kind == "velocity":
        kind = "velocity" if s.frame == "inertial" else "body-velocity"
        return InsSensor(kind=kind, R=variance(s.sigma_m_s), lever_B=s.lever_m, q_BM=s.q_BS)
    constant = (
        not isinstance(s.reference, str) and not isinstance(s.reference[0], str) if s.kind != "position" else False
    )
    if s.kind in ("position", "range"):
        place = s.reference if constant else (0.0, 0.0, 0.0)
        return InsSensor(
            kind=s.kind, R=variance(s.sigma_m, 3 if s.kind == "position" else 1), lever_B=s.lever_m, place=place
        )
    place = np.array(s.reference) if constant else np.zeros(3)
    sigma, mounted = np.radians(s.sigma_deg), s.q_BS
    if s.kind == "magnetometer":
        sigma = np.hypot(s.sigma_T, sigma * float(np.linalg.norm(place)))
    elif constant:
        place, mounted = place / np.linalg.norm(place), (1.0, 0.0, 0.0, 0.0)  # z is in body axes already
    if s.kind == "vector" and s.normalize:
        return InsSensor(kind="direction", R=variance(float(sigma), 2), q_BM=mounted, place=place)
    return InsSensor(kind="vector", R=variance(float(sigma)), q_BM=mounted, place=place)


def channels(built: Sequence[Channel], inertial: Inertial, rest_sigma: float) -> list[Channel]:
    """Return the channels with the sensors of the filter, and that of a body at rest."""
    found = []
    for c in built:
        sensor = inertial.sensors[c.name]
        refers = sensor.kind in ("vector", "direction", "range")
        place = (lambda m, c=c: _place(c, m)) if refers else (lambda m: None)
        found.append(dataclasses.replace(c, sensor=sensor, surround=place))
    if rest_sigma > 0.0:
        sensor = InsSensor(kind="rest", R=variance(rest_sigma))
        found.append(Channel("rest", sensor, Quantity((), 3, lambda z: (z, z)), lambda m: None))
    return found


def _place(c: Channel, m: Measurements) -> Array | None:
    """Return what a vector or a range refers to at each measurement, if that changes."""
    if c.quantity.extra:
        return m.z[:, -3:]
    env = c.surround(m)
    return None if env is None else env.sun_I if c.name == "sun" else env.B_I


class Pairing:
    """Puts gyro and accelerometer together, and tells when the body rests: blocks in, blocks out."""

    def __init__(self, replay: config.Replay, streams: Sequence[LogStream]) -> None:
        (gyro, acc), (self._gyro, self._acc, *_) = driving(replay), streams
        self._blind = replay.filter.kind == "imu"  # goes on without an accelerometer
        self._turns = [np.array(ALIGNED if self._blind else s.q_BS) for s in (gyro, acc)]  # imu turns them itself
        self._mended = self._blind and acc.range is not None  # what is beyond its range, too
        self._rests = getattr(replay.filter, "rest_sigma_m_s", 0.0) > 0.0
        self._walks = np.array([gyro.arw, acc.vrw]) if self._rests else None
        self._last, self._past, self._rested = np.zeros((0, 4)), np.zeros((0, 7)), -np.inf

    def __call__(self, block: Block, truth: bool) -> Block:
        """Return a block whose first part has samples of both."""
        gyro, acc, *others = block.parts
        good = acc.valid | acc.z.any(axis=1) if self._mended else acc.valid
        force = quaternion.rotate(self._turns[1], acc.z[good])
        known = np.concatenate([self._last, np.concatenate([acc.t[good, None], force], axis=1)])
        self._last = known[-1:]
        place = np.searchsorted(known[:, 0], gyro.t + SAME_S, side="right") - 1
        known = known if len(known) else np.zeros((1, 4))  # of a log without force no sample is ready
        ready = place >= 0
        self._gyro.counts["before start"] += int((~ready).sum())
        stale = (gyro.t - known[place, 0])[ready] > self._acc.gap_steps * (self._acc.step_s or np.inf)
        z = np.concatenate([quaternion.rotate(self._turns[0], gyro.z[ready]), known[place[ready], 1:]], axis=1)
        z[stale & self._blind, 3:] = np.nan
        both = Measurements(gyro.t[ready], z, gyro.valid[ready] & (~stale | self._blind), gyro.row[ready])
        sensed, rest = others[: len(others) - truth], [self._rest(both)] if self._rests else []
        return Block([both, *sensed, *rest, *others[len(others) - truth :]], block.until)

    def _rest(self, m: Measurements) -> Measurements:
        """Return a zero velocity every so often while the samples of a second rest."""
        rows = np.concatenate([self._past, np.concatenate([m.t[:, None], m.z], axis=1)])
        skip, chosen = len(self._past), list[int]()
        if len(rows) > 2:
            dt = float(np.median(np.diff(rows[:, 0])))
            window, walks = max(int(WINDOW_S / dt), 10), self._walks / np.sqrt(dt)
            rest_gyro, rest_acc = QUIET * walks + STILL
            limits = ImuNoise(walks[0], walks[1], 0.0, 0.0, 1, rest_gyro, rest_acc, 0.0)
            for k in (
                np.flatnonzero(resting(rows[:, 1:4], rows[:, 4:], skip, window, limits)) if len(rows) > window else ()
            ):
                if m.t[k] >= self._rested + REST_STEP_S:
                    self._rested = float(m.t[k])
                    chosen.append(int(k))
            self._past = rows[-window:]
        n = len(chosen)
        return Measurements(m.t[chosen], np.zeros((n, 3)), np.ones(n, bool), m.row[chosen])


class InsStarter(Starter):
    """Waits for a position and an attitude, of which that of the accelerometer is the last resort."""

    def __init__(self, replay: config.Replay, inertial: Inertial) -> None:
        super().__init__(replay.start, True)
        self._inertial, self._sensors = inertial, inertial.sensors
        self._kinds = {s.name: s.kind for s in replay.sensors}
        speed = replay.start.sigma_velocity_m_s
        aids = [s for s in replay.sensors if isinstance(s, Aiding)]
        self._loose = {s.name: np.hypot(s.sigma_lever_m, speed * s.sigma_delay_s) for s in aids}
        self._q: tuple[Array, Array] | None = None
        self._r: tuple[Array, Array] | None = None
        if replay.start.q_IB is not None:
            self._q = np.array(replay.start.q_IB), variance(np.radians(replay.start.sigma_attitude_deg))
        placed = any(kind in ("pose", "position") for kind in self._kinds.values())
        if replay.start.r_IB is not None or not placed:
            self._r = np.array(replay.start.r_IB or np.zeros(3)), variance(replay.start.sigma_position_m)
        self._headless = self._q is None and not tells_attitude(replay)
        self._replay, self._gap_s = replay, 0.0
        self._before: Any = None  # what the filter believed before a gap

    def anew(self, before: Any, gap_s: float) -> Starter:
        """Return what looks for a start behind a gap, of which the configuration states nothing."""
        free = dict.fromkeys(("q_IB", "dq_IB", "r_IB", "C", "t"))
        found = InsStarter(
            self._replay.model_copy(update={"start": self.start.model_copy(update=free)}), self._inertial
        )
        found._before, found._gap_s, found.ungated_s = before, gap_s, UNGATED_S
        if found._r is not None:  # no sensor tells a place
            drift = 0.5 * self._inertial.filter.coast_m_s2 * min(gap_s, LONGEST_COAST_S) ** 2
            found._r = before.x[..., 4:7].reshape(-1, 3)[0], variance(drift)
        return found

    def kept(self, belief: Any) -> Any:
        """Return the belief with what is known from before the gap."""
        return belief if self._before is None else self._inertial.kept(belief, self._before, self._gap_s)

    def _level(self, force_B: Array) -> float:
        """Return the sigma of the vertical by a sample; behind a gap a body moves, and is pushed to the side, too."""
        if self._before is None:
            return float(LEVEL)
        push = abs(float(np.sqrt(force_B @ force_B)) / GRAVITY - 1.0)
        return min(float(np.hypot(MOVING_LEVEL, push)), 1.0)

    def look(self, name: str, t: float, sensor: Any, z: Array, env: Any) -> First | None:
        """Return the start that this measurement makes possible."""
        force_B = self.held.z[0, 3:] if len(self.held.t) else None
        s, kind, R = self._sensors.get(name), self._kinds.get(name), np.asarray(sensor.R)
        if s is None:
            return None
        if kind in ("pose", "attitude") and self._q is None:
            self._q = quaternion.mul(z[:4], quaternion.conj(np.array(s.q_BM))), R[:3, :3]
        if kind in ("vector", "magnetometer") and self._q is None and force_B is not None:
            self._q = _by_gravity(
                force_B, quaternion.rotate(s.q_BM, z), np.asarray(s.place) if env is None else env, self._level(force_B)
            )
        if self._headless and self._q is None and force_B is not None:
            q = aligned(force_B, None)
            if self._before is not None:  # the heading from before
                q = levelled(self._before.x[..., :4].reshape(-1, 4)[0], force_B)
                self._headless = False
            turn = quaternion.to_matrix(q)
            level = self._level(force_B)
            self._q = q, turn.T @ np.diag([level, level, self._inertial.heading_sigma]) ** 2 @ turn
        if kind in ("pose", "position") and self._r is None and self._q is not None:
            place = dual_quaternion.to_pose(z)[1] if kind == "pose" else z
            loose = self._loose[name]  # lever arm and time offset are not known yet
            self._r = place - quaternion.rotate(self._q[0], np.array(s.lever_B)), R[-3:, -3:] + loose**2 * np.eye(3)
        if self._q is None or self._r is None:
            return None
        return First(self._q[0], self._r[0], blocks(self._q[1], self._r[1]), self._headless)

    def failed(self) -> InputError:
        """Return the error for a log that tells no start."""
        return InputError("start: no measurement tells attitude and position; give start.q_IB and start.r_IB")


def _by_gravity(force_B: Array, b_B: Array, reference: Array, level: float) -> tuple[Array, Array]:
    """Return the attitude that takes the specific force upwards, and a direction to its heading."""
    q = aligned(force_B, b_B)
    seen = quaternion.rotate(q, b_B)
    turn = np.arctan2(reference[1], reference[0]) - np.arctan2(seen[1], seen[0])
    return quaternion.mul(quaternion.exp(np.array([0.0, 0.0, turn])), q), variance(2.0 * level)
