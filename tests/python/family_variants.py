"""Small variants of every family that opens, beside what `transformers` computes for them.

    python family_variants.py PROGRAM FOLDER [--only WORD] [--save FOLDER NAME ...]

Makes each variant with the installed `transformers` (4 or 5), saves it as that version does, and has it read the same tokens here
and there. PROGRAM is the test program of checkpoints (`cargo test -p headroom-checkpoint --lib --no-run` names it): with
`HEADROOM_GOLDENS` it compares the models of a folder with the `io.safetensors` beside each. Prints a line a variant and the counts.
`--save` copies the variants of these names to a folder, as fixtures.

Needs `torch`, `transformers` and `safetensors`. Weights come from seed 1, inputs from seed 2; outputs are computed in double precision.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import torch
import transformers as hf
from safetensors.torch import load_file, save_file

VERSION = int(hf.__version__.split(".")[0])
BASE = dict(
    vocab_size=31, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=4, max_position_embeddings=20,
    initializer_range=0.3,
)
ROBERTA = dict(BASE, max_position_embeddings=22, pad_token_id=1, type_vocab_size=1)
DISTIL = dict(vocab_size=31, dim=16, hidden_dim=24, n_layers=2, n_heads=4, max_position_embeddings=20, initializer_range=0.3)
GPT2 = dict(vocab_size=31, n_embd=16, n_inner=24, n_layer=2, n_head=4, n_positions=20, initializer_range=0.3)
BART = dict(
    vocab_size=31, d_model=16, max_position_embeddings=20, init_std=0.3, pad_token_id=1, bos_token_id=0, eos_token_id=2,
    decoder_start_token_id=2, forced_eos_token_id=2, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
    decoder_attention_heads=4, encoder_ffn_dim=24, decoder_ffn_dim=24,
)
T5 = dict(
    vocab_size=31, d_model=16, d_kv=6, d_ff=24, num_layers=2, num_heads=4, initializer_factor=1.5, pad_token_id=0, eos_token_id=1,
    decoder_start_token_id=0, relative_attention_num_buckets=8, relative_attention_max_distance=12,
)
LLAMA = dict(BASE, num_key_value_heads=2)
IMAGE = dict(
    hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=4, initializer_range=0.3, image_size=8, patch_size=4,
    num_channels=3, num_labels=3,
)


class Variant:
    """How one model is made and saved. `edit` changes the saved folder; `opened` is the class that reads it in `transformers`."""

    def __init__(self, kind, config, sizes, edit=None, prepare=None, save="safetensors", opened=None, reference="saved", only=None):
        self.kind, self.config, self.sizes, self.edit, self.prepare = kind, config, sizes, edit, prepare
        self.save, self.opened, self.reference, self.only = save, opened or kind, reference, only


VARIANTS = {}


def add(name, kind, config, sizes, **others):
    VARIANTS[name] = Variant(getattr(hf, kind), getattr(hf, config), sizes, **others)


def other_head(model):
    """A head of its own in a model whose settings tie it."""
    head = model.get_output_embeddings()
    head.weight = torch.nn.Parameter(torch.randn_like(head.weight) * 0.3)


def prune(model):
    model.prune_heads({0: [1], 1: [0, 3]})


def drop(*names):
    """Removes tensors from the saved file."""
    def edit(folder):
        tensors = {name: tensor for name, tensor in load_file(folder / "model.safetensors").items() if name not in names}
        save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    return edit


def renamed(**names):
    def edit(folder):
        tensors = load_file(folder / "model.safetensors")
        tensors = {names.get(name.replace(".", "_"), name): tensor for name, tensor in tensors.items()}
        save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    return edit


def without(*keys):
    """Removes keys from the settings."""
    def edit(folder):
        path = folder / "config.json"
        config = json.loads(path.read_text())
        path.write_text(json.dumps({key: value for key, value in config.items() if key not in keys}))
    return edit


def encoders(name, prefix, config, sizes, activation="hidden_act", pooled=True):
    for act in ("gelu", "relu", "gelu_new", "silu"):
        add(f"{name}_mlm_{act}", f"{prefix}ForMaskedLM", config, dict(sizes, **{activation: act}))
    add(f"{name}_mlm_untied", f"{prefix}ForMaskedLM", config, dict(sizes, tie_word_embeddings=False))
    add(f"{name}_mlm_other_head", f"{prefix}ForMaskedLM", config, sizes, prepare=other_head, only=5)
    add(f"{name}_mlm_legacy", f"{prefix}ForMaskedLM", config, sizes, save="legacy")
    add(f"{name}_mlm_bin", f"{prefix}ForMaskedLM", config, sizes, save="bin")
    add(f"{name}_mlm_sharded_bin", f"{prefix}ForMaskedLM", config, sizes, save="sharded_bin")
    add(f"{name}_mlm_sharded", f"{prefix}ForMaskedLM", config, sizes, save="sharded")
    add(f"{name}_classes", f"{prefix}ForSequenceClassification", config, dict(sizes, num_labels=3))
    add(f"{name}_classes_relu", f"{prefix}ForSequenceClassification", config, dict(sizes, num_labels=3, **{activation: "relu"}))
    add(f"{name}_span", f"{prefix}ForQuestionAnswering", config, sizes)
    add(f"{name}_states", f"{prefix}Model", config, sizes)
    add(f"{name}_token_classes", f"{prefix}ForTokenClassification", config, dict(sizes, num_labels=5), reference="states")
    add(f"{name}_choices", f"{prefix}ForMultipleChoice", config, sizes, reference="states")
    if name != "albert":
        add(f"{name}_pruned", f"{prefix}ForMaskedLM", config, sizes, prepare=prune, only=4)


encoders("bert", "Bert", "BertConfig", BASE)
encoders("megatron", "MegatronBert", "MegatronBertConfig", BASE)
encoders("roberta", "Roberta", "RobertaConfig", ROBERTA)
encoders("xlmr", "XLMRoberta", "XLMRobertaConfig", ROBERTA)
encoders("camembert", "Camembert", "CamembertConfig", ROBERTA)
encoders("distilbert", "DistilBert", "DistilBertConfig", DISTIL, activation="activation")
encoders("electra", "Electra", "ElectraConfig", dict(BASE, embedding_size=10))
encoders("albert", "Albert", "AlbertConfig", dict(BASE, embedding_size=10))
add("bert_pretraining", "BertForPreTraining", "BertConfig", BASE)
add("bert_next_sentence", "BertForNextSentencePrediction", "BertConfig", BASE, reference="states")
add("albert_pretraining", "AlbertForPreTraining", "AlbertConfig", dict(BASE, embedding_size=10))
for act in ("gelu", "relu"):
    add(f"electra_replaced_{act}", "ElectraForPreTraining", "ElectraConfig", dict(BASE, embedding_size=10, hidden_act=act))

for act in ("gelu_new", "gelu", "relu", "gelu_pytorch_tanh"):
    add(f"gpt2_{act}", "GPT2LMHeadModel", "GPT2Config", dict(GPT2, activation_function=act))
add("gpt2_untied", "GPT2LMHeadModel", "GPT2Config", dict(GPT2, tie_word_embeddings=False))
add("gpt2_other_head", "GPT2LMHeadModel", "GPT2Config", GPT2, prepare=other_head, only=5)
add("gpt2_usual_inner", "GPT2LMHeadModel", "GPT2Config", dict(GPT2, n_inner=None))
add("gpt2_legacy", "GPT2LMHeadModel", "GPT2Config", GPT2, save="legacy")
add("gpt2_sharded_bin", "GPT2LMHeadModel", "GPT2Config", GPT2, save="sharded_bin")
add("gpt2_double_heads", "GPT2DoubleHeadsModel", "GPT2Config", GPT2)
add("gpt2_states", "GPT2Model", "GPT2Config", GPT2)
add("gpt2_classes", "GPT2ForSequenceClassification", "GPT2Config", dict(GPT2, pad_token_id=0), reference="states")
add("gpt2_token_classes", "GPT2ForTokenClassification", "GPT2Config", GPT2, reference="states")
add("gpt2_span", "GPT2ForQuestionAnswering", "GPT2Config", GPT2, reference="states")

for name, kind in (("llama", "Llama"), ("mistral", "Mistral"), ("qwen2", "Qwen2")):
    config, causal = f"{kind}Config", f"{kind}ForCausalLM"
    add(f"{name}", causal, config, LLAMA)
    add(f"{name}_tied", causal, config, dict(LLAMA, tie_word_embeddings=True))
    add(f"{name}_other_head", causal, config, dict(LLAMA, tie_word_embeddings=True), prepare=other_head, only=5)
    add(f"{name}_all_keys", causal, config, dict(LLAMA, num_key_value_heads=4))
    add(f"{name}_one_key", causal, config, dict(LLAMA, num_key_value_heads=1))
    add(f"{name}_gelu", causal, config, dict(LLAMA, hidden_act="gelu"))
    add(f"{name}_wide_heads", causal, config, dict(LLAMA, head_dim=6))
    add(f"{name}_legacy", causal, config, LLAMA, save="legacy")
    add(f"{name}_sharded", causal, config, LLAMA, save="sharded")
    add(f"{name}_states", f"{kind}Model", config, LLAMA)
    for end in ("SequenceClassification", "TokenClassification", "QuestionAnswering"):
        add(f"{name}_{end}", f"{kind}For{end}", config, dict(LLAMA, pad_token_id=0), reference="states")
    for kind_of in ("linear", "dynamic", "yarn", "llama3"):
        table = dict(rope_type=kind_of, factor=4.0)
        if kind_of in ("yarn", "llama3"):
            table["original_max_position_embeddings"] = 8
        if kind_of == "llama3":
            table |= dict(low_freq_factor=1.0, high_freq_factor=4.0)
        given = dict(rope_scaling=table, rope_theta=100.0) if VERSION == 4 else dict(rope_parameters=dict(table, rope_theta=100.0))
        add(f"{name}_{kind_of}", causal, config, dict(LLAMA, head_dim=4, **given))
add("llama_biases", "LlamaForCausalLM", "LlamaConfig", dict(LLAMA, attention_bias=True, mlp_bias=True))
eight = dict(LLAMA, num_attention_heads=16, hidden_size=32, num_key_value_heads=8)
add("mistral_usual_keys", "MistralForCausalLM", "MistralConfig", eight, edit=without("num_key_value_heads"))
add("mistral_window", "MistralForCausalLM", "MistralConfig", dict(LLAMA, sliding_window=12))

for name, kind, last in (("bart", "Bart", "ForConditionalGeneration"), ("marian", "Marian", "MTModel")):
    config = f"{kind}Config"
    more = dict(decoder_vocab_size=31) if name == "marian" else {}
    for act in ("gelu", "relu", "swish"):
        add(f"{name}_{act}", f"{kind}{last}", config, dict(BART, activation_function=act, **more))
    add(f"{name}_scaled", f"{kind}{last}", config, dict(BART, scale_embedding=True, **more))
    add(f"{name}_other_head", f"{kind}{last}", config, dict(BART, **more), prepare=other_head, only=5)
    add(f"{name}_legacy", f"{kind}{last}", config, dict(BART, **more), save="legacy")
    add(f"{name}_sharded_bin", f"{kind}{last}", config, dict(BART, **more), save="sharded_bin")
    add(f"{name}_states", f"{kind}Model", config, dict(BART, **more))
add("bart_depths", "BartForConditionalGeneration", "BartConfig", dict(BART, encoder_layers=3, decoder_layers=1))
add("bart_classes", "BartForSequenceClassification", "BartConfig", BART, reference="states")
add("bart_span", "BartForQuestionAnswering", "BartConfig", BART, reference="states")

for name, kind in (("t5", "T5"), ("mt5", "MT5")):
    config, last = f"{kind}Config", f"{kind}ForConditionalGeneration"
    for forward in ("relu", "gated-gelu", "gated-silu"):
        add(f"{name}_{forward}", last, config, dict(T5, feed_forward_proj=forward))
    add(f"{name}_untied", last, config, dict(T5, feed_forward_proj="gated-gelu", tie_word_embeddings=False), prepare=other_head)
    add(f"{name}_other_head", last, config, T5, prepare=other_head, only=5)
    add(f"{name}_no_shared", last, config, T5, edit=renamed(shared_weight="encoder.embed_tokens.weight"), only=5)
    add(f"{name}_legacy", last, config, T5, save="legacy")
    add(f"{name}_states", f"{kind}Model", config, T5)
    add(f"{name}_encoder", f"{kind}EncoderModel", config, T5)
    add(f"{name}_depths", last, config, dict(T5, num_layers=3, num_decoder_layers=1))
    add(f"{name}_token_classes", f"{kind}ForTokenClassification", config, T5, reference="states")
    add(f"{name}_span", f"{kind}ForQuestionAnswering", config, T5, reference="states")
    add(f"{name}_classes", f"{kind}ForSequenceClassification", config, T5, reference="states")

for name, kind in (("vit", "ViT"), ("deit", "DeiT")):
    config = f"{kind}Config"
    for act in ("gelu", "relu", "gelu_new"):
        add(f"{name}_{act}", f"{kind}ForImageClassification", config, dict(IMAGE, hidden_act=act))
    add(f"{name}_states", f"{kind}Model", config, IMAGE)
    add(f"{name}_masked", f"{kind}ForMaskedImageModeling", config, dict(IMAGE, encoder_stride=4), reference="states")
    add(f"{name}_legacy", f"{kind}ForImageClassification", config, IMAGE, save="legacy")
    add(f"{name}_pruned", f"{kind}ForImageClassification", config, IMAGE, prepare=prune, only=4)
add("deit_teacher", "DeiTForImageClassificationWithTeacher", "DeiTConfig", IMAGE)


def randomise(model):
    """Biases and norms start at zeros and ones, which would hide what reads them."""
    for name, parameter in model.named_parameters():
        if parameter.dim() == 1:
            parameter.data = parameter.data + 0.2 * torch.randn_like(parameter)
        elif name.endswith(("cls_token", "distillation_token", "position_embeddings")):
            parameter.data = 0.3 * torch.randn_like(parameter)


def inputs(model):
    config, generator = model.config, torch.Generator().manual_seed(2)
    if model.main_input_name == "pixel_values":
        return dict(pixel_values=torch.randn((2, 3, 8, 8), generator=generator))
    ids, mask = torch.randint(4, config.vocab_size, (2, 7), generator=generator), torch.ones(2, 7, dtype=torch.long)
    mask[1, 5:] = 0
    ids[1, 5:] = config.pad_token_id or 0
    given = dict(input_ids=ids, attention_mask=mask)
    if getattr(config, "type_vocab_size", 0) > 1:
        given["token_type_ids"] = torch.tensor([[0, 0, 0, 1, 1, 1, 1], [0, 0, 1, 1, 1, 0, 0]])
    if config.is_encoder_decoder and "Encoder" not in type(model).__name__:
        given["decoder_input_ids"] = torch.randint(4, config.vocab_size, (2, 5), generator=generator)
    return given


def wide(tensor):
    return tensor.double() if tensor.is_floating_point() else tensor.long()


def base_of(model):
    """The model without its head."""
    for name in ("transformer", model.base_model_prefix, "model"):
        inner = getattr(model, name, None)
        if isinstance(inner, torch.nn.Module):
            return inner
    return model


def base_of_t5(model):
    """T5s for spans are no model around another one."""
    bare = getattr(hf, "MT5Model" if model.config.model_type == "mt5" else "T5Model")(model.config)
    bare.load_state_dict({name: tensor for name, tensor in model.state_dict().items() if not name.startswith("qa_outputs")})
    return bare.eval().double()


def answers(model, given, ends_in_states):
    given = {name: wide(tensor) for name, tensor in given.items()}
    with torch.no_grad():
        if ends_in_states:
            spans = model.config.model_type in ("t5", "mt5") and type(model).__name__.endswith("ForQuestionAnswering")
            model = base_of_t5(model) if spans else base_of(model)
        if type(model).__name__.endswith("EncoderModel"):
            given.pop("decoder_input_ids", None)
        found = model(**given, output_attentions=True, output_hidden_states=True)
    names = ["attentions", "hidden_states", "cross_attentions"]
    names += [f"{stack}_{name}" for stack in ("encoder", "decoder") for name in names[:2]]
    stacked = {}
    for name in names:
        values = found.get(name)
        # Layers with fewer heads do not stack.
        if values and len({value.shape for value in values}) == 1:
            stacked[name] = torch.stack(values)
    logits = found.get("logits")
    if logits is None:
        logits = found.get("prediction_logits")
    if logits is None and found.get("start_logits") is not None:
        logits = torch.stack([found["start_logits"], found["end_logits"]], -1)
    if logits is not None:
        stacked["logits"] = logits
    return {name: tensor.double().contiguous() for name, tensor in stacked.items()}


def saved(model, folder, how):
    if how == "sharded":
        model.save_pretrained(folder, max_shard_size="8KB")
        return
    model.save_pretrained(folder)
    if how == "safetensors":
        return
    # `transformers` 5 writes no pickles any more; what older versions wrote are the same tensors.
    tensors = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    whole = model.state_dict() if VERSION == 4 else tensors
    if how == "bin":
        torch.save(whole, folder / "pytorch_model.bin")
    elif how == "legacy":
        torch.save(whole, folder / "pytorch_model.bin", _use_new_zipfile_serialization=False)
    else:
        names = sorted(tensors)
        half = len(names) // 2
        weight_map = {}
        for number, part in enumerate((names[:half], names[half:]), 1):
            file = f"pytorch_model-{number:05}-of-00002.bin"
            torch.save({name: tensors[name] for name in part}, folder / file)
            weight_map |= {name: file for name in part}
        index = {"metadata": {"total_size": 1}, "weight_map": weight_map}
        (folder / "pytorch_model.bin.index.json").write_text(json.dumps(index))


def make(variant, folder):
    torch.manual_seed(1)
    sizes = dict(variant.sizes)
    model = variant.kind(variant.config(**sizes))
    randomise(model)
    if variant.prepare:
        variant.prepare(model)
    saved(model, folder, variant.save)
    if variant.edit:
        variant.edit(folder)
    opened = variant.opened.from_pretrained(folder, attn_implementation="eager").eval().double()
    given = inputs(opened)
    out = answers(opened, given, variant.reference == "states")
    if type(opened).__name__.endswith(("EncoderModel", "T5ForTokenClassification")):
        given.pop("decoder_input_ids", None)
    save_file({**{name: wide(tensor) for name, tensor in given.items()}, **out}, folder / "io.safetensors")


def compared(program, folder):
    """What the program says of one model: none where all agrees."""
    name = "checkpoint::goldens::models_from_elsewhere_compute_what_transformers_computes"
    environment = dict(os.environ, HEADROOM_GOLDENS=str(folder), HEADROOM_MODEL=str(folder), RUST_BACKTRACE="0")
    ran = subprocess.run([program, "--exact", name], env=environment, capture_output=True, text=True)
    if ran.returncode == 0:
        return None
    lines = [line for line in ran.stdout.splitlines() if line and not re.match(r"running|test |thread|failures|----|note|error", line)]
    return lines[0][:300] if lines else ran.stdout[-300:]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--save", nargs="+", default=[])
    args = parser.parse_args()
    right, wrong, left_out = 0, [], []
    for name, variant in VARIANTS.items():
        if args.only and not re.search(args.only, name):
            continue
        if variant.only not in (None, VERSION):
            continue
        folder = args.folder / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        try:
            make(variant, folder)
        except Exception as error:
            left_out.append(name)
            print(f"not made   {name}: {str(error).splitlines()[0][:160] if str(error) else type(error)}", flush=True)
            continue
        why = compared(args.program, folder)
        if why is None:
            right += 1
            print(f"same       {name}", flush=True)
        else:
            wrong.append(name)
            print(f"DIFFERENT  {name}: {why}", flush=True)
    if args.save:
        to = Path(args.save[0])
        for name in args.save[1:]:
            shutil.copytree(args.folder / name, to / name, dirs_exist_ok=True)
    print(f"transformers {hf.__version__}: {right} the same, {len(wrong)} different, {len(left_out)} not made")
    sys.exit(bool(wrong))


main()
