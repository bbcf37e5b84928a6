"""LGVI section 5: the paper's experiment; importing a module registers its cases."""

from gnc.scenarios.papers.lgvi import figures

__all__ = ["figures"]
