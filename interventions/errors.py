"""The exceptions: a user's mistake, and an edit that cannot be made."""


class UserError(Exception):
    """A mistake that the user can mend: a wrong key in a YAML file, a busy port, a missing API key.

    The message is one line: where (file:line:column: key), what is wrong, what to do.
    The command line prints it after `error: ` and exits with status 2, without a traceback.
    """

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines that the user reads: the message, or several where several mistakes were found."""
        return (str(self),)


class CannotEdit(Exception):
    """The edit has no target, or none that can be edited safely; the message is the reason.

    `owner` (intervention, edit, role) names the failed edit where it is not the latest one.
    """

    def __init__(self, reason: str, owner: tuple[str, str, str] | None = None) -> None:
        super().__init__(reason)
        self.owner = owner
