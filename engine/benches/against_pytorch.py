#!/usr/bin/env python3
"""Times the training step of the same model in Headroom and in PyTorch, in turns, and prints ratios of medians.

On the processor, or with `--device cuda:0` on an NVIDIA GPU.

Needs PyTorch (`pip install torch`), for `compiled` a C++ compiler, and a release build of Headroom; nothing else in this
repository needs either.

    cargo build --release
    python3 engine/benches/against_pytorch.py --threads 2
    cargo build --release --features cuda
    python3 engine/benches/against_pytorch.py --device cuda:0

Both train the same model from the same kind of batch: a GPT-2 style decoder with norms first, tied token table, tanh
GELU and no dropout; or (`bert`) an encoder as in BERT with norms last, the exact GELU, and a head that sees the 15 % of the
tokens that are hidden; or (`translation`) an encoder-decoder of as many layers each, with the exact GELU and a bias over the
vocabulary, whose sources are as long as its targets; forward, cross-entropy, backward, clipping of the global norm to 1, AdamW
(on a GPU PyTorch's fused one).
PyTorch runs eagerly with attention written out (`manual`) and with `scaled_dot_product_attention` (`fused`), and the latter
through `torch.compile` (`compiled`), each in `f32`, on a GPU also with products in TF32, and under `autocast` to `bf16`;
Headroom in `precision = "f32"`, `"tf32"` and `"bf16"`. The processes take turns, since machines drift; the processor or GPU and
the share of its own rate of products stand beside the times. Memory is the most that the process held, on a GPU the most
that tensors took there.

With `--largest-batch BYTES`, on a GPU, nothing is timed: it prints the largest batch with which a step fits into so many
bytes. PyTorch finds it by halving, with as much of the GPU as its allocator may take; Headroom by `bench largest-batch`,
which takes one step with what it found.
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

# kind, then width, heads, layers, tokens, batch, vocabulary
CONFIGURATIONS = {
    "standard": ("decoder", (256, 4, 6, 128, 16, 8192)),
    "wide": ("decoder", (512, 8, 6, 256, 8, 8192)),
    "long": ("decoder", (256, 4, 4, 1024, 2, 8192)),
    "translation": ("encoder_decoder", (256, 4, 3, 64, 32, 8192)),
    "gpt2": ("decoder", (768, 12, 12, 1024, 8, 50257)),
    "bert": ("encoder", (768, 12, 12, 512, 16, 30522)),
}
# What is measured unless something is named.
ON_CPU = ("standard", "wide", "long", "translation")
ON_GPU = ("standard", "gpt2", "bert")
MASKED = 0.15
PRECISIONS = ("f32", "tf32", "bf16")
PEERS = ("manual", "fused", "compiled")


def torch_steps(kind, shape, peer, precision, device, threads, steps, warmup, most_bytes=None):
    """Seconds of each step in PyTorch, and the peak memory of the process, or of the GPU's tensors, in bytes; with
    `most_bytes` the largest batch that fits into so many."""
    import math

    import torch
    from torch import nn
    from torch.nn import functional

    width, heads, layers, tokens, batch, vocabulary = shape
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    torch.set_default_device(device)
    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    translates, masks = kind == "encoder_decoder", kind == "encoder"
    # The norms of each block come last, as in BERT.
    is_post = masks

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

        def feed_forward(self, x):
            return self.outer(functional.gelu(self.inner(x), approximate="tanh" if kind == "decoder" else "none"))

        def forward(self, x, other=None):
            if is_post:
                x = self.norm_1(x + self.attention(x))
                return self.norm_2(x + self.feed_forward(x))
            x = x + self.attention(self.norm_1(x))
            if self.cross is not None:
                x = x + self.cross(self.norm_cross(x), other)
            return x + self.feed_forward(self.norm_2(x))

    class Stack(nn.Module):
        def __init__(self, positions, **block):
            super().__init__()
            self.positions = nn.Embedding(positions, width)
            self.types = nn.Embedding(2, width) if masks else None
            self.blocks = nn.ModuleList(Block(**block) for _ in range(layers))
            self.norm = nn.LayerNorm(width)

        def forward(self, x, other=None):
            x = x + self.positions(torch.arange(x.shape[1], device=x.device))
            if self.types is not None:
                x = x + self.types(torch.zeros(x.shape[1], dtype=torch.long, device=x.device))
            if is_post:
                x = self.norm(x)
            for block in self.blocks:
                x = block(x, other)
            return x if is_post else self.norm(x)

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.words = nn.Embedding(vocabulary, width)
            # As in BART: two more positions than are used, and a bias of the head.
            self.encoder = Stack(tokens + 2, is_causal=False) if translates else None
            self.decoder = Stack(tokens + 2 if translates else tokens, is_causal=not masks, crosses=translates)
            self.dense = nn.Linear(width, width) if masks else None
            self.norm = nn.LayerNorm(width) if masks else None
            self.bias = None if kind == "decoder" else nn.Parameter(torch.zeros(vocabulary))

        def forward(self, ids, targets, sources, hidden_places):
            other = None if self.encoder is None else self.encoder(self.words(sources))
            states = self.decoder(self.words(ids), other)
            if masks:
                states, targets = states.view(-1, width)[hidden_places], targets.view(-1)[hidden_places]
                states = self.norm(functional.gelu(self.dense(states)))
            logits = functional.linear(states, self.words.weight, self.bias)
            return functional.cross_entropy(logits.view(-1, vocabulary), targets.view(-1))

    hidden = torch.ones(tokens, tokens, dtype=torch.bool).triu(1)
    if most_bytes is not None:
        torch.cuda.set_per_process_memory_fraction(most_bytes / torch.cuda.mem_get_info()[1])
    model = Model()
    for parameter in model.parameters():
        if parameter.dim() > 1:
            nn.init.normal_(parameter, std=0.02)
    on_gpu = device != "cpu"
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=on_gpu or None)
    forward = torch.compile(model) if peer == "compiled" else model
    seconds = []

    def take_step(batch):
        ids = torch.randint(vocabulary, (batch, tokens))
        targets = torch.randint(vocabulary, (batch, tokens))
        sources = torch.randint(vocabulary, (batch, tokens))
        places = torch.randperm(batch * tokens)[: int(batch * tokens * MASKED)]
        if on_gpu:
            torch.cuda.synchronize()
        start = time.perf_counter()
        optimiser.zero_grad()
        with torch.autocast(device.split(":")[0], dtype=torch.bfloat16, enabled=precision == "bf16"):
            loss = forward(ids, targets, sources, places)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        loss.item()
        if on_gpu:
            torch.cuda.synchronize()
        return time.perf_counter() - start

    def fits(batch):
        try:
            take_step(batch)
        except torch.cuda.OutOfMemoryError:
            return False
        finally:
            optimiser.zero_grad()
            torch.cuda.empty_cache()
        return True

    if most_bytes is not None:
        fitting, refused = 0, 1
        while fits(refused):
            fitting, refused = refused, 2 * refused
        while refused - fitting > 1:
            middle = (fitting + refused) // 2
            fitting, refused = (middle, refused) if fits(middle) else (fitting, middle)
        return {"batch": fitting, "torch": torch.__version__}
    for step in range(warmup + steps):
        taken = take_step(batch)
        if step >= warmup:
            seconds.append(taken)
    peak = torch.cuda.max_memory_allocated() if on_gpu else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {"step_seconds": seconds, "peak_memory_bytes": peak, "torch": torch.__version__,
            "parameters": sum(parameter.numel() for parameter in model.parameters())}


def headroom_steps(program, kind, shape, precision, device, threads, steps, warmup):
    width, heads, layers, tokens, batch, vocabulary = shape
    fields = {"kind": kind, "width": width, "heads": heads, "layers": layers, "feed-forward": 4 * width,
              "sequence-length": tokens, "batch": batch, "vocabulary": vocabulary, "steps": steps,
              "warmup": warmup, "threads": threads, "device": device}
    command = [program, "bench", "step", "--json"] + [word for k, v in fields.items() for word in (f"--{k}", str(v))]
    command += ["--set", f"precision={precision}"] + (["model.norm=pre"] if kind == "encoder_decoder" else [])
    run = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    run["peak_memory_bytes"] = run.get("device_peak_memory_bytes") or run["peak_memory_bytes"]
    return run


def headroom_batch(program, kind, shape, precision, device, most_bytes):
    width, heads, layers, tokens, _, vocabulary = shape
    fields = {"model.kind": kind, "model.width": width, "model.heads": heads, "model.layers": layers,
              "model.feed_forward": 4 * width, "model.norm": "post" if kind == "encoder" else "pre", "model.dropout": 0,
              "data.sequence_length": tokens, "precision": precision, "device": device}
    command = [program, "bench", "largest-batch", "--json", "--memory", str(most_bytes), "--vocabulary", str(vocabulary)]
    command += [word for field, value in fields.items() for word in ("--set", f"{field}={value}")]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def in_child(*arguments):
    """PyTorch in a process of its own, so that peak memory is its own and thread counts are set before any work."""
    threads = str(arguments[5])
    environment = dict(os.environ, OMP_NUM_THREADS=threads, MKL_NUM_THREADS=threads)
    command = [sys.executable, __file__, "--child", json.dumps(arguments)]
    run = subprocess.run(command, capture_output=True, text=True, env=environment)
    if run.returncode != 0:
        sys.exit(f"PyTorch failed with {arguments}:\n{run.stderr[-2000:]}")
    return json.loads(run.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--headroom", default=str(Path(__file__).parents[2] / "target/release/headroom"))
    parser.add_argument("--device", default="cpu", help="cpu or cuda:0")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--steps", type=int, default=8, help="steps that count, in each round")
    parser.add_argument("--warmup", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--configuration", choices=CONFIGURATIONS, action="append")
    parser.add_argument("--precision", choices=PRECISIONS, action="append", help="all unless some are named")
    parser.add_argument("--peer", choices=PEERS, action="append", help="all unless some are named")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--largest-batch", type=int, metavar="BYTES", help="on a GPU; needs to be no more than is free there")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(torch_steps(*json.loads(options.child))))
        return
    on_gpu = options.device != "cpu"
    precisions = options.precision or [precision for precision in PRECISIONS if on_gpu or precision != "tf32"]
    peers = options.peer or PEERS
    results = {}
    for name in options.configuration or (ON_GPU if on_gpu else ON_CPU):
        kind, shape = CONFIGURATIONS[name]
        rest = (options.device, options.threads, options.steps, options.warmup)
        if options.largest_batch:
            results[name] = largest_batches(name, kind, shape, precisions, peers, rest, options)
            continue
        found = {(who, precision): [] for precision in precisions for who in ("headroom", *peers)}
        for _ in range(options.rounds):
            for (who, precision), runs in found.items():
                if who == "headroom":
                    runs.append(headroom_steps(options.headroom, kind, shape, precision, *rest))
                else:
                    runs.append(in_child(kind, shape, who, precision, *rest))
        counts = {run["parameters"] for runs in found.values() for run in runs}
        if len(counts) > 1:
            sys.exit(f"the models differ: {counts} parameters")
        results[name] = report(name, shape, found, peers, options)
    if options.json:
        print(json.dumps(results))


def largest_batches(name, kind, shape, precisions, peers, rest, options):
    """The largest batch of each, in turns."""
    rows = {}
    for precision in precisions:
        own = headroom_batch(options.headroom, kind, shape, precision, options.device, options.largest_batch)
        rows[f"headroom {precision}"] = own["batch"]
        for peer in peers:
            rows[f"{peer} {precision}"] = in_child(kind, shape, peer, precision, *rest, options.largest_batch)["batch"]
    if not options.json:
        print(f"{name} {shape}: largest batch in {options.largest_batch / 2**30:.1f} GiB")
        for who, batch in rows.items():
            print(f"  {who:15} {batch:6}", flush=True)
    return rows


def report(name, shape, found, peers, options):
    """Medians, peaks and ratios of one configuration."""
    median = {key: statistics.median(s for run in runs for s in run["step_seconds"]) for key, runs in found.items()}
    peak = {key: max(run["peak_memory_bytes"] for run in runs) for key, runs in found.items()}
    own = [(key, runs) for key, runs in found.items() if key[0] == "headroom"]
    first = own[0][1][0]
    machine = first.get("device_name") or first["machine"].get("cpu", "unknown processor")
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
