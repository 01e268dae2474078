"""Tiny models of random weights with each kind of tokenizer, made on the spot."""

from pathlib import Path

KINDS = ("gpt2", "llama", "bytes")
TEXT = [
    f"The wheel stopped at {i}. Is the share above or below {i}? What is your guess? {i}% Grün 你好"
    for i in range(101)
]


def save_model(path: Path, kind: str, width: int = 32) -> Path:
    """`gpt2`: byte-level pairs; `llama`: Unigram over Metaspace, with a begin token; `bytes`: no merges."""
    import torch
    import transformers
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

    special = ["<unk>", "<s>", "</s>"]
    if kind == "llama":
        tokenizer = Tokenizer(models.Unigram())
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
        tokenizer.decoder = decoders.Metaspace()
        trainer = trainers.UnigramTrainer(
            vocab_size=300, special_tokens=special, unk_token="<unk>", show_progress=False
        )
    else:
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(
            vocab_size=400 if kind == "gpt2" else 259,
            special_tokens=special,
            initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
            show_progress=False,
        )
    tokenizer.train_from_iterator(TEXT, trainer)
    if kind == "llama":
        tokenizer.post_processor = processors.TemplateProcessing(
            single="<s> $A", special_tokens=[("<s>", tokenizer.token_to_id("<s>"))]
        )
    torch.manual_seed(3)
    size = tokenizer.get_vocab_size()
    if kind == "llama":
        sizes = {
            "hidden_size": width,
            "intermediate_size": 2 * width,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
        }
        model = transformers.LlamaForCausalLM(
            transformers.LlamaConfig(
                vocab_size=size, max_position_embeddings=256, initializer_range=0.3, **sizes
            )
        )
    else:
        sizes = {"n_positions": 256, "n_embd": width, "n_layer": 2, "n_head": 2}
        tokens = {"bos_token_id": 1, "eos_token_id": 2}
        model = transformers.GPT2LMHeadModel(
            transformers.GPT2Config(vocab_size=size, initializer_range=0.3, **sizes, **tokens)
        )
    model.save_pretrained(path)
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, unk_token="<unk>", bos_token="<s>", eos_token="</s>"
    ).save_pretrained(path)
    return path
