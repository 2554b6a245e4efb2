"""A model for tests: a Llama with fewer than 200,000 random parameters, whose tokens are characters."""

from pathlib import Path
from typing import Any

import torch
from letters import ALPHABET, END
from tokenizers import Regex, Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

TEMPLATE = """{% for message in messages %}{% if message['role'] == 'assistant' %}:{{ message['content'] }}<end>\
{% else %}{{ message['content'] }}{% endif %}{% endfor %}{% if add_generation_prompt %}:{% endif %}"""


def a_tokenizer() -> PreTrainedTokenizerFast:
    tokenizer = Tokenizer(models.WordLevel({each: i for i, each in enumerate([*ALPHABET, END])}, unk_token=" "))
    split = pre_tokenizers.Split(Regex(r"<end>|[\s\S]"), "isolated")
    tokenizer.pre_tokenizer = split  # pyright: ignore[reportAttributeAccessIssue]
    made = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=END, pad_token=END)
    made.chat_template = TEMPLATE
    return made


def a_model(**changes: Any) -> LlamaForCausalLM:
    torch.manual_seed(1)
    shape = {
        "vocab_size": len(ALPHABET) + 1,
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 512,
        "initializer_range": 0.1,
    }
    model = LlamaForCausalLM(LlamaConfig(**{**shape, **changes}))
    assert model.num_parameters() < 200_000
    return model


def write_base(folder: Path) -> str:
    """Writes the model and its tokenizer in the format of downloaded models."""
    a_model().save_pretrained(str(folder))
    a_tokenizer().save_pretrained(str(folder))
    return str(folder)
