"""Perfect constraints and contact (PC): importing a module registers its cases."""

from gnc.scenarios.papers.pc import contact, pair, scaling

__all__ = ["contact", "pair", "scaling"]
