"""Random searches over tiny models, by their own `generation_config.json`, with the ids that `transformers` gives.

    python searches.py make FOLDER                     writes FOLDER/{gpt2, bart, marian, t5}: tiny random models
    python searches.py run FOLDER COUNT SEED [--groups] > searches.jsonl

`run` draws settings for COUNT searches over every model in FOLDER (those of `make`, and exports of Headroom's that were put there), has
`transformers` read them from `generation_config.json`, and prints prompt, settings and new ids, a search a line. Ids are computed in 32 and in
64 bits, and a search in which the two differ is left out: rounding decides it. `--groups` draws diverse beam search, which
`transformers` took out in version 5; run it with 4.49. `tests/fixtures/searches` was made with

    python searches.py make tests/fixtures/searches
    python searches.py run tests/fixtures/searches 90 1           (transformers 5.24)
    python searches.py run tests/fixtures/searches 30 2 --groups  (transformers 4.49)

and an encoder-decoder of Headroom's (`own`), the export of a run of the preset `number-words` with 1 layer, 2 heads, width 16,
feed-forward 16, sequence length 24 and 60 steps. `engine/checkpoint/src/checkpoint/search_goldens.rs` replays it.
"""

import json
import logging
import random
import sys
import tempfile
import warnings
from pathlib import Path

import torch
import transformers as hf

VOCABULARY, WIDTH, INNER, POSITIONS = 40, 16, 16, 24
SIZES = dict(vocab_size=VOCABULARY, pad_token_id=1, bos_token_id=0, eos_token_id=2)


def configs():
    stacks = dict(d_model=WIDTH, encoder_layers=1, decoder_layers=2, encoder_attention_heads=2, decoder_attention_heads=2)
    stacks |= dict(encoder_ffn_dim=INNER, decoder_ffn_dim=INNER, max_position_embeddings=POSITIONS, init_std=0.6)
    bart = hf.BartConfig(**SIZES, **stacks, decoder_start_token_id=2, forced_eos_token_id=2)
    marian = hf.MarianConfig(**SIZES, **stacks, decoder_vocab_size=VOCABULARY, decoder_start_token_id=1, forced_eos_token_id=None)
    gpt2 = hf.GPT2Config(
        n_embd=WIDTH, n_layer=2, n_head=2, n_positions=POSITIONS, n_inner=INNER, initializer_range=0.6, **SIZES
    )
    t5 = hf.T5Config(
        d_model=WIDTH, d_kv=8, d_ff=INNER, num_layers=2, num_decoder_layers=2, num_heads=2, decoder_start_token_id=1, **SIZES
    )
    t5.initializer_factor = 3.0
    return dict(
        bart=(hf.BartForConditionalGeneration, bart),
        gpt2=(hf.GPT2LMHeadModel, gpt2),
        marian=(hf.MarianMTModel, marian),
        t5=(hf.T5ForConditionalGeneration, t5),
    )


def make(folder):
    for number, (name, (kind, config)) in enumerate(configs().items()):
        torch.manual_seed(number)
        kind(config).float().save_pretrained(folder / name)


