#!/usr/bin/env python3
"""Makes this folder's files: a small BERT with random weights that marks the start and the end of an answer.

Needs `pip install torch transformers`; the expected values are of the same weights in double precision.
"""

from pathlib import Path

import torch
from safetensors.torch import save_file
from transformers import BertConfig, BertForQuestionAnswering

here = Path(__file__).parent
torch.manual_seed(7)
config = BertConfig(vocab_size=120, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64,
                    max_position_embeddings=32, type_vocab_size=2, initializer_range=0.3, attn_implementation="eager")
model = BertForQuestionAnswering(config).eval()
with torch.no_grad():
    for parameter in model.parameters():
        if parameter.dim() == 1:
            parameter.add_(0.1 * torch.randn_like(parameter))
model.save_pretrained(here)
model = model.double()

mask = torch.ones(3, 10, dtype=torch.long)
mask[1, 7:] = 0
mask[2, 4:] = 0
ids = torch.randint(5, 120, (3, 10)) * mask
types = torch.zeros_like(ids)
types[:, 5:] = 1
types *= mask
with torch.no_grad():
    output = model(input_ids=ids, attention_mask=mask, token_type_ids=types, output_attentions=True, output_hidden_states=True)
save_file({
    "input_ids": ids,
    "attention_mask": mask,
    "token_type_ids": types,
    "logits": torch.stack([output.start_logits, output.end_logits], -1).contiguous(),
    "attentions": torch.stack(output.attentions).contiguous(),
    "hidden_states": torch.stack(output.hidden_states).contiguous(),
}, here / "io.safetensors")
