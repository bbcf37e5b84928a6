"""Attitude and pose control laws, and the allocation of their commands to actuators."""
