"""Logs of other kinds: what a stranger brings is estimated right, or doubted in one line."""

import numpy as np
import pytest
from scipy.stats import chi2

from gnc import quaternion
from gnc.errors import InputError
from gnc.scenarios.logs.log_writer import write_log
from tests.estimators.imu_motion import motion
from tests.scenarios.replay.flights import named, names, replayed

LOG = 'log = { time = "t" }'
TRUTH = 'truth = { columns = "q", order = "wxyz" }\nscore = { mask = "moves" }'
GYRO = '{ kind = "gyro", columns = "gyr", unit = "rad/s" },'
MAG = '{ kind = "magnetometer", columns = "mag", unit = "uT" },'
TOML = f"""
{LOG}
filter = {{ kind = "imu" }}
{TRUTH}
sensors = [
    {GYRO}
    {{ kind = "accelerometer", columns = "acc", unit = "m/s^2" }},
    {MAG}
]
"""
NED = np.array([0.0, 1.0, 1.0, 0.0]) / np.sqrt(2.0)  # turns east, north, up into north, east, down


def columns(**options):
    m = motion(seed=3, duration=40.0, **{"rate": 100.0, **options})
    t, *parts = np.split(m.rows, [1, 4, 7], axis=1)
    return {"t": t[:, 0], **dict(zip(("gyr", "acc", "mag"), parts, strict=True)), "q": m.q_IB, "moves": 1.0 * m.moves}


def changed(*names, by):
    """Return what makes the log with some columns changed."""
    return lambda: (log := columns()) | {name: by(log[name]) for name in names}


def turned(z):
    """Vectors and attitude in body axes forward, right, down, that were forward, left, up."""
    return z * [1, -1, -1] if z.shape[1] == 3 else quaternion.mul(z, np.array([0.0, 1.0, 0.0, 0.0]))


def dead(z):
    """The sensor at 0 from 18 s to 22 s."""
    return np.where((abs(np.arange(len(z)) - 2000) < 200)[:, None], 0.0, z)


def without(log, low, high, *names):
    """The log with rows of some columns empty, or left out if there are no names."""
    away = (log["t"] > low) & (log["t"] < high)
    if not names:
        return {name: values[~away] for name, values in log.items()}
    return log | {name: np.where(away[:, None], np.nan, log[name]) for name in names}


def shuffled(log):
    """300 rows twice, and 200 times four rows the other way round."""
    rng, n = np.random.default_rng(0), len(log["t"])
    order = np.sort(np.concatenate([np.arange(n), rng.integers(0, n, 300)]))
    for k in rng.integers(0, len(order) - 4, 200):
        order[k : k + 4] = order[k : k + 4][::-1]
    return {name: values[order] for name, values in log.items()}


def nanoseconds(log):
    return log | {"t": 1_700_000_000_000_000_000 + np.rint(1e9 * log["t"]).astype(np.int64)}


