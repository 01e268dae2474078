"""Local models: a tiny one, made on the spot."""

import asyncio
import importlib.util
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from agents.base import AgentError, ChatMessage
from agents.providers import QUANTISED_BY, make_model, problem_of, settings
from agents.providers.local import LocalModel
from agents.providers.local_models import local_model
from agents.registry import check_name
from agents.scoring import make_scorer
from experiments.designs.design import _versions
from interventions.errors import UserError
from tests.agents.tiny_models import save_model

HELLO: list[ChatMessage] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "A or B?"},
]
TEMPLATE = (
    "{% for message in messages %}"
    "{% if message.role == 'system' %}{{ raise_exception('no system message') }}{% endif %}"
    "<|{{ message.role }}|>{{ message.content }}{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model like GPT-2, of random weights, without a chat template."""
    pytest.importorskip("torch", reason="local models need torch")
    pytest.importorskip("transformers", reason="local models need transformers", exc_type=ImportError)
    return save_model(tmp_path_factory.mktemp("model"), "gpt2")


def _copy(folder: Path, to: Path) -> Path:
    return Path(shutil.copytree(folder, to / "copy"))


@pytest.mark.slow
async def test_a_model_answers_and_its_tokens_are_counted(folder: Path) -> None:
    model = make_model(f"hf:{folder}")
    first = await model.ask(HELLO, temperature=0, max_tokens=8)
    again = await model.ask(HELLO, temperature=0, max_tokens=8)
    assert first.text == again.text
    assert first.call.request_digest == again.call.request_digest
    prompt = "Instructions: Be brief.\n\nUser: A or B?\n\nAssistant:"
    assert first.call.tokens_in == model.count_tokens(prompt)
    assert 1 <= first.call.tokens_out <= 8
    assert (first.ending.how == "cut_off") == (first.call.tokens_out == 8)
    assert (first.call.cost, first.call.error, first.call.retries) == (0.0, "", 0)


OWN_SETTINGS = (
    {"repetition_penalty": 3.0},
    {"num_beams": 3, "length_penalty": 2.0},
    {"no_repeat_ngram_size": 1},
    {"suppress_tokens": list(range(1, 300, 2))},
)


@pytest.mark.slow
@pytest.mark.parametrize("own", OWN_SETTINGS, ids=lambda own: next(iter(own)))
async def test_at_temperature_0_each_token_is_the_likeliest(folder: Path, tmp_path: Path, own: dict) -> None:
    import torch

    path = _copy(folder, tmp_path)
    settings = json.loads((path / "generation_config.json").read_text(encoding="utf-8"))
    (path / "generation_config.json").write_text(json.dumps(settings | own), encoding="utf-8")
    model = make_model(f"hf:{path}")
    for prompt in ("A or B?", "B or A?", "Or?"):
        for temperature in (1.0, 0):  # what one request asks for is not kept for the next
            answer = await model.ask(
                [{"role": "user", "content": prompt}], temperature=temperature, max_tokens=8
            )
        shared = local_model(str(path))
        text = shared.tokenizer(f"User: {prompt}\n\nAssistant:", return_tensors="pt")["input_ids"]
        start = text.shape[1]
        with torch.inference_mode():
            while text.shape[1] < start + 8 and text[0, -1] != 2:
                likeliest = shared.model(text).logits[:, -1:].argmax(-1)
                text = torch.cat([text, likeliest], dim=1)
        expected = shared.tokenizer.decode(text[0, start:], skip_special_tokens=True)
        assert answer.text == expected.partition("\nUser:")[0].strip()


@pytest.mark.slow
@pytest.mark.parametrize("key", ["dtype", "torch_dtype"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16", None])
def test_the_precision_is_the_one_that_the_folder_states(folder, tmp_path, key, dtype: str | None) -> None:
    import torch

    path = _copy(folder, tmp_path)
    config = json.loads((path / "config.json").read_text(encoding="utf-8"))
    config = {name: value for name, value in config.items() if not name.endswith("dtype")} | {key: dtype}
    (path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    (path / "generation_config.json").write_text('{"eos_token_id": 2, "top_k": 5}', encoding="utf-8")
    assert local_model(str(path)).model.dtype == getattr(torch, dtype or "float32")
    said = dict(_versions(["souk"], [f"hf:{path}", "simulated:balanced"]))
    assert said[f"hf:{path}"] == f"{dtype or 'float32'}; top_k 5"
    assert said["transformers"]


@pytest.mark.slow
async def test_temperature_makes_answers_differ(folder: Path) -> None:
    import torch

    torch.manual_seed(2)
    model = make_model(f"hf:{folder}")
    for temperature in (1.0, None):
        texts = {(await model.ask(HELLO, temperature=temperature, max_tokens=4)).text for _ in range(4)}
        assert len(texts) > 1 or temperature is None


async def test_a_models_own_template_is_used(folder: Path, tmp_path: Path) -> None:
    path = _copy(folder, tmp_path)
    settings = json.loads((path / "tokenizer_config.json").read_text(encoding="utf-8"))
    settings["chat_template"] = TEMPLATE
    (path / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")
    model = make_model(f"hf:{path}")
    reply = await model.ask(HELLO, temperature=0, max_tokens=2)
    # A template that knows no system message is given it with the user's first.
    assert reply.call.tokens_in == model.count_tokens("<|user|>Be brief.\n\nA or B?<|assistant|>")


async def test_a_prompt_that_is_too_long_is_refused(folder: Path) -> None:
    with pytest.raises(AgentError, match=r"^the prompt has .* the model takes 256 together$") as caught:
        await make_model(f"hf:{folder}").ask([{"role": "user", "content": "word " * 200}], max_tokens=8)
    assert len(caught.value.calls) == 1


async def test_a_cancelled_request_stops_soon(folder: Path) -> None:
    model = make_model(f"hf:{folder}")
    await model.ask(HELLO, max_tokens=1)
    asking = asyncio.create_task(model.ask(HELLO, temperature=0, max_tokens=80))
    await asyncio.sleep(0)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert (await model.ask(HELLO, temperature=0, max_tokens=1)).call.tokens_out == 1


async def test_images_are_refused(folder: Path) -> None:
    with pytest.raises(UserError, match="sees no images; observe without screenshots"):
        await make_model(f"hf:{folder}").ask([{"role": "user", "content": "?", "images": ["abcd"]}])


@pytest.mark.parametrize("name", ["org/no-such-model-of-this-test", "../nowhere", "a/b/c/d"])
def test_a_model_that_is_not_here_is_not_fetched(name: str) -> None:
    with pytest.raises(UserError, match=r"^agents: hf: no model .* on this machine; name its folder, or"):
        make_model(f"hf:{name}")
    with pytest.raises(UserError, match="the model is missing"):
        make_model("hf:")
    assert problem_of("hf") == ""


async def test_pickled_weights_are_not_loaded(folder: Path, tmp_path: Path) -> None:
    path = _copy(folder, tmp_path)
    (path / "model.safetensors").rename(path / "pytorch_model.bin")
    with pytest.raises(UserError, match=r"^agents: hf: .* cannot be loaded: .*; check its files$") as caught:
        await make_model(f"hf:{path}").ask(HELLO)
    assert "\n" not in str(caught.value)


async def test_code_that_comes_with_a_model_is_not_run(folder: Path, tmp_path: Path) -> None:
    path = _copy(folder, tmp_path)
    config = json.loads((path / "config.json").read_text(encoding="utf-8"))
    config |= {"model_type": "evil", "auto_map": {"AutoConfig": "evil.E", "AutoModelForCausalLM": "evil.E"}}
    (path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    (path / "evil.py").write_text(
        f"import pathlib\npathlib.Path({str(tmp_path / 'ran')!r}).touch()\n", encoding="utf-8"
    )
    with pytest.raises(UserError, match="cannot be loaded"):
        await make_model(f"hf:{path}").ask(HELLO)
    assert not (tmp_path / "ran").exists()


def test_files_that_are_broken_are_one_line(folder: Path, tmp_path: Path) -> None:
    path = _copy(folder, tmp_path)
    (path / "tokenizer.json").write_text("{", encoding="utf-8")
    (path / "tokenizer_config.json").unlink()
    with pytest.raises(UserError, match="cannot be loaded") as caught:
        LocalModel(str(path)).count_tokens("A or B?")
    assert "\n" not in str(caught.value)
    assert caught.value.__context__ is None


@pytest.mark.slow
async def test_weights_are_loaded_in_fewer_bits(tmp_path: Path) -> None:
    for package in QUANTISED_BY:
        pytest.importorskip(package, reason="weights in fewer bits need it")
    path = save_model(tmp_path / "wide", "llama", width=128)
    scores, bytes_of = {}, {}
    for agent in (f"hf:{path}", f"hf:{path}@load_in=8bit", f"hf:{path}@load_in=4bit"):
        (found,) = await make_scorer(agent).score(["What is your guess?"], ["10%", "65%"])
        scores[agent] = [each.logprob for each in found]
        model = make_model(agent)
        assert (await model.ask(HELLO, temperature=0, max_tokens=2)).call.tokens_out == 2
        bytes_of[agent] = local_model(str(path), model.settings.load_in).model.get_memory_footprint()
    whole, eight, four = scores.values()
    assert eight == pytest.approx(whole, abs=1)
    assert four != pytest.approx(whole, abs=1e-3)
    assert sorted(bytes_of.values(), reverse=True) == list(bytes_of.values())
    versions = dict(_versions((), scores))
    assert {*scores, "bitsandbytes"} <= set(versions)


@pytest.mark.parametrize("make", [make_model, make_scorer])
def test_what_fewer_bits_need_is_told(folder: Path, make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        settings, "find_spec", lambda name: None if name in QUANTISED_BY else importlib.util.find_spec(name)
    )
    said = "agents: hf: bitsandbytes and accelerate are not installed; install what local models need: pip in"
    with pytest.raises(UserError, match=f"^{said}stall bitsandbytes accelerate$"):
        make(f"hf:{folder}@load_in=4bit")
    check_name(f"hf:{folder}@load_in=4bit")  # a dry run needs no package
    make(f"hf:{folder}")


OFFLINE = """
import asyncio, socket, sys

def refused(*_):
    raise AssertionError("the network was used")

socket.socket.connect = socket.getaddrinfo = refused
from agents.providers import make_model
from agents.scoring import make_scorer
asked = [{"role": "user", "content": "A or B?"}]
asyncio.run(make_model(sys.argv[1]).ask(asked, temperature=0, max_tokens=2))
print(asyncio.run(make_scorer(sys.argv[1]).score(["A or B?"], ["A", "B"]))[0][0].logprob < 0)
"""


@pytest.mark.slow
def test_a_folder_needs_no_network_and_no_licence(folder: Path) -> None:
    command = [sys.executable, "-c", OFFLINE, f"hf:{folder}"]
    ran = subprocess.run(command, check=False, capture_output=True, text=True)
    assert (ran.returncode, ran.stdout) == (0, "True\n"), ran.stderr
