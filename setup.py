"""The packages: gnc and the rooms of the house, whose links under gnc an sdist does not have."""

from setuptools import find_packages, setup

ROOMS = ("models", "estimators", "controllers", "scenarios")
rooms = find_packages(include=[name for room in ROOMS for name in (room, f"{room}.*")])

setup(packages=sorted({*find_packages(include=["gnc", "gnc.*"]), *(f"gnc.{name}" for name in rooms)}))