LATER = ('moves" }', 'moves", from_s = 25.0 }')  # an attitude that was lost is found within 5 s
RIGHT = {  # the log, what differs in the configuration, and the RMS [deg] that it has to keep
    "50 Hz": (lambda: columns(rate=50.0), ("", ""), 0.5),
    "400 Hz": (lambda: columns(rate=400.0), ("", ""), 0.5),
    "nanoseconds": (lambda: nanoseconds(columns()), (LOG, 'log = { time = "t", time_unit = "ns" }'), 0.5),
    "twice and out of order": (lambda: shuffled(columns()), ("", ""), 0.5),
    "body axes forward, right, down": (changed("gyr", "acc", "mag", "q", by=turned), ("", ""), 0.5),
    "six axes": (columns, (MAG, ""), 1.0),
    "magnetometer silent": (lambda: without(columns(), 18.0, 22.0, "mag"), ("", ""), 0.5),
    "accelerometer silent": (lambda: without(columns(), 18.0, 22.0, "acc"), ("", ""), 2.0),
    "gap": (lambda: without(columns(), 18.0, 20.0), LATER, 2.0),
    "gyro silent": (lambda: without(columns(), 18.0, 20.0, "gyr"), LATER, 2.0),
}
PLAIN, SWINGS = ("", ""), "times as fast as magnetometer swings"
DOUBTED = {  # the log, what differs in the configuration, and what is said
    "rad/s called deg/s": (columns, (GYRO, GYRO.replace("rad/s", "deg/s")), SWINGS),
    "gyro the other way": (changed("gyr", by=lambda w: -w), PLAIN, "gyro turns -"),
    "axes of the gyro": (changed("gyr", by=lambda w: w[:, [1, 2, 0]]), PLAIN, "gyro does not turn as magnetometer"),
    "a left-handed magnetometer": (changed("mag", by=lambda m: m * [1, 1, -1]), PLAIN, "as magnetometer swings"),
    "rate of the rows": (columns, (LOG, "log = { rate_hz = 50 }"), SWINGS),
    "a gyro that was dead": (changed("gyr", by=dead), PLAIN, "gyro: says the same for 3.98 s from 18"),
    "truth in north, east, down": (changed("q", by=lambda q: quaternion.mul(NED, q)), PLAIN, "truth: its world axes"),
    "truth with its scalar elsewhere": (columns, ('"wxyz"', '"xyzw"'), "gyro and truth turn as fast, about other axes"),
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_log_of_another_kind_is_estimated_right(name, tmp_path):
    """Seed 3, which was looked at."""
    make, (old, new), limit = RIGHT[name]
    np.savez(tmp_path / "log.npz", **make())
    _, outcome = replayed(tmp_path / "log.npz", TOML.replace(old, new) if old else TOML, tmp_path / "out")
    assert outcome["truth"]["rms_deg"] < limit
    assert outcome["truth"]["nees_median"] < 2.0 * 2.37
    assert not outcome["warnings"]


@pytest.mark.parametrize("name", DOUBTED)
def test_a_log_that_contradicts_its_configuration_is_doubted(name, tmp_path):
    """Without a truth, where it is not the truth that is wrong."""
    make, (old, new), said = DOUBTED[name]
    np.savez(tmp_path / "log.npz", **make())
    toml = TOML if "truth" in name else TOML.replace(TRUTH, "")
    _, outcome = replayed(tmp_path / "log.npz", toml.replace(old, new) if old else toml, tmp_path / "out")
    assert [line for line in outcome["warnings"] if said in line]


def test_nanoseconds_called_seconds_are_refused(tmp_path):
    np.savez(tmp_path / "log.npz", **nanoseconds(columns()))
    with pytest.raises(InputError, match="time_unit: rows are 1.* s apart"):
        replayed(tmp_path / "log.npz", TOML, tmp_path / "out")


def test_normalised_directions_count_two_numbers_and_their_exact_noise_is_not_called_too_large(tmp_path):
    """3000 directions of unit length: NIS in the band of two; with three numbers it is 2 of 3 and sigma is doubted."""
    rng, n, sigma = np.random.default_rng(8), 3000, np.radians(0.5)
    q = quaternion.from_euler321(0.5 * np.sin(np.outer(np.arange(n), [0.01, 0.013, 0.017])))
    w = np.zeros((n, 3))
    w[:-1] = quaternion.log(quaternion.mul(quaternion.conj(q[:-1]), q[1:]))
    columns = {"t": np.arange(n, dtype=float), **named("w", w + 1e-4 * rng.standard_normal((n, 3)))}
    toml = f'[log]\ntime = "t"\n[filter]\nkind = "gyro-mekf"\n[[sensors]]\nkind = "gyro"\ncolumns = {names("w", 3)}\n'
    toml += 'unit = "rad/s"\narw = 1e-4\n'
    for i, r_I in enumerate(np.eye(3)[:2]):
        z = quaternion.inverse_rotate(q, r_I) + sigma * rng.standard_normal((n, 3))
        columns |= named(f"s{i}", z / np.linalg.norm(z, axis=1, keepdims=True))
        toml += f'[[sensors]]\nname = "s{i}"\nkind = "vector"\ncolumns = {names(f"s{i}", 3)}\nsigma_deg = 0.5\n'
        toml += f"reference = {r_I.tolist()}\n"
    write_log(tmp_path / "log.npz", {"": columns})
    _, outcome = replayed(tmp_path / "log.npz", toml, tmp_path / "out")
    for name in ("s0", "s1"):
        found = outcome["sensors"][name]
        assert found["size"] == 2
        low, high = chi2.ppf([5e-5, 1.0 - 5e-5], 2 * found["used"]) / found["used"]
        assert low < found["nis"] < high
    assert not [hint for hint in outcome["hints"] if "noise" in hint]


def test_a_log_that_begins_in_motion_is_aligned(tmp_path):
    log = columns()
    moving = {name: values[log["t"] > 12.0] for name, values in log.items()}
    np.savez(tmp_path / "log.npz", **moving)
    _, outcome = replayed(tmp_path / "log.npz", TOML, tmp_path / "out")
    assert outcome["truth"]["rms_deg"] < 1.5
    assert not outcome["failures"]


def test_iron_on_the_body_is_taken_off_and_told(tmp_path):
    log = changed("mag", by=lambda z: z @ np.diag([1.1, 0.9, 1.05]) + [30.0, -20.0, 25.0])()
    np.savez(tmp_path / "log.npz", **log)
    _, outcome = replayed(tmp_path / "log.npz", TOML, tmp_path / "out")
    assert outcome["truth"]["rms_deg"] < 2.0
    assert any("taken off" in warning for warning in outcome["warnings"])


def test_a_vehicle_is_no_body_about_a_place(tmp_path):
    log = columns()
    n, t = len(log["t"]), log["t"]
    turn = quaternion.exp(np.outer(np.clip(t - 10.0, 0.0, None), [0.0, 0.0, 0.1]))
    ahead = np.where(t > 10.0, 2.0 * np.sin(2.0 * np.pi * (t - 10.0) / 20.0), 0.0)  # [m/s^2], to 12 m/s and back
    push = quaternion.rotate(turn, ahead[:, None] * [1.0, 0.0, 0.0]) + [0.0, 0.0, 9.81]
    noise = np.random.default_rng(1).standard_normal((3, n, 3)) * [[[2e-3]], [[0.05]], [[0.6]]]
    log["gyr"] = np.where(t[:, None] > 10.0, [0.0, 0.0, 0.1], 0.0) + noise[0]
    log["acc"] = quaternion.inverse_rotate(turn, push) + noise[1]
    log["mag"] = quaternion.inverse_rotate(turn, np.broadcast_to([0.0, 18.0, -40.0], (n, 3))) + noise[2]
    np.savez(tmp_path / "log.npz", **(log | {"q": turn}))
    _, outcome = replayed(tmp_path / "log.npz", TOML, tmp_path / "out")
    assert any("as a vehicle does" in failure for failure in outcome["failures"])


def test_sensors_that_contradict_each_other_are_a_failure(tmp_path):
    np.savez(tmp_path / "log.npz", **changed("mag", by=lambda z: z[:, [1, 0, 2]] * [1, 1, -1])())
    _, outcome = replayed(tmp_path / "log.npz", TOML, tmp_path / "out")
    assert outcome["failures"] == ["sensors contradict each other, see the warnings: trust no estimate"]


def test_a_gyro_that_froze_is_told_as_the_cause(tmp_path):
    log = columns(rate=100.0)
    frozen = (log["t"] > 12.0) & (log["t"] < 17.0)
    log["gyr"][frozen] = log["gyr"][np.argmax(frozen)]
    np.savez(tmp_path / "log.npz", **log)
    _, outcome = replayed(tmp_path / "log.npz", TOML, tmp_path / "out")
    assert any("as gyro said the same for long" in failure for failure in outcome["failures"])


@pytest.mark.parametrize(
    ("stamps", "said"),
    [
        (lambda t: np.where(t > 20.0, t - 10.0, t), "gyro: its clock goes back"),
        (lambda t: np.round(t, 1), "gyro: 3599 of 4000 stamps are repeated"),
    ],
)
def test_stamps_that_leave_no_log_of_the_motion_are_a_failure(tmp_path, stamps, said):
    log = columns(rate=100.0)
    np.savez(tmp_path / "log.npz", **(log | {"t": stamps(log["t"])}))
    _, outcome = replayed(tmp_path / "log.npz", TOML, tmp_path / "out")
    assert any(failure.startswith(said) for failure in outcome["failures"])


def test_a_log_whose_accelerometer_never_speaks_is_one_line(tmp_path):
    log = columns(rate=100.0)
    np.savez(tmp_path / "log.npz", **(log | {"acc": np.full_like(log["acc"], np.nan)}))
    with pytest.raises(InputError, match="sensors.accelerometer: no row of the log can be used"):
        replayed(tmp_path / "log.npz", TOML, tmp_path / "out")
