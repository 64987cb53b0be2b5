"""Tiny random models of every family that Headroom reads, with what `transformers` computes for them.

    python make.py FOLDER [FAMILY ...]     writes FOLDER/FAMILY/{config.json, model.safetensors, io.safetensors}
    python make.py FOLDER --of DIRECTORY   writes FOLDER/io.safetensors for a model that is there already

Needs `torch`, `transformers` and `safetensors`. Weights are drawn from seed 1 and saved in 32 bits; inputs come from seed 2, and
outputs are computed in double precision from the saved weights. Attention maps and hidden states are stacked over layers.
`engine/checkpoint/src/checkpoint/goldens.rs` compares them with Headroom's, and the committed goldens of this folder that have no script of their own were
written by this one.
"""

import json
import sys
from pathlib import Path

import torch
import transformers as hf
from safetensors.torch import save_file

VOCABULARY, WIDTH, INNER, LAYERS, HEADS, POSITIONS = 37, 16, 24, 2, 4, 20

# Sizes under the keys that most families share.
SIZES = dict(
    vocab_size=VOCABULARY,
    hidden_size=WIDTH,
    intermediate_size=INNER,
    num_hidden_layers=LAYERS,
    num_attention_heads=HEADS,
    max_position_embeddings=POSITIONS,
    pad_token_id=1,
    initializer_range=0.3,
)

def sizes(**others):
    return {**SIZES, **others}


def bart_sizes(**others):
    of_stacks = dict(layers=LAYERS, attention_heads=HEADS, ffn_dim=INNER)
    named = {f"{stack}_{key}": value for stack in ("encoder", "decoder") for key, value in of_stacks.items()}
    special = dict(pad_token_id=1, bos_token_id=0, eos_token_id=2, decoder_start_token_id=2, forced_eos_token_id=2)
    return dict(vocab_size=VOCABULARY, d_model=WIDTH, max_position_embeddings=POSITIONS, init_std=0.3, **named, **special, **others)


def t5_sizes(**others):
    special = dict(pad_token_id=0, eos_token_id=1, decoder_start_token_id=0)
    return dict(
        vocab_size=VOCABULARY, d_model=WIDTH, d_kv=6, d_ff=INNER, num_layers=LAYERS, num_heads=HEADS, initializer_factor=1.5,
        relative_attention_num_buckets=8, relative_attention_max_distance=12, **special, **others,
    )


