"""Sensors: each a file, all with one small interface (`interface.Sensor`).

    sensor.rate_hz, sensor.latency_s              how often it measures, how old a measurement is on arrival
    sensor.noise_size                             how many standard normal numbers one measurement takes
    sensor.measure(truth, env, noise)             -> Measurement(z, valid)
    sensor.predict(x, env)                        -> Prediction(z, H, R)
    sensor.residual(z, z_predicted)               (..., m) the difference on the measurement's manifold
    sensor.bias_size, sensor.H_bias               for filters that estimate the bias, H_bias (..., m, bias_size)

Truth and filter are two objects. `measure` uses the parameters of the sensor as it is, with its bias, scale errors and
misalignment, dispersed over the trials if wanted; `predict` uses those the filter believes in. The filter's copy is

    believed = dataclasses.replace(magnetometer, bias=np.zeros(3), scale=np.zeros(3), misalignment=np.zeros(3))

State and errors. x is an `AttitudeState`, with the error (a, dw), q = q^ exp(a/2): H has 6 columns; or a `PoseState`,
with the error (dxi, dchi), p = p^ exp(dxi/2): 12 columns. Any state with a field `q_IB` and `w_B`, or `dq_IB` and
`chi_B`, does. H is the derivative of residual(z of x, z of x^) with respect to that error, R the covariance of the
residual's noise. H and R have the leading axes they need, which broadcast to those of z. A linear sensor's residual is
z - z_predicted; of an attitude or a pose, whose z is a quaternion or a dual quaternion, it is the logarithm (m = 3, 6).

Environment. `env` is an `Environment` with B_I, sun_I, shadow (magnetometer, sun sensors, star tracker), not used
(gyro), or the observer's state with `dq_IB` (relative sensors, where truth and x are the target's).

Validity. `valid` is a bool per trial. z is finite always, zeros where not valid, and the residual of such a z is finite
too. A lost trial, NaN in the truth, is not valid. Noise is taken whether valid or not, so that streams stay in step.

Bias. It is added to z. Where bias_size > 0, `measure` and `predict` take a keyword `bias` (..., bias_size) in place of
the parameter: the true one of the moment, or the filter's estimate. `Gyro.advance_bias(bias, noise, h)` moves the true
one.

`Magnetometer`, `FineSunSensor` and `VectorSensor` also have expected(n, env), the kernel of `predict` and its
arguments, which a filter fuses with its update: it sees at once which columns of H are zero. Their residual is the
difference.

`Magnetometer`, `FineSunSensor` and `Gyro` also have in_body(z), the body vector that gives z (for TRIAD, B-dot, and
filters driven by a gyro). An `Accelerometer` has no predict: it is `recorded`, and no filter is corrected by it.
"""

from gnc.models.sensors.coarse_sun_sensor import CoarseSunSensor
from gnc.models.sensors.direction import FineSunSensor, HorizonSensor, UnitDirection, VectorSensor
from gnc.models.sensors.gnss import Gnss
from gnc.models.sensors.inertial import Accelerometer, Gyro
from gnc.models.sensors.interface import Measurement, Prediction, Sensor
from gnc.models.sensors.magnetometer import Magnetometer
from gnc.models.sensors.relative import RelativePose
from gnc.models.sensors.relative_position import RangeBearing, RelativePosition
from gnc.models.sensors.star_tracker import StarTracker

__all__ = [
    "Accelerometer",
    "CoarseSunSensor",
    "FineSunSensor",
    "Gnss",
    "Gyro",
    "HorizonSensor",
    "Magnetometer",
    "Measurement",
    "Prediction",
    "RangeBearing",
    "RelativePose",
    "RelativePosition",
    "Sensor",
    "StarTracker",
    "UnitDirection",
    "VectorSensor",
]
