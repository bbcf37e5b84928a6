"""The errors a command can end with: bad input, an error in a user's own part, a defect of the program itself.

Exit codes: 2 `InputError`, 3 `PartError`, 70 `DefectError`. None of them makes a trial lost: loss is physics, and shows
as NaN or as a reason that the flight itself returns. The last two keep their traceback as text, since an exception
loses it on the way from a worker process.
"""


class InputError(ValueError):
    """A value from outside that cannot be used; the message is one line naming it and what would be right."""


class PartError(Exception):
    """An error in a part that a user wrote."""

    def __init__(self, part: str, method: str, message: str, place: str = "", trace: str = "") -> None:
        """Name the part (`file.py:Class`) and its method; `place` may tell the trials."""
        super().__init__(part, method, message, place, trace)  # pickle calls with these
        self.part, self.method, self.message, self.place, self.trace = part, method, message, place, trace

    def __str__(self) -> str:
        return f"{self.part}.{self.method}: {self.message}" + (f" ({self.place})" if self.place else "")


class DefectError(Exception):
    """An error of the program itself."""

    def __init__(self, message: str, source: str, place: str = "", trace: str = "") -> None:
        """Tell the line of the source where it was raised; `place` may tell the trials."""
        super().__init__(message, source, place, trace)
        self.message, self.source, self.place, self.trace = message, source, place, trace

    def __str__(self) -> str:
        return f"{self.message}, at {self.source}" + (f" ({self.place})" if self.place else "")


def said(error: BaseException, lines: int | None = 1) -> str:
    """Return type and first lines of an error, whose text may be a user's, as one."""
    try:
        text = " ".join(str(error).splitlines()[:lines])
    except Exception:  # its __str__ raises
        text = ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
