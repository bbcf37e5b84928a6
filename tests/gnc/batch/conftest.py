"""Here gufuncs are looked at; elsewhere few trials are computed one by one."""

import pytest

from gnc.batch.kernel import Kernel


@pytest.fixture(autouse=True)
def gufuncs(monkeypatch):
    """Compile gufuncs at once."""
    monkeypatch.setattr(Kernel, "FEW", 0)
