"""Integrators of rigid-body motion: structure-preserving ones, and the usual ones to compare with."""

from gnc.integrators.table import METHODS, AttitudeMethod, Method, attitude_method

__all__ = ["METHODS", "AttitudeMethod", "Method", "attitude_method"]
