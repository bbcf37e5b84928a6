"""Things with mass, wires or noise: bodies, multibody trees, environment, sensors and actuators."""