def settings_of(rng, known, groups):
    """Settings of a search, on top of the tokens that a model has.

    Left out is what no rule decides, or what version 4.49 got wrong: several forced tokens of beams, which all score 0; and in groups
    several end tokens (the first stood for all), an `exponential_decay_length_penalty` (not a number where an end token is ruled
    out), an `encoder_repetition_penalty` (of the first beam alone), and a `max_length` of 20 (taken for the default).
    """
    chance = lambda share: rng.random() < share
    ids = lambda count: [rng.randrange(3, known["vocabulary"]) for _ in range(count)]
    found = dict(known["tokens"])
    length = rng.randrange(4, 14)
    if chance(0.5) or groups:
        found["max_new_tokens"] = length
    else:
        found["max_length"] = length + known["before"]
    found["num_beams"] = rng.choice([1, 2, 3, 4, 5]) if chance(0.85) else 1
    if groups:
        found["num_beam_groups"] = rng.choice([2, 3])
        found["num_beams"] = found["num_beam_groups"] * rng.choice([1, 2])
        found["diversity_penalty"] = rng.choice([0.3, 1.0, 2.5])
    if found["num_beams"] > 1:
        if chance(0.7):
            found["length_penalty"] = rng.choice([-1.0, 0.0, 0.4, 0.8, 1.5, 2.0])
        found["early_stopping"] = rng.choice([False, True, "never"])
    if chance(0.3):
        found["min_length"] = known["before"] + rng.randrange(1, 6)
    if chance(0.15):
        found["min_new_tokens"] = rng.randrange(1, 5)
    if chance(0.3):
        found["no_repeat_ngram_size"] = rng.choice([1, 2, 3])
    if chance(0.3):
        found["repetition_penalty"] = rng.choice([0.8, 1.2, 1.7])
    if chance(0.15) and not groups:
        found["encoder_repetition_penalty"] = rng.choice([0.7, 1.3])
    if chance(0.15):
        found["encoder_no_repeat_ngram_size"] = rng.choice([1, 2])
    if chance(0.3):
        found["bad_words_ids"] = [ids(1), ids(2), ids(1)]
    if chance(0.2):
        found["sequence_bias"] = [[ids(1), 2.5], [ids(2), -4.0], [ids(1), -1.5]]
    if chance(0.25):
        found["suppress_tokens"] = sorted(set(ids(4)))
    if chance(0.25):
        found["begin_suppress_tokens"] = sorted(set(ids(3) + [2]))
    if chance(0.4):
        found["forced_bos_token_id"] = rng.randrange(3, known["vocabulary"])
    end = known["tokens"]["eos_token_id"]
    if chance(0.4) and not groups:
        found["eos_token_id"] = [end, *ids(rng.choice([1, 2]))]
    if chance(0.55):
        found["forced_eos_token_id"] = found["eos_token_id"] if found["num_beams"] == 1 else end
    elif chance(0.5):
        found.pop("forced_eos_token_id", None)
    if chance(0.2) and not groups:
        found["exponential_decay_length_penalty"] = [rng.randrange(0, 4), rng.choice([1.05, 1.3, 0.9])]
    if chance(0.2):
        found["renormalize_logits"] = True
    return found


def run(folder, count, seed, groups):
    rng = random.Random(seed)
    hf.logging.set_verbosity_error()
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    names = sorted(path.name for path in folder.iterdir() if (path / "config.json").exists())
    done = skipped = 0
    while done < count:
        name = names[(done + skipped) % len(names)]
        config = json.loads((folder / name / "config.json").read_text())
        written = folder / name / "generation_config.json"
        tokens = json.loads(written.read_text()) if written.exists() else {}
        keys = ["bos_token_id", "decoder_start_token_id", "eos_token_id", "forced_eos_token_id", "pad_token_id"]
        tokens = {key: tokens.get(key, config.get(key)) for key in keys if tokens.get(key, config.get(key)) is not None}
        prompt = [rng.randrange(3, config["vocab_size"]) for _ in range(rng.randrange(1, 8))]
        before = 1 if "decoder_start_token_id" in tokens else len(prompt)
        settings = settings_of(rng, dict(tokens=tokens, vocabulary=config["vocab_size"], before=before), groups)
        with tempfile.TemporaryDirectory() as place:
            place = Path(place)
            for file in ["config.json", "model.safetensors"]:
                (place / file).write_bytes((folder / name / file).read_bytes())
            (place / "generation_config.json").write_text(json.dumps(settings))
            kind = hf.AutoModelForSeq2SeqLM if before == 1 and "decoder_start_token_id" in tokens else hf.AutoModelForCausalLM
            texts = []
            try:
                for dtype in [torch.float32, torch.float64]:
                    model = kind.from_pretrained(place).to(dtype).eval()
                    ids = torch.tensor([prompt])
                    out = model.generate(input_ids=ids, attention_mask=torch.ones_like(ids))[0].tolist()
                    texts.append(out[before:])
            except (ValueError, RuntimeError, IndexError) as error:
                print(f"{name}: {error}", file=sys.stderr)
                skipped += 1
                continue
        if texts[0] != texts[1]:
            skipped += 1
            continue
        line = dict(model=name, prompt=prompt, settings=settings, ids=texts[0])
        if groups:
            line["transformers"] = hf.__version__
        print(json.dumps(line, separators=(",", ":")))
        done += 1
    print(f"{done} searches, {skipped} left out", file=sys.stderr)


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(Path(sys.argv[2]))
    else:
        run(Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), "--groups" in sys.argv)
