#!/usr/bin/env python3
"""Times forward passes of a model directory in Headroom and in `transformers`, in turns, and prints ratios of medians.

Needs `pip install torch transformers` and a release build of Headroom; nothing else in this repository needs them.

    cargo build --release
    python3 engine/benches/forward.py DIR --batch 32 --tokens 128 --threads 2

All read the same number of random tokens without padding, in f32, up to the last hidden states. `transformers` runs with its attention
written out (`eager`) and with PyTorch's fused one (`sdpa`). Each program runs in a process of its own, and the processes take turns.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path


def transformers_passes(options, attention):
    import torch
    from transformers import AutoModel

    torch.set_num_threads(options.threads)
    model = AutoModel.from_pretrained(options.directory, attn_implementation=attention, dtype=torch.float32).eval()
    ids = torch.randint(0, model.config.vocab_size, (options.batch, options.tokens), generator=torch.Generator().manual_seed(1))
    seconds = []
    with torch.inference_mode():
        for number in range(options.warmup + options.runs):
            begun = time.perf_counter()
            model(input_ids=ids)
            if number >= options.warmup:
                seconds.append(time.perf_counter() - begun)
    return seconds


def headroom_passes(options):
    numbers = ["--batch", options.batch, "--tokens", options.tokens, "--runs", options.runs, "--warmup", options.warmup]
    command = [options.headroom, "bench", "forward", options.directory, "--threads", options.threads, "--json"] + numbers
    told = subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True).stdout
    return json.loads(told)["seconds"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory")
    parser.add_argument("--headroom", default=str(Path(__file__).parents[2] / "target/release/headroom"))
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--runs", type=int, default=10, help="timed passes in each process")
    parser.add_argument("--warmup", type=int, default=2)
    parser.add_argument("--turns", type=int, default=3, help="processes of each program")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(transformers_passes(options, options.child)))
        return
    found = {"headroom": [], "eager": [], "sdpa": []}
    for _ in range(options.turns):
        found["headroom"] += headroom_passes(options)
        for attention in ("eager", "sdpa"):
            command = [sys.executable, __file__] + sys.argv[1:] + ["--child", attention]
            told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            found[attention] += json.loads(told.splitlines()[-1])
    medians = {name: statistics.median(seconds) for name, seconds in found.items()}
    ratios = {name: medians["headroom"] / medians[name] for name in ("eager", "sdpa")}
    if options.json:
        print(json.dumps({"medians": medians, "ratios": ratios, "seconds": found}))
        return
    for name, median in medians.items():
        ratio = f", Headroom takes {ratios[name]:.2f} of it" if name in ratios else ""
        print(f"{name:>9}: {1000 * median:8.1f} ms{ratio}")


main()
