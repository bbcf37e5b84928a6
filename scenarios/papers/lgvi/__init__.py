"""LGVI section 5: the paper's experiment; importing a module registers its cases."""

from gnc.scenarios.papers.lgvi import figures, lagrangian

__all__ = ["figures", "lagrangian"]
