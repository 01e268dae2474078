"""Models on this machine, through transformers: nothing is downloaded, and no code of a model is run."""

# ruff: noqa: PLC0415 - torch and transformers take seconds to load, and may be absent

import functools
import json
import logging
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from agents.providers.settings import setting
from interventions.errors import UserError

MODELS_VARIABLE: Final = "SOUK_MODELS"
TOYS: Final = ("tiny-anchor",)
"""The models that `souk models` can make."""

_NO_SAMPLING: Final = ("id", "version", "config")
"""The last words of those keys of a generation config that are no settings of sampling."""
_SMALL: Final = 50_000_000
_SAFE: Final = {"local_files_only": True, "trust_remote_code": False}


def models_folder() -> Path:
    """Return the folder of models that `souk models` made: `SOUK_MODELS`, else `models`."""
    return Path(setting(MODELS_VARIABLE) or "models")


def find_model(name: str) -> str:
    """Return the folder of a model; for a model in the cache of Hugging Face, its name.

    A folder as named comes first, then one in the models folder.

    Raises:
        UserError: the model is not on this machine.
    """
    for folder in (Path(name), models_folder() / name):
        if (folder / "config.json").is_file():
            return str(folder)
    if _is_cached(name):
        return name
    remedy = f"souk models {name}" if name in TOYS else f"hf download {name}"
    made = "make it first" if name in TOYS else "fetch it first"
    raise UserError(f'agents: hf: no model "{name}" on this machine; name its folder, or {made}: {remedy}')


class LoadedModel:
    """The parts that all uses of one model share; each is loaded when it is first used.

    `executor` has one thread: uses of one model wait for each other. `load_in`: `8bit` or `4bit`, to which
    the weights are quantised; None: they stay as they are.
    """

    def __init__(self, place: str, load_in: str | None = None) -> None:
        self.place, self.load_in = place, load_in
        self.executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="model")

    @functools.cached_property
    def tokenizer(self) -> Any:
        """The model's tokenizer. Raises UserError where it cannot be loaded."""
        return self._load("AutoTokenizer")

    @functools.cached_property
    def model(self) -> Any:
        """The model, on the GPU where there is one. Raises UserError where it cannot be loaded."""
        import torch

        # Other formats than safetensors are pickles, which can run code.
        dtype = getattr(torch, _precision(_read(self.place, "config.json")), torch.float32)
        options: dict[str, Any] = {"use_safetensors": True, "dtype": dtype}
        place = "cuda" if torch.cuda.is_available() else "cpu"
        if self.load_in:
            from transformers import BitsAndBytesConfig

            options["quantization_config"] = BitsAndBytesConfig(**{f"load_in_{self.load_in}": True})
            logging.getLogger("bitsandbytes").setLevel(logging.ERROR)  # a line for each layer and call
            options["device_map"] = {"": place}
        model = self._load("AutoModelForCausalLM", **options)
        if model.num_parameters() < _SMALL:
            torch.set_num_threads(1)  # on a busy machine threads wait for each other longer than they compute
        return (model if self.load_in else model.to(place)).eval()

    @functools.cached_property
    def sampling(self) -> Any:
        """How the model samples by its own settings."""
        return self.model.generation_config

    @property
    def longest(self) -> int | None:
        """The longest text that the model takes, in tokens; None where it states none."""
        longest: int | None = getattr(self.model.config, "max_position_embeddings", None)
        return longest

    def _load(self, kind: str, **options: Any) -> Any:
        try:
            import transformers

            shown: Any = transformers.utils.logging
            shown.disable_progress_bar()
            return getattr(transformers, kind).from_pretrained(self.place, **_SAFE, **options)
        except Exception as error:  # the loaders raise whatever they meet; the user's remedy is the same
            cause = (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
        raise UserError(f"agents: hf: {self.place} cannot be loaded: {cause}; check its files")


def describe_model(name: str) -> str:
    """Return what a local model's answers depend on besides its weights: its precision and its sampling.

    Sampling is as its `generation_config.json` says; at temperature 0 nothing of that counts.

    Raises:
        UserError: the model is not on this machine.
    """
    place = find_model(name)
    said = _read(place, "generation_config.json")
    keys = [key for key in sorted(said) if key.rpartition("_")[2] not in _NO_SAMPLING]
    return "; ".join([_precision(_read(place, "config.json")), *(f"{key} {said[key]}" for key in keys)])


def _precision(config: dict[str, Any]) -> str:
    """The precision that a model's configuration states; one that states none has 32 bits."""
    parts = (config, config.get("text_config") or {})
    stated = [part.get(key) for part in parts for key in ("dtype", "torch_dtype")]
    return next(filter(None, stated), "float32")


def _read(place: str, name: str) -> dict[str, Any]:
    """A JSON file of a model; empty where it has none."""
    path = Path(place, name)
    if not path.parent.is_dir():
        from huggingface_hub import try_to_load_from_cache

        path = Path(str(try_to_load_from_cache(place, name)))
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


@functools.cache
def local_model(place: str, load_in: str | None = None) -> LoadedModel:
    """Return the one model of this process at a place that `find_model` found, loaded so."""
    return LoadedModel(place, load_in)


def _is_cached(name: str) -> bool:
    try:
        from huggingface_hub import try_to_load_from_cache

        return isinstance(try_to_load_from_cache(name, "config.json"), str)
    except ValueError:  # no name that a model can have
        return False
    except ImportError as error:
        problem = UserError(f"agents: hf: {error}; install what local models need anew: make local")
    raise problem
