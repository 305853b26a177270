"""Random pretrained-looking models of a few thousand weights, with a tokenizer that cuts letters, digits and marks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, pre_tokenizers
from tokenizers.models import BPE
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    GPTJConfig,
    GPTJForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
)

TEMPLATE = (
    "{% for message in messages %}<s>{{ message['role'] }}: {{ message['content'] }}</s>{% endfor %}"
    "{% if add_generation_prompt %}<s>assistant:{% endif %}"
)


def tokenizer(template: str | None = TEMPLATE) -> Any:
    """Bytes as tokens; a space and the character after it are one token, as in most real tokenizers."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    merges = [("\u0120", letter) for letter in letters if letter.isascii()]
    words = ["<s>", "</s>", *letters, *("".join(merge) for merge in merges)]
    made = Tokenizer(BPE({word: number for number, word in enumerate(words)}, merges))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(
        tokenizer_object=made, bos_token="<s>", eos_token="</s>", pad_token="</s>", chat_template=template
    )


def model(kind: str, positions: int = 2048) -> Any:
    """`llama` has two query heads to a key head; `gptj` turns half of each head; `gpt2` has no RoPE. Attention is far from uniform."""
    torch.manual_seed(0)
    words = len(tokenizer())
    common = {"bos_token_id": 0, "eos_token_id": 1}
    if kind == "llama":
        config = LlamaConfig(
            vocab_size=words,
            hidden_size=32,
            intermediate_size=48,
            num_hidden_layers=3,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=positions,
            rope_parameters={"rope_type": "default", "rope_theta": 1000.0},
            **common,
        )
        made: Any = LlamaForCausalLM(config)
    elif kind == "gptj":
        made = GPTJForCausalLM(
            GPTJConfig(
                vocab_size=words,
                n_positions=positions,
                n_embd=32,
                n_layer=2,
                n_head=2,
                rotary_dim=8,
                n_inner=48,
                **common,
            )
        )
    else:
        made = GPT2LMHeadModel(
            GPT2Config(vocab_size=words, n_positions=positions, n_embd=32, n_layer=2, n_head=2, **common)
        )
    with torch.no_grad():
        for name, tensor in made.named_parameters():
            if "proj" in name or "embed_tokens" in name or "wte" in name:
                tensor.mul_(12)
    return made.eval()


def save(kind: str, folder: Path, positions: int = 2048, template: str | None = TEMPLATE) -> Path:
    """A folder that `from_pretrained` loads."""
    model(kind, positions).save_pretrained(folder)
    tokenizer(template).save_pretrained(folder)
    return folder
