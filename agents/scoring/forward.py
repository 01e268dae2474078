"""Compute log-probabilities of many texts, with as few forward tokens as the texts have distinct beginnings.

Texts that begin alike form a tree: each context is read once, and what it left in the model's cache is handed
to the tokens that follow it. This happens in one pass where the model is known to obey a mask that says which
of them a token follows, else depth by depth. Contexts of equal length are read together, so that a model sees
of a text what it would see of it alone. A text is read whole, in a pass of its own, where a cache can't give
the same: the model's cache goes on differently, or its position encoding depends on the text's length.
"""

# ruff: noqa: PLC0415 - torch takes seconds to load, and may be absent

import copy
import inspect
import math
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from agents.scoring.texts import Reading
from interventions.errors import UserError

FIRST_ROWS: Final = 256

_TREE: Final = 512  # nodes; the mask grows with their square
_OBEY_MASKS: Final = ("gpt2", "llama", "qwen2", "qwen3", "phi", "gemma")
"""Models in which each layer sees, in its window, all that the mask lets it see at the stated positions."""


class ScoringStopped(Exception):
    """The reading was stopped, because the result is no longer awaited."""


@dataclass(frozen=True, slots=True)
class _Node:
    """Texts that are alike up to here, by their places; `depth` tokens of their paths have been read."""

    texts: tuple[int, ...]
    depth: int


