"""Whether a filter is honest, by its mean NEES, and how near its error is to the Cramer-Rao bound."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from gnc.checks import Check, at_most, within
from gnc.config import NonNegative, Positive
from gnc.errors import InputError
from gnc.estimators import cramer_rao
from gnc.estimators.consistency import mean_band
from gnc.expression import parse
from gnc.models.states import AttitudeState
from gnc.montecarlo.summary import TALLY
from gnc.scenarios.missions.requirements.base import ALWAYS, Finding, Judged, RequirementPart, no_data, resolve
from gnc.typing import Array


class ConsistencyPart(RequirementPart):
    """The mean of a NEES over all trials and times that count, within the band that an honest filter keeps.

    Errors of one trial are not independent: the band is that of as many values as there are trials.
    """

    kind: Literal["consistency"] = "consistency"
    written: ClassVar[tuple[str, ...]] = ("when",)
    title: str = ""
    """What it is called in tables; by default its name."""
    signal: str = "nees"
    """A signal with a nominal value, its number of dimensions."""
    when: str = ""
    """The times that count; all if it is empty."""
    confidence: Annotated[float, Field(gt=0, lt=1)] = 0.99
    """With which the mean of an honest filter is in its exact band."""
    excess: NonNegative = 0.0
    """What is added to the top of that band, as a fraction of the nominal value."""

    def names(self) -> set[str]:
        """Return the signals that it needs."""
        return {self.signal} | super().names()

    def judge(self, name: str, judged: Judged) -> Finding:
        """Return the mean, and whether it is in its band."""
        full = resolve(self.signal, judged.flight.data_vars, judged.mission.craft)
        nominal = None if full in ALWAYS else judged.flight[full].attrs.get("nominal")
        if nominal is None:
            raise InputError(f"signal = {self.signal!r}: has no nominal value; give a NEES")
        values = judged.flight[full].values
        counted = judged.value(parse(self.when or "t >= 0")).astype(bool) & np.isfinite(values)
        own = np.array([v[w].mean() if w.any() else np.nan for v, w in zip(values, counted, strict=True)])
        finding = Finding(per_trial={name: own})
        finding.tally = {f"{name} count": counted.sum(axis=1).astype(float), f"{name} of": np.full(len(own), nominal)}
        counted = counted & judged.kept[:, None]
        finding.metrics = {name: float(values[counted].mean()) if counted.any() else float("nan")}
        finding.checks = [self._checked(name, finding.metrics[name], int(counted.any(axis=1).sum()), nominal)]
        return finding

    def campaign(self, name: str, table: Mapping[str, Any], kept: Any) -> list[Check]:
        """Return the mean over all trials of a campaign; its band is narrower, as there are more of them."""
        own, count, of = (
            np.asarray(table[key])[kept] for key in (name, *(f"{TALLY}{name} {w}" for w in ("count", "of")))
        )
        good = count > 0.0
        mean = float(np.sum(own[good] * count[good]) / count.sum()) if good.any() else float("nan")
        return [self._checked(name, mean, int(good.sum()), float(of[0]) if len(of) else 1.0)]

    def _checked(self, name: str, mean: float, trials: int, nominal: float) -> Check:
        band, title = mean_band(nominal, max(trials, 1), self.confidence), self.title or name
        low, high = float(band.lo), float(band.hi) + self.excess * nominal
        return within(title, mean, low, high, f"nominal {nominal:g}") if trials else no_data(title, (low, high))


ERROR = "knowledge_error_deg"


class BoundPart(RequirementPart):
    """RMS attitude error over the Cramer-Rao bound, over all trials and times that count.

    The bound is that of a free body whose inertia is known, from the true start of each trial on, by the prior and the
    sensors that flight software believes in.
    """

    kind: Literal["bound"] = "bound"
    written: ClassVar[tuple[str, ...]] = ("when",)
    title: str = ""
    """What it is called in tables; by default its name."""
    craft: str = ""
    """The craft; may be left out where there is one only."""
    when: str = ""
    """The times that count; all if it is empty."""
    at_most: Positive | None = None

    def names(self) -> set[str]:
        """Return the signals that it needs."""
        own = {self._signal(name) for name in (ERROR, "q_IB", "w_B_deg_s")}
        return own | super().names()

    def _signal(self, name: str) -> str:
        return f"{self.craft}.{name}" if self.craft else name

    def judge(self, name: str, judged: Judged) -> Finding:
        """Return the ratio, and the bound in degrees beside it."""
        error = judged.value(parse(self._signal(ERROR)))
        counted = judged.value(parse(self.when or "t >= 0")).astype(bool) & np.isfinite(error)
        error = np.where(counted, error, 0.0)
        bound = self.bound_deg(judged)
        rms = lambda x: float(np.sqrt(np.mean(np.square(x)))) if x.size else float("nan")  # noqa: E731
        own = np.array([rms(e[w]) / rms(b[w]) for e, b, w in zip(error, bound, counted, strict=True)])
        squares = {what: np.square(x * counted).sum(axis=1) for what, x in (("error", error), ("bound", bound))}
        finding = Finding(per_trial={name: own}, tally={f"{name} {what}": x for what, x in squares.items()})
        counted = counted & judged.kept[:, None]
        least = rms(bound[counted])
        finding.metrics = {name: rms(error[counted]) / least, f"{name}_bound_deg": least}
        finding.checks = self._checked(name, finding.metrics[name])
        return finding

    def campaign(self, name: str, table: Mapping[str, Any], kept: Any) -> list[Check]:
        """Return the ratio over all trials of a campaign."""
        error, bound = (np.asarray(table[f"{TALLY}{name} {what}"])[kept].sum() for what in ("error", "bound"))
        return self._checked(name, float(np.sqrt(error / bound)) if bound > 0.0 else float("nan"))

    def _checked(self, name: str, ratio: float) -> list[Check]:
        if self.at_most is None:
            return []
        title = self.title or name
        return [no_data(title, self.at_most) if np.isnan(ratio) else at_most(title, ratio, self.at_most, "nominal 1")]

    def bound_deg(self, judged: Judged) -> Array:
        """Return the bound on the RMS angle (trials, times) at the times of the record."""
        full = resolve(self._signal(ERROR), judged.flight.data_vars, judged.mission.craft)
        craft, t = full.removesuffix(f".{ERROR}"), judged.flight["time"].values
        first = [judged.flight[f"{craft}.{name}"].values[:, 0] for name in ("q_IB", "w_B_deg_s")]
        starts, which = np.unique(np.concatenate(first, axis=-1), axis=0, return_inverse=True)
        x_0 = AttitudeState(starts[:, :4], np.radians(starts[:, 4:]))
        return bound_deg(judged.mission, craft, x_0, t)[:, which.ravel()].T


def bound_deg(mission: Any, craft: str, x_0: AttitudeState, t: Array) -> Array:
    """Return the bound (times, starts) of a free body at some times, from some true starts on."""
    body, software = mission.craft[craft], mission.software.get(craft)
    knowledge: Any = getattr(getattr(software, "navigation", None), "start", None)
    if body.loads or body.actuators or not hasattr(knowledge, "covariance"):
        raise InputError("the bound is known for a free body, without loads and actuators, and a filter with a `start`")
    sky = mission.environment.orbit.sky(mission.run.truth_step_s, mission.run.duration_s)
    parts = {name: part for name, part in body.sensors.items() if name not in software.unused}
    sensors = {name: part.belief() for name, part in parts.items()}
    due = {name: set(_due(part, t[-1])) for name, part in parts.items()}
    every = {0.0, *np.round(t, 9).tolist()}.union(*due.values())
    times = np.array(sorted(every))
    flow = cramer_rao.attitude_flow(body.belief().J, x_0, times)
    gained = np.zeros((len(times), *x_0.q_IB.shape[:-1], 6, 6))
    for k, time in enumerate(times.tolist()):
        x, env = AttitudeState(flow.x[k, ..., :4], flow.x[k, ..., 4:]), sky.at(time)
        for name in [name for name in sensors if time in due[name]]:
            _, H, R = sensors[name].predict(x, env)
            valid = sensors[name].measure(x, env, np.zeros((len(x.q_IB), sensors[name].noise_size))).valid
            gained[k] += cramer_rao.information(H, R) * valid[..., None, None]
    C = cramer_rao.posterior(flow.F, flow.Q, gained, knowledge.covariance(sensors, sky.at(0.0), body.start, x_0))
    square = np.trace(C[..., :3, :3], axis1=-2, axis2=-1)
    return np.degrees(np.sqrt(square[np.searchsorted(times, np.round(t, 9))]))


def _due(part: Any, end: float) -> list[float]:
    """Return the times at which a sensor measures."""
    count = int((end - part.first_s) / part.interval_s + 1e-9) + 1
    return np.round(part.first_s + part.interval_s * np.arange(max(count, 0)), 9).tolist()
