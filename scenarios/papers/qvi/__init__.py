"""QVI section IX: the paper's experiments; importing a module registers its cases."""

from gnc.scenarios.papers.qvi import damper_cost, damper_energy, filter_rates, free_body, million_steps

__all__ = ["damper_cost", "damper_energy", "filter_rates", "free_body", "million_steps"]
