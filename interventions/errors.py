"""The one exception for a user's mistake."""


class UserError(Exception):
    """Something that the user can mend: a wrong key in a YAML file, a busy port, a missing API key.

    The message is one line: where (file:line: key), what is wrong, what to do.
    The command line prints it after `error: ` and exits with status 2, without a traceback.
    """
