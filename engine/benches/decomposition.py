#!/usr/bin/env python3
"""Converts a BERT to collaborative heads with Headroom, and decomposes the same products with `tensorly` until its error is as small.

Needs `pip install numpy safetensors tensorly torch` and a release build of Headroom; nothing else in this repository needs them.

    cargo build --release
    python3 engine/benches/decomposition.py DIR --d-k 256 --threads 2

Both minimise |T - T~| / |T| of a layer's T, the products W_Q W_K^T of all heads on top of each other. Headroom's factors are read
from the directory that it writes and its error is computed again here, in 64 bits. `tensorly.decomposition.parafac` begins as the code
of "Multi-Head Attention: Collaborate Instead of Concatenate" does, at random, with numpy and with torch behind it, and ends as soon as
it is no worse, when its error falls by less than 1e-12 in a sweep, or after `--limit` times the time that Headroom took.

    python3 engine/benches/decomposition.py made --width 768 --heads 12

takes made-up weights instead of a directory: one layer whose heads mix 200 common directions of falling weight, with noise of their own.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def query_and_key(tensors, layer):
    """The two matrices [width, heads x size] of a layer."""
    found = {}
    for name, tensor in tensors.items():
        fits = re.fullmatch(rf".*\blayer\.{layer}\.attention\.self\.(query|key)\.weight", name)
        if fits:
            found[fits[1]] = tensor.astype("float64").T
    return found["query"], found["key"]


def products(tensors, layer, heads):
    import numpy

    query, key = query_and_key(tensors, layer)
    size = query.shape[1] // heads
    parts = [slice(head * size, (head + 1) * size) for head in range(heads)]
    return numpy.stack([query[:, part] @ key[:, part].T for part in parts])


def error_of(made, layer, target):
    """The error of the factors in a converted directory."""
    import numpy
    from safetensors.numpy import load_file

    tensors = load_file(made / "model.safetensors")
    query, key = query_and_key(tensors, layer)
    (mixing,) = [tensor for name, tensor in tensors.items() if re.fullmatch(rf".*\blayer\.{layer}\.attention\.self\.mixing\.weight", name)]
    rebuilt = numpy.einsum("hk,ik,jk->hij", mixing.astype("float64"), query, key, optimize=True)
    return float(numpy.linalg.norm(target - rebuilt) / numpy.linalg.norm(target))


def make(directory, width, heads):
    import numpy
    from safetensors.numpy import save_file

    random, common, size = numpy.random.default_rng(2), 200, width // heads
    scale = (1 + numpy.arange(common)) ** -0.5

    def normal(*shape):
        return (0.02 * random.standard_normal(shape)).astype("float32")

    def mixed():
        base = random.standard_normal((width, common)) * scale
        parts = [base @ random.standard_normal((common, size)) / common**0.5 for _ in range(heads)]
        weights = numpy.concatenate(parts, 1) + 0.15 * random.standard_normal((width, width))
        return numpy.ascontiguousarray((0.02 * weights.T).astype("float32"))

    tensors, table = {}, "bert.embeddings."
    for name, rows in (("word_embeddings", 64), ("position_embeddings", 32), ("token_type_embeddings", 2)):
        tensors[f"{table}{name}.weight"] = normal(rows, width)
    layer = "bert.encoder.layer.0."
    maps = {"attention.self.query": mixed(), "attention.self.key": mixed()}
    for name, shape in (
        (layer + "attention.self.query", (width, width)),
        (layer + "attention.self.key", (width, width)),
        (layer + "attention.self.value", (width, width)),
        (layer + "attention.output.dense", (width, width)),
        (layer + "intermediate.dense", (64, width)),
        (layer + "output.dense", (width, 64)),
        ("cls.predictions.transform.dense", (width, width)),
    ):
        tensors[name + ".weight"] = maps.get(name.removeprefix(layer), None)
        if tensors[name + ".weight"] is None:
            tensors[name + ".weight"] = normal(*shape)
        tensors[name + ".bias"] = normal(shape[0])
    norms = [table + "LayerNorm", layer + "attention.output.LayerNorm", layer + "output.LayerNorm", "cls.predictions.transform.LayerNorm"]
    for name in norms:
        tensors[name + ".weight"] = numpy.ones(width, "float32")
        tensors[name + ".bias"] = numpy.zeros(width, "float32")
    tensors["cls.predictions.bias"] = numpy.zeros(64, "float32")
    config = {
        "architectures": ["BertForMaskedLM"],
        "hidden_act": "gelu",
        "hidden_dropout_prob": 0.1,
        "hidden_size": width,
        "intermediate_size": 64,
        "layer_norm_eps": 1e-12,
        "max_position_embeddings": 32,
        "model_type": "bert",
        "num_attention_heads": heads,
        "num_hidden_layers": 1,
        "type_vocab_size": 2,
        "vocab_size": 64,
    }
    save_file(tensors, directory / "model.safetensors", {"format": "pt"})
    (directory / "config.json").write_text(json.dumps(config))


def child(options):
    """Decomposes with tensorly; prints seconds, error and sweeps."""
    import numpy
    import tensorly
    from safetensors.numpy import load_file
    from tensorly.decomposition import parafac

    config = json.loads((Path(options.directory) / "config.json").read_text())
    target = products(load_file(Path(options.directory) / "model.safetensors"), options.layer, config["num_attention_heads"])
    target = (target / numpy.linalg.norm(target)).astype("float32")
    tensorly.set_backend(options.child)
    if options.child == "pytorch":
        import torch

        torch.set_num_threads(options.threads)
    target = tensorly.tensor(target)
    begun, found = time.perf_counter(), {}

    def look(_, error):
        seconds = time.perf_counter() - begun
        found.update(seconds=seconds, error=float(error), sweeps=found.get("sweeps", -1) + 1)
        return found["error"] <= options.error or seconds > options.seconds

    parafac(target, rank=options.d_k, n_iter_max=100_000, init="random", tol=1e-12, random_state=options.seed, callback=look)
    print(json.dumps(found))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", help="a model directory, or `made`")
    parser.add_argument("--width", type=int, default=768)
    parser.add_argument("--heads", type=int, default=12)
    parser.add_argument("--headroom", default=str(Path(__file__).parents[2] / "target/release/headroom"))
    parser.add_argument("--d-k", type=int, default=256)
    parser.add_argument("--layer", type=int, default=0)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--limit", type=float, default=30, help="times Headroom's time after which tensorly is ended")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--error", type=float, help=argparse.SUPPRESS)
    parser.add_argument("--seconds", type=float, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options)
        return

    if options.directory != "made":
        compare(options)
        return
    with tempfile.TemporaryDirectory() as folder:
        make(Path(folder), options.width, options.heads)
        options.directory = folder
        compare(options)


def compare(options):
    from safetensors.numpy import load_file

    heads = json.loads((Path(options.directory) / "config.json").read_text())["num_attention_heads"]
    target = products(load_file(Path(options.directory) / "model.safetensors"), options.layer, heads)
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "made"
        command = [options.headroom, "convert", options.directory, "--to", str(made), "--collaborative", "--d-k", str(options.d_k)]
        command += ["--threads", str(options.threads), "--json"]
        told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        layer = json.loads(told.splitlines()[-1])["attentions"][options.layer]
        error = error_of(made, options.layer, target)
    print(f"headroom:          {layer['seconds']:8.2f} s, error {error:.5f} ({layer['relative_error']:.5f} as told), {layer['sweeps']} sweeps")
    for backend in ("numpy", "pytorch"):
        limit = options.limit * layer["seconds"]
        command = [sys.executable, __file__] + [options.directory, "--d-k", str(options.d_k), "--layer", str(options.layer), "--seed", str(options.seed)]
        command += ["--threads", str(options.threads), "--child", backend, "--error", str(error), "--seconds", str(limit)]
        threads = {name: str(options.threads) for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
        told = subprocess.run(command, check=True, capture_output=True, text=True, env={**os.environ, **threads}).stdout
        found = json.loads(told.splitlines()[-1])
        ends = "as good" if found["error"] <= error else "ended, still worse"
        print(
            f"tensorly, {backend}: {found['seconds']:8.2f} s, error {found['error']:.5f}, {found['sweeps']} sweeps: {ends}, "
            f"{found['seconds'] / layer['seconds']:.1f} times Headroom's time"
        )


main()
