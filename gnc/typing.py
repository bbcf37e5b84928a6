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
