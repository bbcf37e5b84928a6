"""The built-in scenarios by name."""

SCENARIOS: dict[str, str] = {}  # name -> one sentence; light to import, so that `gnc list` is fast
