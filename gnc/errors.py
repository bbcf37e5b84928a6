"""The errors a user can cause, apart from the errors of the program itself."""


class InputError(ValueError):
    """A value from outside that cannot be used; the message is one line naming it and what would be right."""
