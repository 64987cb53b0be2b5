#!/usr/bin/env python3
"""Times generation with the same weights in Headroom, in `transformers` and in CTranslate2, in turns, and prints ratios of medians.

Needs `pip install torch transformers tokenizers ctranslate2` and a release build of Headroom; nothing else in this repository needs them.

    cargo build --release
    python3 engine/benches/generation.py --threads 2

Two models with random weights are made with `transformers` in a temporary folder: a BART (6 layers of each kind, width 512, 8 heads) and
a GPT-2 (12 layers, width 512, 8 heads), with a vocabulary of 8,192 words. All three programs read that folder (CTranslate2 its own
conversion of it). Every row gets a source of `--source` words and exactly `--new` new tokens, greedy and with beams, in f32.
Loading a model is not timed. The first run of the two peers is not counted; ours is the mean of `--rounds` runs from the first on. Each
program runs in a process of its own, and the processes take turns.
Tokens are compared too: what two programs choose differently is counted.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

VOCABULARY = 8192
SPECIALS = ["<s>", "<pad>", "</s>", "<unk>"]
CACHES = ("none", "key_value", "hidden")


def make_models(folder):
    """Two model directories with random weights and a tokenizer of whole words."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import BartConfig, BartForConditionalGeneration, GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    torch.manual_seed(0)
    words = SPECIALS + [f"w{number}" for number in range(VOCABULARY - len(SPECIALS))]
    tokenizer = Tokenizer(models.WordLevel({word: id for id, word in enumerate(words)}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", pad_token="<pad>", eos_token="</s>", unk_token="<unk>")
    ids = {"bos_token_id": 0, "pad_token_id": 1, "eos_token_id": 2}
    bart = BartConfig(vocab_size=VOCABULARY, d_model=512, encoder_layers=6, decoder_layers=6, encoder_attention_heads=8,
                      decoder_attention_heads=8, encoder_ffn_dim=2048, decoder_ffn_dim=2048, max_position_embeddings=1024,
                      decoder_start_token_id=2, forced_eos_token_id=None, init_std=0.05, normalize_before=False, **ids)
    gpt2 = GPT2Config(vocab_size=VOCABULARY, n_embd=512, n_layer=12, n_head=8, n_positions=1024, initializer_range=0.05, **ids)
    for name, model in (("bart", BartForConditionalGeneration(bart)), ("gpt2", GPT2LMHeadModel(gpt2))):
        model.eval().save_pretrained(folder / name)
        fast.save_pretrained(folder / name)


def as_peers_read(texts, kind):
    """Headroom ends what an encoder reads with the token that ends a text, as BART was trained; this tokenizer does not by itself."""
    return [f"{text} </s>" for text in texts] if kind == "bart" else texts


def sources(rows, length):
    draw = random.Random(length)
    return [" ".join(f"w{draw.randrange(VOCABULARY - len(SPECIALS))}" for _ in range(length)) for _ in range(rows)]


def with_transformers(folder, kind, texts, beam, new, threads, rounds):
    import torch
    import transformers

    torch.set_num_threads(threads)
    auto = transformers.AutoModelForSeq2SeqLM if kind == "bart" else transformers.AutoModelForCausalLM
    model = auto.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    inputs = tokenizer(as_peers_read(texts, kind), return_tensors="pt", add_special_tokens=False)
    inputs = {"input_ids": inputs["input_ids"], "attention_mask": inputs["attention_mask"]}
    seconds = []
    with torch.inference_mode():
        for _ in range(rounds + 1):
            start = time.perf_counter()
            ids = model.generate(**inputs, num_beams=beam, do_sample=False, min_new_tokens=new, max_new_tokens=new)
            seconds.append(time.perf_counter() - start)
    first = 1 if kind == "bart" else inputs["input_ids"].shape[1]
    return {"seconds": seconds[1:], "tokens": [row[first:].tolist() for row in ids], "version": transformers.__version__}


def with_ctranslate2(folder, kind, texts, beam, new, threads, rounds):
    import ctranslate2

    converted = folder.parent / f"{folder.name}-ctranslate2"
    if not converted.exists():
        ctranslate2.converters.TransformersConverter(str(folder)).convert(str(converted))
    options = {"device": "cpu", "compute_type": "float32", "intra_threads": threads, "inter_threads": 1}
    words = [text.split() for text in as_peers_read(texts, kind)]
    seconds = []
    if kind == "bart":
        model = ctranslate2.Translator(str(converted), **options)
        run = lambda: model.translate_batch(words, beam_size=beam, min_decoding_length=new, max_decoding_length=new,
                                            max_batch_size=0)
        tokens = lambda result: result.hypotheses[0]
    else:
        model = ctranslate2.Generator(str(converted), **options)
        run = lambda: model.generate_batch(words, beam_size=beam, min_length=new, max_length=new,
                                           include_prompt_in_result=False, max_batch_size=0)
        tokens = lambda result: result.sequences[0]
    for _ in range(rounds + 1):
        start = time.perf_counter()
        results = run()
        seconds.append(time.perf_counter() - start)
    numbers = {word: id for id, word in enumerate(SPECIALS)}
    ids = [[numbers[word] if word in numbers else int(word[1:]) + len(SPECIALS) for word in tokens(result)] for result in results]
    return {"seconds": seconds[1:], "tokens": ids, "version": ctranslate2.__version__}


def with_headroom(program, cache, folder, kind, texts, beam, new, threads, rounds):
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write("\n".join(texts * rounds) + "\n")
        file.flush()
        command = [program, "generate", str(folder), "--input", file.name, "--beam", str(beam), "--cache", cache, "--min-length", str(new),
                   "--max-length", str(new), "--batch", str(len(texts)), "--threads", str(threads), "--json"]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    lines = [json.loads(line) for line in output.splitlines()]
    first = lines[0]  # the times are those of all batches
    return {"seconds": [first["seconds"] / rounds], "reading_seconds": [first["reading_seconds"] / rounds],
            "tokens": [line["tokens"] for line in lines[:len(texts)]], "cache_bytes": first["cache_bytes"]}


def in_child(options, peer, *arguments):
    """A peer in a process of its own, so that threads are set before any work."""
    command = [sys.executable, __file__, "--child", json.dumps([peer, *[str(a) if isinstance(a, Path) else a for a in arguments]])]
    environment = dict(os.environ, OMP_NUM_THREADS=str(options.threads), MKL_NUM_THREADS=str(options.threads), TOKENIZERS_PARALLELISM="false")
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--headroom", default=str(Path(__file__).parents[2] / "target/release/headroom"))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--model", choices=("bart", "gpt2"), action="append")
    parser.add_argument("--source", type=int, action="append", help="words of a source (64 and 512)")
    parser.add_argument("--batch", type=int, action="append", help="rows (1 and 16)")
    parser.add_argument("--beam", type=int, action="append", help="beams, 1 is greedy (1 and 4)")
    parser.add_argument("--cache", choices=CACHES, action="append", help="of ours (all three)")
    parser.add_argument("--new", type=int, default=64, help="tokens that each row gets")
    parser.add_argument("--rounds", type=int, default=2, help="timed runs in each process")
    parser.add_argument("--turns", type=int, default=2, help="processes of each program")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        peer, folder, *rest = json.loads(options.child)
        print(json.dumps({"transformers": with_transformers, "ctranslate2": with_ctranslate2}[peer](Path(folder), *rest)))
        return
    results = []
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        make_models(folder)
        for kind in options.model or ("bart", "gpt2"):
            for source in options.source or (64, 512):
                for batch in options.batch or (1, 16):
                    for beam in options.beam or (1, 4):
                        row = measure(options, folder / kind, kind, source, batch, beam)
                        results.append(row)
                        if not options.json:
                            show(row)
    if options.json:
        print(json.dumps(results))


def measure(options, folder, kind, source, batch, beam):
    texts = sources(batch, source)
    rest = (kind, texts, beam, options.new, options.threads, options.rounds)
    found = {}
    for _ in range(options.turns):
        for cache in options.cache or CACHES:
            if cache == "none" and batch * source > 2048:
                continue  # everything again for every token: minutes
            found.setdefault(cache, []).append(with_headroom(options.headroom, cache, folder, *rest))
        for peer in ("transformers", "ctranslate2"):
            found.setdefault(peer, []).append(in_child(options, peer, folder, *rest))
    median = {who: statistics.median(s for run in runs for s in run["seconds"]) for who, runs in found.items()}
    expected = found["transformers"][0]["tokens"]
    same = {who: sum(a == b for a, b in zip(runs[0]["tokens"], expected)) for who, runs in found.items()}
    return {"model": kind, "source": source, "batch": batch, "beam": beam, "new": options.new, "seconds": median, "rows_as_transformers": same,
            "reading_seconds": {who: statistics.median(s for run in runs for s in run["reading_seconds"])
                                for who, runs in found.items() if "reading_seconds" in runs[0]},
            "cache_bytes": {who: runs[0]["cache_bytes"] for who, runs in found.items() if "cache_bytes" in runs[0]},
            "versions": {who: found[who][0]["version"] for who in ("transformers", "ctranslate2")}}


def show(row):
    print(f"{row['model']}, source {row['source']}, batch {row['batch']}, beam {row['beam']}, {row['new']} new tokens a row")
    best = min(row["seconds"][cache] for cache in CACHES if cache in row["seconds"])
    for who, seconds in row["seconds"].items():
        kept = ""
        if who in row["cache_bytes"]:
            kept = f"   keeps {row['cache_bytes'][who] / 2**20:7.2f} MiB, reads its source in {row['reading_seconds'][who] * 1e3:.1f} ms"
        print(f"  {who:13} {seconds * 1e3:9.1f} ms   {row['batch'] / seconds:8.2f} samples/s   {seconds / best:5.2f} x the best of ours   "
              f"{row['rows_as_transformers'][who]} of {row['batch']} rows as transformers{kept}", flush=True)


if __name__ == "__main__":
    main()
