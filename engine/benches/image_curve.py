#!/usr/bin/env python3
"""Trains the same small ViT in Headroom and in PyTorch, from the same initial weights, and prints both learning curves.

Needs PyTorch and transformers (`pip install torch transformers safetensors`), a release build of Headroom, and the four files of MNIST or
Fashion-MNIST in a folder; nothing else in this repository needs any of them.

    cargo build --release
    python3 engine/benches/image_curve.py --data fashion-mnist --seeds 3 --steps 300

For each seed Headroom draws the weights; they are exported after one step with a learning rate of 1e-12, which changes none of their digits,
and opened as `ViTForImageClassification`. Both then train with AdamW (no weight decay, no dropout, gradients clipped to 1) at a constant
learning rate on batches of their own orders, normalised by mean and deviation of the training images, and are evaluated on all test images at
the same steps. What is compared is the mean of the seeds beside their standard deviation.
"""

import argparse
import gzip
import tempfile
from pathlib import Path

from curves import initial_weights, print_curves, train_headroom

CONFIG = """
format = 1
name = "images"
[data]
kind = "images"
path = "{data}/train-images-idx3-ubyte.gz"
validation_path = "{data}/t10k-images-idx3-ubyte.gz"
[task]
kind = "image_classification"
[model]
kind = "encoder"
patch = {patch}
layers = {layers}
heads = {heads}
width = {width}
feed_forward = {feed_forward}
dropout = 0.0
"""


def idx(path):
    import torch

    raw = gzip.open(path).read()
    dimensions = [int.from_bytes(raw[4 + 4 * i : 8 + 4 * i], "big") for i in range(raw[3])]
    return torch.frombuffer(bytearray(raw[4 + 4 * raw[3] :]), dtype=torch.uint8).view(dimensions)


def train_torch(options, initial, seed):
    import torch
    from torch.nn.functional import cross_entropy
    from transformers import ViTForImageClassification

    torch.set_num_threads(options.threads)
    torch.manual_seed(seed)
    data = Path(options.data)
    pixels = idx(data / "train-images-idx3-ubyte.gz").float().unsqueeze(1) / 255
    labels = idx(data / "train-labels-idx1-ubyte.gz").long()
    held_out = idx(data / "t10k-images-idx3-ubyte.gz").float().unsqueeze(1) / 255
    held_out_labels = idx(data / "t10k-labels-idx1-ubyte.gz").long()
    mean, deviation = pixels.double().mean().float(), pixels.double().std(unbiased=False).float()
    pixels, held_out = (pixels - mean) / deviation, (held_out - mean) / deviation
    model = ViTForImageClassification.from_pretrained(initial)
    optimiser = torch.optim.AdamW(model.parameters(), lr=options.rate, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0)

    def evaluate():
        model.eval()
        loss = right = 0
        with torch.no_grad():
            for rows in torch.arange(len(held_out)).split(500):
                logits = model(held_out[rows]).logits
                loss += cross_entropy(logits, held_out_labels[rows], reduction="sum").item()
                right += (logits.argmax(1) == held_out_labels[rows]).sum().item()
        model.train()
        return loss / len(held_out), right / len(held_out)

    curve, order = {0: evaluate()}, iter(())
    for step in range(1, options.steps + 1):
        rows = next(order, None)
        if rows is None or len(rows) < options.batch:
            order = iter(torch.randperm(len(pixels)).split(options.batch))
            rows = next(order)
        optimiser.zero_grad()
        cross_entropy(model(pixels[rows]).logits, labels[rows]).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        if step % options.every == 0:
            curve[step] = evaluate()
    return curve


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--headroom", default=str(Path(__file__).parents[2] / "target/release/headroom"))
    parser.add_argument("--data", required=True, help="the folder of the four files")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--every", type=int, default=100, help="steps between evaluations")
    parser.add_argument("--rate", type=float, default=1e-3)
    for name, usual in {"patch": 7, "layers": 4, "heads": 4, "width": 64, "feed-forward": 128, "batch": 64}.items():
        parser.add_argument(f"--{name}", type=int, default=usual)
    options = parser.parse_args()
    options.data = str(Path(options.data).resolve())
    curves = {"headroom": [], "torch": []}
    for seed in range(1, options.seeds + 1):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            curves["torch"].append(train_torch(options, initial_weights(options, folder, seed, CONFIG), seed))
            curves["headroom"].append(train_headroom(options, folder, seed, f"train.steps={options.steps}")[1])
    print_curves(curves)


if __name__ == "__main__":
    main()