class Forward:
    """Runs one causal language model, without gradients.

    `tokens` and `passes` count what the model has read and how often it was called. `rows` is how many texts
    are read together; memory that does not suffice halves it.

    Raises:
        UserError: the model sees later tokens.
    """

    def __init__(self, model: Any, name: str, *, rows: int = FIRST_ROWS) -> None:
        self.tokens = 0
        self.passes = 0
        self.rows = rows
        self._model = model
        accepted = inspect.signature(model.forward).parameters
        self._last_only = {"logits_to_keep": 1} if "logits_to_keep" in accepted else {}
        self._cache = "cache" if "cache" in accepted else "past_key_values"  # before transformers 5.24
        self._obeys = model.config.model_type in _OBEY_MASKS
        config = model.config.get_text_config()
        self._window = getattr(config, "sliding_window", None) or math.inf
        rope = getattr(config, "rope_parameters", None) or getattr(config, "rope_scaling", None) or {}
        self._longest = math.inf  # the longest text that a cache serves
        if rope.get("rope_type", rope.get("type")) == "longrope":  # turns all positions of a longer text
            stated = getattr(config, "original_max_position_embeddings", config.max_position_embeddings)
            self._longest = rope.get("original_max_position_embeddings", stated)
        self._check(name)

    def logprobs(self, readings: Sequence[Reading], stop: threading.Event) -> list[float]:
        """Return the sum of the log-probabilities of each reading's wanted tokens, in nats.

        The sum is not a number where the model gives none.

        Raises:
            ScoringStopped: `stop` was set.
            RuntimeError: the machine's memory does not suffice for a single text.
        """
        import torch

        contexts: dict[tuple[int, ...], list[int]] = {}
        whole: list[int] = []
        for place, reading in enumerate(readings):
            served = len(reading.context) + len(reading.path) <= self._longest
            (contexts.setdefault(reading.context, []) if served else whole).append(place)
        sums = [0.0] * len(readings)
        job = _Job(readings, sums, stop)
        lengths: dict[int, list[tuple[int, ...]]] = {}
        for context in contexts:
            lengths.setdefault(len(context), []).append(context)
        with torch.inference_mode():
            for alike in lengths.values():
                nodes = [_Node(tuple(contexts[context]), 0) for context in alike]
                self._read(job, None, list(range(len(alike))), alike, nodes)
            for place in whole:
                self._read_whole(job, place)
        return sums

    def _read_whole(self, job: "_Job", place: int) -> None:
        reading = job.readings[place]
        keep = {name: len(reading.path) + 1 for name in self._last_only}
        logits = self._run(job, [(*reading.context, *reading.path)], use_cache=False, **keep).logits[0]
        nodes = [_Node((place,), depth) for depth in range(len(reading.path))]
        job.add(logits[-len(nodes) - 1 : -1], nodes)

    def _read(
        self,
        job: "_Job",
        cache: Any,
        parents: Sequence[int],
        tokens: Sequence[Sequence[int]],
        nodes: Sequence[_Node],
    ) -> None:
        """Read `tokens`, a row per node, each after the row of `cache` that `parents` says; then go on."""
        done = 0
        while done < len(nodes):
            part = slice(done, done + self.rows)
            try:
                logits, after = self._step(job, cache, parents[part], tokens[part])
                job.add(logits, nodes[part])
            except RuntimeError as error:
                if not _is_memory(error) or self.rows == 1:
                    raise
                self._shrink(min(self.rows, len(nodes) - done))
                continue
            del logits
            tree = cache is None and self._obeys and job.longest(nodes[part]) <= self._window
            trees = [job.descendants(node) for node in nodes[part]] if tree else []
            if trees and 0 < max(map(len, trees)) <= _TREE:
                try:
                    read = self._read_trees(job, after, len(tokens[0]), trees)
                except RuntimeError as error:
                    if not _is_memory(error):
                        raise
                    read = False
                if read:
                    done += part.stop - part.start
                    continue
            deeper = [(row, *child) for row, node in enumerate(nodes[part]) for child in job.children(node)]
            if deeper:
                rows, last, children = zip(*deeper, strict=True)
                self._read(job, after, rows, [(token,) for token in last], children)
            done += part.stop - part.start

    def _read_trees(self, job: "_Job", cache: Any, length: int, trees: Sequence[Sequence["_Branch"]]) -> bool:
        """Read all that follows each row of `cache`, of `length` tokens, in one pass.

        False: nothing was scored, because a result that is not a number spreads to tokens that do not see it.
        """
        import torch

        device, longest = self._model.device, max(map(len, trees))
        ids = torch.zeros(len(trees), longest, dtype=torch.long)
        positions = torch.full_like(ids, length)
        sees = torch.eye(longest, dtype=torch.bool).repeat(len(trees), 1, 1)
        for row, tree in enumerate(trees):
            for place, branch in enumerate(tree):
                ids[row, place] = branch.token
                positions[row, place] += branch.node.depth - 1
                if branch.parent >= 0:
                    sees[row, place] |= sees[row, branch.parent]
        sees = torch.cat([torch.ones(len(trees), longest, length, dtype=torch.bool), sees], dim=2)
        dtype = self._model.dtype
        mask = torch.zeros(sees.shape, dtype=dtype).masked_fill_(~sees, torch.finfo(dtype).min)[:, None]
        out = self._run(
            job,
            ids,
            position_ids=positions.to(device),
            attention_mask=mask.to(device),
            **{self._cache: _fork(cache)},
        )
        if out.logits.isnan().any():
            return False
        read = [
            (row, place, branch.node) for row, tree in enumerate(trees) for place, branch in enumerate(tree)
        ]
        rows, places, nodes = zip(*read, strict=True)
        job.add(out.logits[list(rows), list(places)], nodes)
        return True

    def _step(self, job: "_Job", cache: Any, parents: Sequence[int], tokens: Sequence[Sequence[int]]) -> Any:
        import torch

        if cache is not None:
            cache = _fork(cache)
            cache.reorder_cache(torch.tensor(parents, device=self._model.device))
        out = self._run(job, tokens, **{self._cache: cache}, **self._last_only)
        return out.logits[:, -1], out[self._cache]

    def _run(self, job: "_Job", tokens: Any, **options: Any) -> Any:
        import torch

        if job.stop.is_set():
            raise ScoringStopped
        ids = torch.as_tensor(tokens, device=self._model.device)
        self.passes += 1
        self.tokens += ids.numel()
        return self._model(**({"use_cache": True} | options), input_ids=ids)

    def _shrink(self, rows: int) -> None:
        import torch

        self.rows = max(1, rows // 2)
        if torch.cuda.is_available():
            torch.cuda.empty_cache()

    def _check(self, name: str) -> None:
        import torch

        config = self._model.config
        if getattr(config, "is_encoder_decoder", False):
            raise UserError(f"agents: hf:{name} is no causal language model; name one that is")
        vocabulary = config.get_text_config().vocab_size
        twice = torch.tensor([[1, 2, 3, 1], [1, 2, 3, 2]], device=self._model.device) % vocabulary
        with torch.inference_mode():
            out = self._model(input_ids=twice, use_cache=False)
        first, second = out.logits[:, :-1].float().nan_to_num()
        if not torch.allclose(first, second, atol=1e-3, rtol=1e-3):
            raise UserError(f"agents: hf:{name} sees the tokens that follow: it is no causal language model")
        if not self._serves(vocabulary):
            self._longest = 0
        self.tokens = self.passes = 0

    def _serves(self, vocabulary: int) -> bool:
        """Whether the model gives with its cache what it gives of whole texts, but for rounding."""
        import torch

        def token(place: int) -> int:
            return place % vocabulary

        paths = [tuple(map(token, path)) for path in ((4, 5, 6), (4, 6), (7, 5))]
        texts = [Reading((token(first), 2, 3), path, path) for first in (1, 2) for path in paths]
        longest, self._longest = self._longest, 0
        whole = self.logprobs(texts, threading.Event())
        self._longest = longest
        try:
            served = self.logprobs(texts, threading.Event())
        except Exception:  # models raise whatever their own caches meet
            return False
        rounding = 8 * torch.finfo(self._model.dtype).eps ** 0.5
        return all(math.isnan(a) or abs(a - b) < rounding for a, b in zip(served, whole, strict=True))


@dataclass(frozen=True, slots=True)
class _Branch:
    """A token of a tree; `parent` is the place of the one before it, -1 for the context."""

    token: int
    parent: int
    node: _Node


@dataclass(frozen=True, slots=True)
class _Job:
    readings: Sequence[Reading]
    sums: list[float]
    stop: threading.Event

    def add(self, logits: Any, nodes: Sequence[_Node]) -> None:
        """Score the next wanted token of every text of every node; `logits` has a row per node."""
        import torch

        where = [(row, place, node.depth) for row, node in enumerate(nodes) for place in node.texts]
        wanted = [self.readings[place].wanted[depth] for _, place, depth in where]
        rows = torch.tensor([row for row, *_ in where], device=logits.device)
        logits = logits.float()
        chosen = logits[rows, torch.tensor(wanted, device=logits.device)]
        found = (chosen - logits.logsumexp(-1)[rows]).tolist()
        for (_, place, _), logprob in zip(where, found, strict=True):
            self.sums[place] += logprob

    def longest(self, nodes: Sequence[_Node]) -> int:
        """The number of tokens of the longest text of some nodes."""
        texts = [self.readings[place] for node in nodes for place in node.texts]
        return max(len(text.context) + len(text.path) for text in texts)

    def children(self, node: _Node) -> Iterator[tuple[int, _Node]]:
        """The tokens that have to be read after a node, each with the texts that go on with it."""
        following: dict[int, list[int]] = {}
        for place in node.texts:
            path = self.readings[place].path
            if node.depth + 1 < len(path):
                following.setdefault(path[node.depth], []).append(place)
        for token, places in following.items():
            yield token, _Node(tuple(places), node.depth + 1)

    def descendants(self, node: _Node) -> list[_Branch]:
        """All that has to be read after a node, each token after the one that it follows."""
        found = [_Branch(token, -1, child) for token, child in self.children(node)]
        for place, branch in enumerate(found):  # grows as it is gone through
            found += [_Branch(token, place, child) for token, child in self.children(branch.node)]
        return found


def _fork(cache: Any) -> Any:
    """A cache that can go its own way: it is copied but for its tensors, which reordering replaces."""
    memo: dict[int, Any] = {}
    for layer in getattr(cache, "layers", ()):
        for value in vars(layer).values():
            parts = value.values() if isinstance(value, dict) else [value]
            memo |= {id(part): part for part in parts if hasattr(part, "index_select")}
    return copy.deepcopy(cache, memo)


def _is_memory(error: RuntimeError) -> bool:
    import torch

    return (
        isinstance(error, torch.OutOfMemoryError)
        or "out of memory" in str(error).lower()
        or ("can't allocate memory" in str(error).lower())
    )