def image_sizes():
    given = dict(image_size=8, patch_size=4, num_channels=3, num_labels=3)
    names = ("hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "initializer_range")
    return {**{name: SIZES[name] for name in names}, **given}


NO_TYPES = dict(type_vocab_size=1, max_position_embeddings=POSITIONS + 2)
DISTIL = dict(
    vocab_size=VOCABULARY, dim=WIDTH, hidden_dim=INNER, n_layers=LAYERS, n_heads=HEADS, max_position_embeddings=POSITIONS,
    initializer_range=0.3,
)
ROPE = dict(rope_parameters=dict(rope_type="default", rope_theta=100.0))

FAMILIES = {
    "albert": lambda: hf.AlbertForMaskedLM(hf.AlbertConfig(**sizes(embedding_size=10))),
    "albert_seqcls": lambda: hf.AlbertForSequenceClassification(hf.AlbertConfig(**sizes(embedding_size=10, num_labels=3))),
    "bart_relu": lambda: hf.BartForConditionalGeneration(
        hf.BartConfig(**bart_sizes(activation_function="relu", scale_embedding=True))
    ),
    "bert_model": lambda: hf.BertModel(hf.BertConfig(**SIZES)),
    "deit": lambda: hf.DeiTForImageClassification(hf.DeiTConfig(**image_sizes())),
    "deit_teacher": lambda: hf.DeiTForImageClassificationWithTeacher(hf.DeiTConfig(**image_sizes())),
    "distilbert": lambda: hf.DistilBertForMaskedLM(hf.DistilBertConfig(**DISTIL)),
    "distilbert_seqcls": lambda: hf.DistilBertForSequenceClassification(hf.DistilBertConfig(**DISTIL, num_labels=3)),
    "electra": lambda: hf.ElectraForPreTraining(hf.ElectraConfig(**sizes(embedding_size=10))),
    "electra_generator": lambda: hf.ElectraForMaskedLM(hf.ElectraConfig(**sizes(embedding_size=10))),
    "electra_seqcls": lambda: hf.ElectraForSequenceClassification(hf.ElectraConfig(**sizes(embedding_size=WIDTH, num_labels=3))),
    "llama": lambda: hf.LlamaForCausalLM(hf.LlamaConfig(**sizes(num_key_value_heads=2, head_dim=6, **ROPE))),
    "marian": lambda: hf.MarianMTModel(
        hf.MarianConfig(**bart_sizes(activation_function="swish", scale_embedding=True, decoder_vocab_size=VOCABULARY))
    ),
    "mistral": lambda: hf.MistralForCausalLM(hf.MistralConfig(**sizes(num_key_value_heads=4, sliding_window=16, **ROPE))),
    "qwen2": lambda: hf.Qwen2ForCausalLM(hf.Qwen2Config(**sizes(num_key_value_heads=2, tie_word_embeddings=True, **ROPE))),
    "roberta": lambda: hf.RobertaForMaskedLM(hf.RobertaConfig(**sizes(**NO_TYPES))),
    "roberta_model": lambda: hf.RobertaModel(hf.RobertaConfig(**sizes(**NO_TYPES))),
    "roberta_seqcls": lambda: hf.RobertaForSequenceClassification(hf.RobertaConfig(**sizes(num_labels=3, **NO_TYPES))),
    "t5": lambda: hf.T5ForConditionalGeneration(hf.T5Config(**t5_sizes(feed_forward_proj="relu"))),
    "t5_encoder": lambda: hf.T5EncoderModel(hf.T5Config(**t5_sizes(feed_forward_proj="gated-gelu"))),
    "t5_gated": lambda: hf.T5ForConditionalGeneration(
        hf.T5Config(**t5_sizes(feed_forward_proj="gated-gelu", tie_word_embeddings=False))
    ),
}


def randomise(model):
    """Biases and norms start at zeros and ones, which would hide what reads them."""
    for name, parameter in model.named_parameters():
        if parameter.dim() == 1:
            parameter.data = parameter.data + 0.2 * torch.randn_like(parameter)
        elif name.endswith(("cls_token", "distillation_token", "position_embeddings")):
            parameter.data = 0.3 * torch.randn_like(parameter)


def inputs(model):
    """Two rows of seven tokens, the second one shorter; images where these are read."""
    config = model.config
    generator = torch.Generator().manual_seed(2)
    if model.main_input_name == "pixel_values":
        shape = (2, config.num_channels, config.image_size, config.image_size)
        return dict(pixel_values=torch.randn(shape, generator=generator, dtype=torch.float32))
    drawn = lambda tokens: torch.randint(4, config.vocab_size, (2, tokens), generator=generator)
    ids, mask = drawn(7), torch.ones(2, 7, dtype=torch.long)
    mask[1, 5:] = 0
    ids[1, 5:] = config.pad_token_id or 0
    given = dict(input_ids=ids, attention_mask=mask)
    if getattr(config, "type_vocab_size", 0) > 1:
        given["token_type_ids"] = torch.tensor([[0, 0, 0, 1, 1, 1, 1], [0, 0, 1, 1, 1, 0, 0]])
    if config.is_encoder_decoder:
        given["decoder_input_ids"] = drawn(5)
    return given


def answers(model, given):
    """What the model computes, by the names of the golden."""
    wide = lambda tensor: tensor.double() if tensor.is_floating_point() else tensor
    with torch.no_grad():
        found = model(
            **{name: wide(tensor) for name, tensor in given.items()}, output_attentions=True, output_hidden_states=True
        )
    names = ["attentions", "hidden_states", "cross_attentions"]
    names += [f"{stack}_{name}" for stack in ("encoder", "decoder") for name in names[:2]]
    out = {name: torch.stack(found[name]) for name in names if found.get(name)}
    if found.get("logits") is not None:
        out["logits"] = found.logits
    return {name: tensor.double().contiguous() for name, tensor in out.items()}


def write(model, folder):
    model = model.eval().double()
    given = inputs(model)
    save_file({**{name: wide(tensor) for name, tensor in given.items()}, **answers(model, given)}, folder / "io.safetensors")


def wide(tensor):
    return tensor.double() if tensor.is_floating_point() else tensor.long()


def main():
    folder, names = Path(sys.argv[1]), sys.argv[2:]
    if names[:1] == ["--of"]:
        config = json.loads((Path(names[1]) / "config.json").read_text())
        kind = getattr(hf, config["architectures"][0])
        write(kind.from_pretrained(names[1], attn_implementation="eager"), folder)
        return
    for name in names or FAMILIES:
        (folder / name).mkdir(parents=True, exist_ok=True)
        torch.manual_seed(1)
        model = FAMILIES[name]()
        randomise(model)
        model.save_pretrained(folder / name)
        kind = type(model)
        write(kind.from_pretrained(folder / name, attn_implementation="eager"), folder / name)


main()
