"""Closed loops that put the packages together, the experiments of the papers, and the command line."""

from gnc import lazy

__getattr__, __dir__ = lazy.names(
    "gnc.scenarios",
    {
        "Flight": "gnc.scenarios.missions.flight",
        "Mission": "gnc.scenarios.missions.mission",
        "fly": "gnc.scenarios.missions.flight",
        "read": "gnc.scenarios.missions.load",
    },
)
