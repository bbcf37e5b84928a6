"""Multibody systems in dual quaternions (DQMB): figures 5 and 6, the prescribed joint, the appendix's two arms."""

from gnc.scenarios.papers.dqmb import holding, satellite, two_arms

__all__ = ["holding", "satellite", "two_arms"]
