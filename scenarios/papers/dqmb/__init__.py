"""Multibody systems in dual quaternions (DQMB): figures 5 and 6, the prescribed joint, the two arms, and beyond."""

from gnc.scenarios.papers.dqmb import holding, satellite, two_arms

__all__ = ["holding", "satellite", "two_arms"]
