"""Settings of all tests."""

import signal

import hypothesis
import pytest

hypothesis.settings.register_profile("souk", deadline=None)
hypothesis.settings.load_profile("souk")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start the long run first, so that the other tests fill the time beside it."""
    items.sort(key=lambda item: item.get_closest_marker("first") is None)


# Where this was started in the background Ctrl-C may be ignored, and what tests start would ignore it too.
signal.signal(signal.SIGINT, signal.default_int_handler)
