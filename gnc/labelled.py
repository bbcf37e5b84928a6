"""Arrays with named axes, as far as flying needs them; an xarray Dataset is made of them where one is asked for.

xarray and pandas take as long to load as a flight of an hour; the names here are theirs.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Union

import numpy as np

if TYPE_CHECKING:
    from xarray import DataArray, Dataset

    Signals = Union["Table", Dataset]  # noqa: UP007
    SignalArray = Union["Labelled", DataArray]  # noqa: UP007


@dataclass(frozen=True)
class Labelled:
    """An array whose axes have names, and labels along some of them."""

    dims: tuple[str, ...]
    values: np.ndarray
    attrs: Mapping[str, Any] = field(default_factory=dict)
    coords: Mapping[str, Labelled] = field(default_factory=dict, repr=False)  # of its table, by axis

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self.values.ndim

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the axes."""
        return self.values.shape

    @property
    def sizes(self) -> dict[str, int]:
        """The lengths of the axes by name."""
        return dict(zip(self.dims, self.values.shape, strict=True))

    def __getitem__(self, axis: Hashable) -> Labelled:
        """Return the labels along an axis."""
        return self.coords[str(axis)]

    def isel(self, places: Mapping[Any, int | slice] | None = None, **named: int | slice) -> Labelled:
        """Return what is at a place of an axis, or in a slice of it."""
        chosen = {**(places or {}), **named}
        index = tuple(chosen.get(axis, slice(None)) for axis in self.dims)
        left = tuple(axis for axis in self.dims if isinstance(chosen.get(axis, slice(None)), slice))
        coords = {k: x.isel({k: chosen[k]}) if k in chosen and x.dims == (k,) else x for k, x in self.coords.items()}
        return replace(self, dims=left, values=self.values[index], coords=coords)

    def assign_attrs(self, **attributes: Any) -> Labelled:
        """Return the array with other notes."""
        return replace(self, attrs={**self.attrs, **attributes})


class Table:
    """Labelled arrays that share axes."""

    def __init__(self, data: Mapping[str, Any], coords: Mapping[str, Any], attrs: Mapping[str, Any] | None = None):
        """Take arrays as xarray does: (axes, values, notes), or for the labels of an axis just these."""
        self.coords = {name: _labelled(name, content) for name, content in coords.items()}
        self.data_vars = {name: _labelled(name, content, self.coords) for name, content in data.items()}
        self.attrs = dict(attrs or {})

    @classmethod
    def of(cls, dataset: Dataset) -> Table:
        """Return what an xarray Dataset holds."""

        def plain(variables: Any) -> dict[str, Any]:
            return {str(k): (v.dims, v.values, dict(v.attrs)) for k, v in variables.items()}

        return cls(plain(dataset.data_vars), plain(dataset.coords), dataset.attrs)

    def dataset(self) -> Dataset:
        """Return the xarray Dataset."""
        from xarray import Dataset

        def plain(variables: Mapping[str, Labelled]) -> dict[str, Any]:
            return {name: (one.dims, one.values, dict(one.attrs)) for name, one in variables.items()}

        return Dataset(plain(self.data_vars), plain(self.coords), self.attrs)

    @property
    def sizes(self) -> dict[str, int]:
        """The lengths of all axes."""
        return {axis: n for one in (self.coords | self.data_vars).values() for axis, n in one.sizes.items()}

    def __getitem__(self, name: Hashable) -> Labelled:
        return (self.data_vars if name in self.data_vars else self.coords)[str(name)]

    def __setitem__(self, name: str, content: Any) -> None:
        self.data_vars[name] = _labelled(name, content, self.coords)

    def __contains__(self, name: object) -> bool:
        return name in self.data_vars or name in self.coords

    def __iter__(self) -> Iterator[str]:
        return iter(self.data_vars)

    def isel(self, **places: int | slice) -> Table:
        """Return what is at a place of some axes, or in a slice of them."""

        def there(group: Mapping[str, Labelled]) -> dict[str, Labelled]:
            return {k: x.isel({a: p for a, p in places.items() if a in x.dims}) for k, x in group.items()}

        return Table(there(self.data_vars), there(self.coords), self.attrs)

    def items(self) -> Any:
        """Return names and arrays."""
        return self.data_vars.items()


def _labelled(name: str, content: Any, coords: Mapping[str, Labelled] | None = None) -> Labelled:
    if isinstance(content, Labelled):
        return replace(content, coords=coords or {})
    if not isinstance(content, tuple):
        content = (name, content)
    dims, values, *note = content
    axes = (dims,) if isinstance(dims, str) else tuple(map(str, dims))
    return Labelled(axes, np.asarray(values), note[0] if note else {}, coords or {})
