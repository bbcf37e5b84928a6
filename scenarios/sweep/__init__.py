"""Sweeps of any fields of a mission, by linear covariance or by Monte Carlo."""
