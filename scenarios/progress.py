"""A progress bar with the time left: on a terminal, and silence in a pipe."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


def in_notebook() -> bool:
    """Tell whether a kernel of Jupyter runs this."""
    return "ipykernel" in sys.modules and "IPython" in sys.modules and sys.modules["IPython"].get_ipython() is not None


@contextmanager
def bar(what: str) -> Iterator[Callable[..., None] | None]:
    """Give a function (done, all, note) that moves the bar, or None where nobody looks."""
    if not (sys.stderr.isatty() or in_notebook()):
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    note = TextColumn("{task.percentage:>3.0f}% {task.fields[note]}")
    columns = TextColumn("{task.description}"), BarColumn(), note, TimeRemainingColumn()
    with Progress(*columns, console=None if in_notebook() else Console(stderr=True), transient=True) as shown:
        task, last = shown.add_task(what, note=""), -1

        def move(done: int, total: int, note: str = "") -> None:
            nonlocal last
            share = done * 200 // max(total, 1)
            if share != last:  # a tick is short, drawing is not
                shown.update(task, total=total, completed=done, note=note)
            last = share

        yield move
