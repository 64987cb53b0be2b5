"""The frequencies of scaled rotary positions, as `transformers` computes them.

    python rotary_angles.py > ../golden/hf/rotary_angles.json

Needs `torch` and `transformers` 5. `engine/checkpoint/src/checkpoint/families/rotary.rs` reads the same settings and compares.
"""

import json

import transformers as hf
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

YARN = dict(factor=4.0, original_max_position_embeddings=64)
LLAMA3 = dict(factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=64)
TABLES = [
    dict(rope_type="linear", factor=4.0),
    dict(type="linear", factor=2.5),
    dict(rope_type="dynamic", factor=2.0),
    dict(type="yarn", **YARN),
    dict(rope_type="yarn", factor=4.0),
    dict(rope_type="yarn", **YARN, truncate=False),
    dict(rope_type="yarn", **YARN, beta_fast=8, beta_slow=2, attention_factor=1.3),
    dict(rope_type="yarn", **YARN, mscale=0.7, mscale_all_dim=1.1),
    dict(rope_type="llama3", **LLAMA3),
    dict(rope_type="llama3", factor=32.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=8192),
]


def case(table, base, name):
    written = {"hidden_size": 64, "num_attention_heads": 2, "max_position_embeddings": 256}
    if name == "rope_scaling":
        written |= {"rope_theta": base, "rope_scaling": table}
    else:
        written |= {"rope_parameters": {**table, "rope_theta": base}}
    config = hf.LlamaConfig(**json.loads(json.dumps(written)))
    kind = table.get("rope_type", table.get("type"))
    frequencies, attention = ROPE_INIT_FUNCTIONS[kind](config, "cpu", seq_len=128)
    return {"config": written, "frequencies": frequencies.tolist(), "attention": attention}


cases = [case(table, base, name) for table in TABLES for base in (100.0, 500000.0) for name in ("rope_scaling", "rope_parameters")]
print(json.dumps(cases))
