"""Tiny models of each kind."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agents.tiny_models import KINDS, save_model


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A model of each kind."""
    pytest.importorskip("torch", reason="local models need torch")
    pytest.importorskip("transformers", reason="local models need transformers", exc_type=ImportError)
    return {kind: save_model(tmp_path_factory.mktemp("model") / kind, kind) for kind in KINDS}


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    torch = pytest.importorskip("torch", reason="local models need torch")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
