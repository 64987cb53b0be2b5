#!/usr/bin/env python3
"""Times the training step of the same model in Headroom and in PyTorch, in turns, and prints ratios of medians.

Needs PyTorch (`pip install torch`), for `compiled` a C++ compiler, and a release build of Headroom; nothing else in this
repository needs either.

    cargo build --release
    python3 engine/benches/against_pytorch.py --threads 2

Both train the same model from the same kind of batch: a GPT-2 style decoder with norms first, tied token table, tanh
GELU and no dropout, or (`translation`) an encoder-decoder of as many layers each, with the exact GELU and a bias over the
vocabulary, whose sources are as long as its targets; forward, cross-entropy over every token, backward, clipping of the global norm to 1, AdamW.
PyTorch runs eagerly with attention written out (`manual`) and with `scaled_dot_product_attention` (`fused`), and the latter
through `torch.compile` (`compiled`), each in `f32` and under `autocast` to `bf16`; Headroom in `precision = "f32"` and `"bf16"`.
The processes take turns, since machines drift; the processor and the share of its own rate of products stand beside the times.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

# width, heads, layers, tokens, batch, vocabulary
CONFIGURATIONS = {
    "standard": (256, 4, 6, 128, 16, 8192),
    "wide": (512, 8, 6, 256, 8, 8192),
    "long": (256, 4, 4, 1024, 2, 8192),
    "translation": (256, 4, 3, 64, 32, 8192),
}
ENCODER_DECODERS = ("translation",)
PRECISIONS = ("f32", "bf16")
PEERS = ("manual", "fused", "compiled")


def torch_steps(shape, translates, peer, precision, threads, steps, warmup):
    """Seconds of each step in PyTorch, and the peak memory of the process in bytes."""
    import math

    import torch
    from torch import nn
    from torch.nn import functional

    width, heads, layers, tokens, batch, vocabulary = shape
    torch.set_num_threads(threads)
    torch.manual_seed(0)

    class Attention(nn.Module):
        """Of a sequence to itself, or to another one."""

        def __init__(self, is_causal, to_other=False):
            super().__init__()
            self.is_causal = is_causal
            self.query = nn.Linear(width, width) if to_other else None
            self.projections, self.output = nn.Linear(width, (2 if to_other else 3) * width), nn.Linear(width, width)

        def forward(self, x, other=None):
            b, t, _ = x.shape
            if self.query is None:
                q, k, v = self.projections(x).split(width, dim=2)
            else:
                q, (k, v) = self.query(x), self.projections(other).split(width, dim=2)
            q, k, v = (part.view(b, -1, heads, width // heads).transpose(1, 2) for part in (q, k, v))
            if peer != "manual":
                mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=self.is_causal)
            else:
                scores = q @ k.transpose(2, 3) / math.sqrt(width // heads)
                if self.is_causal:
                    scores = scores.masked_fill(hidden[:t, :t], float("-inf"))
                mixed = scores.softmax(dim=-1) @ v
            return self.output(mixed.transpose(1, 2).reshape(b, t, width))

    class Block(nn.Module):
        def __init__(self, is_causal=True, crosses=False):
            super().__init__()
            self.norm_1, self.norm_2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.attention = Attention(is_causal)
            self.norm_cross = nn.LayerNorm(width) if crosses else None
            self.cross = Attention(False, to_other=True) if crosses else None
            self.inner, self.outer = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x, other=None):
            x = x + self.attention(self.norm_1(x))
            if self.cross is not None:
                x = x + self.cross(self.norm_cross(x), other)
            approximate = "none" if translates else "tanh"
            return x + self.outer(functional.gelu(self.inner(self.norm_2(x)), approximate=approximate))

    class Stack(nn.Module):
        def __init__(self, positions, **block):
            super().__init__()
            self.positions = nn.Embedding(positions, width)
            self.blocks = nn.ModuleList(Block(**block) for _ in range(layers))
            self.norm = nn.LayerNorm(width)

        def forward(self, x, other=None):
            x = x + self.positions(torch.arange(x.shape[1]))
            for block in self.blocks:
                x = block(x, other)
            return self.norm(x)

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.words = nn.Embedding(vocabulary, width)
            # As in BART: two more positions than are used, and a bias of the head.
            self.encoder = Stack(tokens + 2, is_causal=False) if translates else None
            self.decoder = Stack(tokens + 2 if translates else tokens, crosses=translates)
            self.bias = nn.Parameter(torch.zeros(vocabulary)) if translates else None

        def forward(self, ids, targets, sources):
            other = None if self.encoder is None else self.encoder(self.words(sources))
            logits = functional.linear(self.decoder(self.words(ids), other), self.words.weight, self.bias)
            return functional.cross_entropy(logits.view(-1, vocabulary), targets.view(-1))

    hidden = torch.ones(tokens, tokens, dtype=torch.bool).triu(1)
    model = Model()
    for parameter in model.parameters():
        if parameter.dim() > 1:
            nn.init.normal_(parameter, std=0.02)
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3)
    forward = torch.compile(model) if peer == "compiled" else model
    seconds = []
    for step in range(warmup + steps):
        ids = torch.randint(vocabulary, (batch, tokens))
        targets = torch.randint(vocabulary, (batch, tokens))
        sources = torch.randint(vocabulary, (batch, tokens))
        start = time.perf_counter()
        optimiser.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=precision == "bf16"):
            loss = forward(ids, targets, sources)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        loss.item()
        if step >= warmup:
            seconds.append(time.perf_counter() - start)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {"step_seconds": seconds, "peak_memory_bytes": peak, "torch": torch.__version__,
            "parameters": sum(parameter.numel() for parameter in model.parameters())}


def headroom_steps(program, shape, translates, precision, threads, steps, warmup):
    width, heads, layers, tokens, batch, vocabulary = shape
    fields = {"kind": "encoder_decoder" if translates else "decoder", "width": width, "heads": heads, "layers": layers, "feed-forward": 4 * width,
              "sequence-length": tokens, "batch": batch, "vocabulary": vocabulary, "steps": steps,
              "warmup": warmup, "threads": threads}
    command = [program, "bench", "step", "--json"] + [word for k, v in fields.items() for word in (f"--{k}", str(v))]
    command += ["--set", f"precision={precision}"] + (["model.norm=pre"] if translates else [])
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def in_child(*arguments):
    """PyTorch in a process of its own, so that peak memory is its own and thread counts are set before any work."""
    threads = str(arguments[4])
    environment = dict(os.environ, OMP_NUM_THREADS=threads, MKL_NUM_THREADS=threads)
    command = [sys.executable, __file__, "--child", json.dumps(arguments)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--headroom", default=str(Path(__file__).parents[2] / "target/release/headroom"))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--steps", type=int, default=8, help="steps that count, in each round")
    parser.add_argument("--warmup", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--configuration", choices=CONFIGURATIONS, action="append")
    parser.add_argument("--precision", choices=PRECISIONS, action="append", help="all unless some are named")
    parser.add_argument("--peer", choices=PEERS, action="append", help="all unless some are named")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(torch_steps(*json.loads(options.child))))
        return
    precisions, peers = options.precision or PRECISIONS, options.peer or PEERS
    results = {}
    for name in options.configuration or CONFIGURATIONS:
        shape, translates = CONFIGURATIONS[name], name in ENCODER_DECODERS
        rest = (options.threads, options.steps, options.warmup)
        found = {(who, precision): [] for precision in precisions for who in ("headroom", *peers)}
        for _ in range(options.rounds):
            for (who, precision), runs in found.items():
                if who == "headroom":
                    runs.append(headroom_steps(options.headroom, shape, translates, precision, *rest))
                else:
                    runs.append(in_child(shape, translates, who, precision, *rest))
        counts = {run["parameters"] for runs in found.values() for run in runs}
        if len(counts) > 1:
            sys.exit(f"the models differ: {counts} parameters")
        results[name] = report(name, shape, found, peers, options)
    if options.json:
        print(json.dumps(results))


def report(name, shape, found, peers, options):
    """Medians, peaks and ratios of one configuration."""
    median = {key: statistics.median(s for run in runs for s in run["step_seconds"]) for key, runs in found.items()}
    peak = {key: max(run["peak_memory_bytes"] for run in runs) for key, runs in found.items()}
    own = [(key, runs) for key, runs in found.items() if key[0] == "headroom"]
    machine = own[0][1][0]["machine"].get("cpu", "unknown processor")
    versions = {run["torch"] for runs in found.values() for run in runs if "torch" in run}
    if not options.json:
        print(f"{name} {shape}, {options.threads} threads, {machine}, PyTorch {', '.join(sorted(versions))}")
    rows = {}
    for (who, precision), runs in found.items():
        row = {"seconds": median[who, precision], "peak_memory_bytes": peak[who, precision]}
        words = ""
        if who == "headroom":
            row["share_of_product_rate"] = statistics.median(run["share_of_product_rate"] for run in runs)
            row["ratios"] = {peer: median[who, precision] / median[peer, precision] for peer in peers}
            words = f"{row['share_of_product_rate']:.2f} of the rate of products; ratios "
            words += ", ".join(f"{ratio:.2f} ({peer})" for peer, ratio in row["ratios"].items())
            if precision != "f32" and ("headroom", "f32") in median:
                row["ratio_to_f32"] = median[who, precision] / median["headroom", "f32"]
                words += f", {row['ratio_to_f32']:.2f} (own f32)"
        rows[f"{who} {precision}"] = row
        if not options.json:
            print(f"  {who:9} {precision:5} {row['seconds'] * 1e3:8.1f} ms   peak {row['peak_memory_bytes'] / 2**20:6.0f} MiB   {words}", flush=True)
    return {"machine": machine, "rows": rows}


if __name__ == "__main__":
    main()
