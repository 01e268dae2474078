"""Listen on a port of this machine that an option names."""

import socket
from typing import Final

from interventions.errors import UserError

HOST: Final = "127.0.0.1"


def listen(port: int, option: str = "--port") -> socket.socket:
    """Return a socket that listens on this machine only; port 0 is any that is free. Raises UserError."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
    except OSError as error:
        listener.close()
        raise UserError(
            f"{option} {port}: cannot be used ({error.strerror}); give another one, or 0 for any that is free"
        ) from None
    listener.listen()
    return listener
