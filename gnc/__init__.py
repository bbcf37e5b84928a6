"""Structure-preserving guidance, navigation and control: algebra, integrators and the machinery of trials.

Importing this package loads nothing heavy: each module is imported by the name of what it is about, as in
`from gnc import check, noise, quaternion`. `gnc.Mission` puts craft, flight software and requirements together.
"""

from importlib.metadata import PackageNotFoundError, version

from gnc import lazy

try:
    __version__ = version("gnc")
except PackageNotFoundError:  # run from a checkout that was never installed
    __version__ = "0+unknown"

__all__ = ["Mission", "__version__"]  # noqa: F822


# The way in for users, which stands on all layers; nothing of it is imported before it is asked for.
__getattr__, __dir__ = lazy.names("gnc", {"Mission": "gnc.scenarios.missions.mission"})
