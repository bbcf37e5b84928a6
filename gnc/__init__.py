"""Structure-preserving guidance, navigation and control: algebra, integrators and the machinery of trials.

Importing this package loads nothing heavy: each module is imported by the name of what it is about, as in
`from gnc import check, noise, quaternion`.
"""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("gnc")
except PackageNotFoundError:  # run from a checkout that was never installed
    __version__ = "0+unknown"

__all__ = ["__version__"]
