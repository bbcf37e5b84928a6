"""Trials that need different kernels: each group runs by itself, so that no trial's bits depend on its neighbours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np


def by_group(
    groups: Any, run: Callable[..., tuple[Any, ...]], args: Sequence[Any], cores: Sequence[int]
) -> tuple[Any, ...]:
    """Return run(group, *args) of every trial: `groups` holds its number, `cores` counts the axes of each argument.

    Arguments broadcast over leading axes as in kernels, and stay as they are if all trials belong to one group.
    """
    if not np.ndim(groups):
        return run(int(groups), *args)
    first = int(groups.flat[0]) if groups.size else 0
    if np.all(groups == first):
        return run(first, *args)
    arrays = [np.asarray(a) for a in args]
    lead = np.broadcast_shapes(groups.shape, *[a.shape[: a.ndim - n] for a, n in zip(arrays, cores, strict=True)])
    groups = np.broadcast_to(groups, lead)
    arrays = [np.broadcast_to(a, lead + a.shape[a.ndim - n :]) for a, n in zip(arrays, cores, strict=True)]
    outs: tuple[Any, ...] = ()
    for group in np.unique(groups):
        chosen = groups == group
        results = run(int(group), *[a[chosen] for a in arrays])
        outs = outs or tuple(np.empty(lead + result.shape[1:]) for result in results)
        for out, result in zip(outs, results, strict=True):
            out[chosen] = result
    return outs
