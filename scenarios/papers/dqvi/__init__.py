"""Dual-quaternion variational integrator (DQVI), section V: figures 3 to 13, and the case that the paper leaves out.

A spacecraft turns about its resting centre of mass, described about the point where it will let its cargo go. Every
case flies the paper's data, which no rigid body has, by explicit opt-in, and consistent data beside them; its numbers
are paper_... and consistent_... The attitude error stands beside conservation in all of them: at 10 fps DQVI keeps
energy and momentum to round-off and is 1.9 rad wrong after 4 minutes, so the fourth order is shown as well.
"""

from gnc.scenarios.papers.dqvi import claims, filler, levels, separation

__all__ = ["claims", "filler", "levels", "separation"]
