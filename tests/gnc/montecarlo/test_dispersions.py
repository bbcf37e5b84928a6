"""Every kind of dispersion has the distribution it states; every sampling draws a trial from (seed, trial)."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError
from scipy import stats
from scipy.spatial.transform import Rotation

from gnc import check
from gnc.errors import InputError
from gnc.montecarlo.dispersions import Dispersions
from gnc.montecarlo.sampling import columns, draw

N = 4000
FALSE_ALARM = 1e-6  # of each statistical test here, for a seed picked at random
J = [[2.0, 0.1, -0.2], [0.1, 3.0, 0.3], [-0.2, 0.3, 4.0]]
Q = [0.5, 0.5, -0.5, 0.5]
CONFIGURATION = {
    "vehicle": {"mass_kg": 10.0, "J": J, "q_IB": Q, "boom": [0.0, 0.0, 2.0], "drag": [1.0, 2.0, 3.0], "name": "x"},
    "sensors": [{"sigma_deg": 1.0, "on": True}, {"sigma_deg": 2.0, "on": False}],
    "zero": 0.0,
}


def dispersions(**tables) -> Dispersions:
    return TypeAdapter(Dispersions).validate_python(tables)


def drawn(n: int = N, sampling="plain", seed: int = 5, **tables) -> dict[str, np.ndarray]:
    return draw(dispersions(**tables), CONFIGURATION, seed, np.arange(n), n, sampling)


EVERYTHING = {
    "mass": {"kind": "normal", "key": "vehicle.mass_kg", "sigma_percent": 2},
    "inertia": {"kind": "inertia", "key": "vehicle.J", "sigma_percent": 5, "tilt_deg": 2},
    "attitude": {"kind": "attitude", "key": "vehicle.q_IB"},
    "boom": {"kind": "direction", "key": "vehicle.boom", "cone_deg": 20},
    "noise": {"kind": "log-normal", "key": "sensors[1].sigma_deg", "sigma": 0.3},
    "drag": {"kind": "correlated", "keys": ["vehicle.drag[0]", "vehicle.drag[2]"], "covariance": [[1, 0.5], [0.5, 1]]},
    "middle": {"kind": "uniform", "key": "vehicle.drag[1]", "plus_minus": 0.5},
    "on": {"kind": "discrete", "key": "zero", "choices": [1, 2, 3]},
}


@pytest.mark.parametrize("sampling", ["plain", "latin-hypercube", "sobol"])
def test_a_trial_draws_the_same_alone_in_any_order_and_in_any_chunk(sampling) -> None:
    everything = dispersions(**EVERYTHING)
    whole = draw(everything, CONFIGURATION, 5, np.arange(100), 100, sampling)
    for trials in ([41], [99, 3, 4, 5, 0], list(range(33, 66))):
        part = draw(everything, CONFIGURATION, 5, trials, 100, sampling)
        assert all(part[key].tobytes() == whole[key][trials].tobytes() for key in whole)


@pytest.mark.parametrize("sampling", ["plain", "sobol"])
def test_a_longer_campaign_begins_with_the_draws_of_the_shorter_one(sampling) -> None:
    short, long = (drawn(n, sampling, **EVERYTHING) for n in (50, 80))
    assert all((short[key] == long[key][:50]).all() for key in short)


@pytest.mark.parametrize("sampling", ["plain", "latin-hypercube", "sobol"])
def test_another_seed_draws_other_values(sampling) -> None:
    one, two = (drawn(50, sampling, seed, **EVERYTHING) for seed in (1, 2))
    assert all((one[key] != two[key]).any() for key in one)


def test_plain_sampling_draws_the_same_beside_other_dispersions() -> None:
    alone = drawn(50, mass=EVERYTHING["mass"])
    assert (alone["vehicle.mass_kg"] == drawn(50, **EVERYTHING)["vehicle.mass_kg"]).all()


@pytest.mark.parametrize("sampling", ["plain", "latin-hypercube", "sobol"])
def test_the_order_of_the_tables_does_not_matter(sampling) -> None:
    one, two = drawn(20, sampling, **EVERYTHING), drawn(20, sampling, **dict(reversed(EVERYTHING.items())))
    assert all((one[key] == two[key]).all() for key in one)


def test_a_latin_hypercube_has_one_trial_in_each_stratum() -> None:
    x = drawn(200, "latin-hypercube", a={"kind": "uniform", "key": "zero", "lo": 0, "hi": 1})["zero"]
    assert sorted(np.floor(x * 200).astype(int)) == list(range(200))


def test_sobol_points_balance_over_a_power_of_two() -> None:
    tables = {
        "a": {"kind": "uniform", "key": "zero", "lo": 0, "hi": 1},
        "b": {"kind": "uniform", "key": "vehicle.mass_kg", "lo": 0, "hi": 1},
    }
    fields = drawn(256, "sobol", **tables)
    cells, *_ = np.histogram2d(fields["zero"], fields["vehicle.mass_kg"], bins=16, range=[[0, 1], [0, 1]])
    assert (cells == 1).all()


@pytest.mark.parametrize("sampling", ["plain", "latin-hypercube", "sobol"])
@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ({"kind": "normal", "sigma": 0.5}, stats.norm(10.0, 0.5)),
        ({"kind": "normal", "sigma_percent": 3}, stats.norm(10.0, 0.3)),
        ({"kind": "normal", "sigma": 2, "mean": -1}, stats.norm(-1.0, 2.0)),
        ({"kind": "uniform", "lo": -1, "hi": 3}, stats.uniform(-1.0, 4.0)),
        ({"kind": "uniform", "plus_minus": 2}, stats.uniform(8.0, 4.0)),
        ({"kind": "uniform", "plus_minus_percent": 10}, stats.uniform(9.0, 2.0)),
        ({"kind": "log-normal", "sigma": 0.4}, stats.lognorm(0.4, scale=10.0)),
    ],
)
def test_a_number_has_the_distribution_stated(sampling, table: dict, expected) -> None:
    """Kolmogorov-Smirnov, false alarm 1e-6; the two stratified samplings only lower it."""
    x = drawn(N, sampling, a={"key": "vehicle.mass_kg"} | table)["vehicle.mass_kg"]
    assert stats.kstest(x, expected.cdf).pvalue > FALSE_ALARM


def test_each_number_of_an_array_is_dispersed_by_itself() -> None:
    """Kolmogorov-Smirnov for each, and no correlation of ranks; false alarm 1e-6 each."""
    x = drawn(a={"kind": "normal", "key": "vehicle.drag", "sigma": [0.1, 0.2, 0.3]})["vehicle.drag"]
    for i, sigma in enumerate([0.1, 0.2, 0.3]):
        assert stats.kstest(x[:, i], stats.norm(i + 1.0, sigma).cdf).pvalue > FALSE_ALARM
        assert stats.spearmanr(x[:, i], x[:, i - 1]).pvalue > FALSE_ALARM


def test_discrete_choices_come_as_often_as_stated() -> None:
    """Chi-square, false alarm 1e-6."""
    table = {"kind": "discrete", "key": "zero", "choices": [1, 5, 7], "probabilities": [0.2, 0.5, 0.3]}
    values, counts = np.unique(drawn(a=table)["zero"], return_counts=True)
    assert values.tolist() == [1.0, 5.0, 7.0]
    assert stats.chisquare(counts, np.array([0.2, 0.5, 0.3]) * N).pvalue > FALSE_ALARM


def test_discrete_choices_may_be_arrays() -> None:
    x = drawn(50, a={"kind": "discrete", "key": "vehicle.boom", "choices": [[1, 0, 0], [0, 1, 0]]})["vehicle.boom"]
    assert {tuple(row) for row in x} == {(1.0, 0.0, 0.0), (0.0, 1.0, 0.0)}


@pytest.mark.parametrize("covariance", [[[4.0, 1.0], [1.0, 1.0]], [[4.0, 2.0], [2.0, 1.0]], [[0.0, 0.0], [0.0, 1.0]]])
def test_a_correlated_group_has_its_covariance_singular_ones_included(covariance) -> None:
    """Whitened along the principal axes it is standard normal, or nothing; Kolmogorov-Smirnov, false alarm 1e-6."""
    table = {"kind": "correlated", "keys": ["vehicle.drag[0]", "vehicle.mass_kg"], "covariance": covariance}
    fields = drawn(a=table)
    x = np.stack([fields["vehicle.drag"][:, 0] - 1.0, fields["vehicle.mass_kg"] - 10.0], axis=1)
    variances, axes = np.linalg.eigh(covariance)
    for variance, axis in zip(variances, axes.T, strict=True):
        if variance > 1e-9:
            assert stats.kstest(x @ axis / np.sqrt(variance), "norm").pvalue > FALSE_ALARM
        else:
            assert np.abs(x @ axis).max() < 1e-12
    assert (fields["vehicle.drag"][:, 1:] == [2.0, 3.0]).all()


@pytest.mark.jit
@pytest.mark.parametrize("cone_deg", [0.001, 20.0, 180.0])
def test_directions_are_uniform_within_the_cone_and_keep_their_length(cone_deg: float) -> None:
    """Height and azimuth of a uniform cap are uniform; Kolmogorov-Smirnov, false alarm 1e-6 each."""
    axis = np.array([1.0, -2.0, 2.0])
    table = {"kind": "direction", "key": "vehicle.boom", "axis": axis.tolist(), "cone_deg": cone_deg}
    x = drawn(a=table)["vehicle.boom"]
    assert np.allclose(np.linalg.norm(x, axis=1), 3.0, rtol=1e-14)
    local = Rotation.align_vectors([[0, 0, 1.0]], [axis])[0].apply(x / 3.0)
    angle = np.arctan2(np.hypot(local[:, 0], local[:, 1]), local[:, 2])
    height = (np.sin(angle / 2) / np.sin(np.radians(cone_deg) / 2)) ** 2
    assert stats.kstest(height, "uniform").pvalue > FALSE_ALARM
    azimuth = np.arctan2(local[:, 1], local[:, 0])
    assert stats.kstest(azimuth, stats.uniform(-np.pi, 2 * np.pi).cdf).pvalue > FALSE_ALARM


@pytest.mark.jit
def test_attitudes_without_sigma_are_uniform_on_all_rotations() -> None:
    """The angle of a uniform rotation has the density (1 - cos a)/pi, its axis is uniform; false alarm 1e-6 each."""
    q = drawn(a={"kind": "attitude", "key": "vehicle.q_IB"})["vehicle.q_IB"]
    assert np.allclose(np.linalg.norm(q, axis=1), 1.0, rtol=1e-14)
    vector = Rotation.from_quat(q, scalar_first=True).as_rotvec()
    angle = np.linalg.norm(vector, axis=1)
    assert stats.kstest(angle, lambda a: (a - np.sin(a)) / np.pi).pvalue > FALSE_ALARM
    for i in range(3):
        assert stats.kstest(vector[:, i] / angle, stats.uniform(-1, 2).cdf).pvalue > FALSE_ALARM


@pytest.mark.jit
def test_attitudes_with_sigma_turn_the_nominal_by_normal_angles_about_body_axes() -> None:
    """Kolmogorov-Smirnov, false alarm 1e-6 each."""
    sigma_deg = [1.0, 2.0, 5.0]
    q = drawn(a={"kind": "attitude", "key": "vehicle.q_IB", "sigma_deg": sigma_deg})["vehicle.q_IB"]
    nominal = Rotation.from_quat(Q, scalar_first=True)
    phi_deg = np.degrees((nominal.inv() * Rotation.from_quat(q, scalar_first=True)).as_rotvec())
    for i in range(3):
        assert stats.kstest(phi_deg[:, i] / sigma_deg[i], "norm").pvalue > FALSE_ALARM


@pytest.mark.jit
def test_a_dispersed_inertia_scatters_as_stated() -> None:
    """Root mean square of the relative standard deviations of the principal moments, to six of its own deviations.

    A standard deviation from N numbers is off by a share of 1/sqrt(2N); the mean over three moments is off by no more.
    """
    x = drawn(a={"kind": "inertia", "key": "vehicle.J", "sigma_percent": 1.0})["vehicle.J"]
    moments, axes = np.linalg.eigh(J)
    relative = np.einsum("ji,njk,ki->ni", axes, x, axes) / moments - 1.0
    assert abs(np.sqrt(relative.var(axis=0).mean()) / 0.01 - 1.0) < 6.0 / np.sqrt(2 * N)
    off_axes = np.einsum("ji,njk,kl->nil", axes, x, axes) - moments * np.eye(3) * (1.0 + relative[:, None, :])
    assert np.abs(off_axes).max() < 1e-13


@pytest.mark.jit
def test_the_axes_of_a_dispersed_inertia_turn_by_the_tilt_stated() -> None:
    """With no scatter of the moments, the angle about each axis is normal; Kolmogorov-Smirnov, false alarm 1e-6."""
    configuration = {"J": np.diag([1.0, 2.0, 2.5]).tolist()}
    tilted = dispersions(a={"kind": "inertia", "key": "J", "sigma_percent": 0.0, "tilt_deg": 0.01})
    x = draw(tilted, configuration, 5, np.arange(N), N)["J"]
    about_z_deg = np.degrees(x[:, 0, 1] / (1.0 - 2.0))  # to first order in the tilt: J' = J + [phi] J - J [phi]
    assert stats.kstest(about_z_deg / 0.01, "norm").pvalue > FALSE_ALARM


@pytest.mark.jit
@settings(deadline=None)
@given(
    st.tuples(*[st.floats(0.0, 10.0)] * 3).filter(lambda d: sorted(d)[1] > 1e-3),
    st.floats(0.0, 50.0),
    st.floats(0.0, 180.0),
)
def test_a_dispersed_inertia_is_always_that_of_a_rigid_body(second, sigma_percent: float, tilt_deg: float) -> None:
    a, b, c = second
    configuration = {"J": np.diag([b + c, c + a, a + b]).tolist()}
    table = dispersions(j={"kind": "inertia", "key": "J", "sigma_percent": sigma_percent, "tilt_deg": tilt_deg})
    check.inertia("J", draw(table, configuration, 5, np.arange(20), 20)["J"])


def test_columns_name_every_number() -> None:
    flat = columns({"vehicle.J": np.arange(8.0).reshape(2, 2, 2), "mass": np.array([1.0, 2.0])})
    assert {name: values.tolist() for name, values in flat.items()} == {
        "input.vehicle.J[0,0]": [0.0, 4.0],
        "input.vehicle.J[0,1]": [1.0, 5.0],
        "input.vehicle.J[1,0]": [2.0, 6.0],
        "input.vehicle.J[1,1]": [3.0, 7.0],
        "input.mass": [1.0, 2.0],
    }


@pytest.mark.parametrize("sampling", ["plain", "latin-hypercube", "sobol"])
def test_no_dispersions_draw_nothing(sampling) -> None:
    assert drawn(10, sampling) == {}


def test_dispersions_survive_being_written_and_read() -> None:
    adapter = TypeAdapter(Dispersions)
    everything = dispersions(**EVERYTHING)
    assert adapter.validate_json(adapter.dump_json(everything)) == everything


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ({"kind": "normal", "key": "vehicle.mas", "sigma": 1}, "vehicle.mas: no 'mas' here; there is"),
        ({"kind": "normal", "key": "vehicle.name", "sigma": 1}, "vehicle.name: 'x' is not a number"),
        ({"kind": "normal", "key": "sensors[0].on", "sigma": 1}, "sensors[0].on: 'True' is not a number"),
        ({"kind": "normal", "key": "sensors[2].sigma_deg", "sigma": 1}, "sensors[2].sigma_deg: index 2"),
        (
            {"kind": "normal", "key": "vehicle.mass_kg[0]", "sigma": 1},
            "vehicle.mass_kg[0]: index 0 into",
        ),
        ({"kind": "normal", "key": "vehicle.mass_kg.x", "sigma": 1}, "vehicle.mass_kg.x: nothing named"),
        ({"kind": "normal", "key": "vehicle", "sigma": 1}, "vehicle: "),
        ({"kind": "normal", "key": "vehicle.drag", "sigma": [1, 2]}, "sigma: (2,) numbers for a field of (3,)"),
        ({"kind": "normal", "key": "vehicle.J", "sigma": [1, 2, 3]}, "sigma: (3,) numbers for a field of (3, 3)"),
        (
            {"kind": "normal", "key": "zero", "sigma_percent": 1},
            "sigma_percent: the value dispersed is zero",
        ),
        ({"kind": "log-normal", "key": "zero", "sigma": 1}, "log-normal: the value dispersed is zero"),
        ({"kind": "inertia", "key": "vehicle.drag", "sigma_percent": 1}, "vehicle.drag: expected"),
        ({"kind": "attitude", "key": "vehicle.drag"}, "vehicle.drag: expected (..., 4)"),
        ({"kind": "direction", "key": "vehicle.q_IB"}, "vehicle.q_IB: expected (..., 3)"),
        (
            {"kind": "discrete", "key": "zero", "choices": [[1, 2]]},
            "choices: expected a list of numbers",
        ),
        (
            {"kind": "correlated", "keys": ["zero", "vehicle.drag"], "covariance": [[1, 0], [0, 1]]},
            "vehicle.drag: an array",
        ),
        ({"kind": "correlated", "keys": ["zero"], "covariance": [[-1]]}, "covariance: variance -1"),
    ],
)
def test_a_dispersion_that_does_not_fit_is_named_before_anything_flies(table: dict, says: str) -> None:
    with pytest.raises(InputError) as caught:
        drawn(0, a=table)
    assert str(caught.value).startswith(f"dispersions.a: {says}") and "\n" not in str(caught.value)


@pytest.mark.parametrize("second", ["vehicle.drag[1]", "vehicle.drag"])
def test_two_dispersions_of_one_number_are_refused(second: str) -> None:
    tables = {"a": {"kind": "normal", "key": "vehicle.drag[1]", "sigma": 1}}
    tables["b"] = {"kind": "normal", "key": second, "sigma": 1}
    with pytest.raises(InputError, match="dispersions.b: vehicle.drag is dispersed by a too"):
        drawn(0, **tables)


@pytest.mark.parametrize(
    "table",
    [
        {"kind": "gaussian", "key": "zero", "sigma": 1},
        {"kind": "normal", "key": "zero"},
        {"kind": "normal", "key": "zero", "sigma": 1, "sigma_percent": 1},
        {"kind": "normal", "key": "zero", "sigma": -1},
        {"kind": "normal", "key": "zero", "sigma": 1, "extra": 1},
        {"kind": "uniform", "key": "zero", "lo": 1},
        {"kind": "uniform", "key": "zero", "lo": 1, "hi": 0},
        {"kind": "discrete", "key": "zero", "choices": [1, 2], "probabilities": [0.5, 0.6]},
        {"kind": "direction", "key": "zero", "cone_deg": 181},
    ],
)
def test_a_dispersion_that_makes_no_sense_is_refused_when_read(table: dict) -> None:
    with pytest.raises(ValidationError):
        dispersions(a=table)


def test_a_key_that_is_none_is_refused() -> None:
    with pytest.raises(InputError, match="not a dotted key"):
        drawn(0, a={"kind": "normal", "key": "vehicle.drag[x]", "sigma": 1})


def test_an_unknown_sampling_is_refused() -> None:
    with pytest.raises(InputError, match="sampling: 'halton' is not one of"):
        drawn(10, "halton", mass=EVERYTHING["mass"])


def test_a_trial_beyond_the_latin_hypercube_is_refused() -> None:
    with pytest.raises(InputError, match="trials: 10 is not below the 10 trials"):
        draw(dispersions(mass=EVERYTHING["mass"]), CONFIGURATION, 5, [10], 10, "latin-hypercube")
