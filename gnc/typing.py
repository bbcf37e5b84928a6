"""Arrays by what they hold; all are float64 with any leading axes, the trials first.

Shapes are not checked by tools, but by `gnc.check` at the door; the names tell readers, and mypy keeps arrays apart
from everything that is none.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Mask: TypeAlias = NDArray[np.bool_]  # (...) which trials, or times
Array: TypeAlias = NDArray[np.float64]  # (..., any shape)
Number: TypeAlias = NDArray[np.float64]  # (...) one per trial
Vector: TypeAlias = NDArray[np.float64]  # (..., 3)
Matrix: TypeAlias = NDArray[np.float64]  # (..., 3, 3)
Quaternion: TypeAlias = NDArray[np.float64]  # (..., 4) scalar first
Pose: TypeAlias = NDArray[np.float64]  # (..., 8) a dual quaternion
Twist: TypeAlias = NDArray[np.float64]  # (..., 6) [angular, linear]
Wrench: TypeAlias = NDArray[np.float64]  # (..., 6) [torque, force]
Inertia6: TypeAlias = NDArray[np.float64]  # (..., 6, 6)
Covariance: TypeAlias = NDArray[np.float64]  # (..., n, n)
