"""Detection of failures and what is done about them, as parts of a mission."""
