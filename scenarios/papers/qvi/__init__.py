"""QVI section IX: the paper's experiments; importing a module registers its cases."""

from gnc.scenarios.papers.qvi import damper, filter_rates, free_body

__all__ = ["damper", "filter_rates", "free_body"]
