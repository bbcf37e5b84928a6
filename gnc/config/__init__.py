"""Typed configuration in TOML: sections, errors of one line, overrides, comparison, the user's own components."""

from gnc.config.base import Section, difference, digest, flat, override, parse, read
from gnc.config.component import Component, load_component
from gnc.config.schema import Edges, Inertia, Matrix3, NonNegative, Percent, Positive, Quaternion, Vector3
from gnc.config.toml_text import dump

__all__ = [
    "Component",
    "Edges",
    "Inertia",
    "Matrix3",
    "NonNegative",
    "Percent",
    "Positive",
    "Quaternion",
    "Section",
    "Vector3",
    "difference",
    "digest",
    "dump",
    "flat",
    "load_component",
    "override",
    "parse",
    "read",
]
