"""Serve a Django shop; run in the shop's own environment, by its `serve.py`."""

import sys
import threading


class NoMigrations:
    """Any app's tables are made as its models are now, without the history of how they came to be."""

    def __contains__(self, app: str) -> bool:
        return True

    def __getitem__(self, app: str) -> None:
        return None


def serve() -> None:
    """Serve on a free port of 127.0.0.1 until standard input is closed; writes `shop ready URL`."""
    from django.contrib.staticfiles.handlers import StaticFilesHandler
    from django.core.servers.basehttp import ThreadedWSGIServer, WSGIRequestHandler
    from django.core.wsgi import get_wsgi_application

    class Quiet(WSGIRequestHandler):
        def log_message(self, *_: object) -> None: ...

    server = ThreadedWSGIServer(("127.0.0.1", 0), Quiet, ipv6=False)
    server.set_app(StaticFilesHandler(get_wsgi_application()))
    print(f"shop ready http://127.0.0.1:{server.server_port}/", flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()
