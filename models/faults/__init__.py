"""Faults as parts of a mission: what goes wrong with a sensor, an actuator or the computer, from when to when."""
