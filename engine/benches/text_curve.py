#!/usr/bin/env python3
"""Trains the same small BERT on a table of sentences in Headroom and in PyTorch, and prints both learning curves; or times the steps of
fine-tuning one of BERT-base's shapes in both.

Needs PyTorch and transformers (`pip install torch transformers safetensors`), a release build of Headroom, and SST-2's `train.tsv` (or
`train.tsv.gz`) and `dev.tsv` in a folder; nothing else in this repository needs any of them.

    cargo build --release
    python3 engine/benches/text_curve.py --data SST-2 --seeds 3 --steps 600
    python3 engine/benches/text_curve.py --data SST-2 --speed --layers 12 --heads 12 --width 768 --feed-forward 3072 --batch 16 --length 128

For each seed Headroom learns the word pieces and draws the weights; they are exported after one step with a learning rate of 1e-12, which
changes none of their digits, and opened as `BertForSequenceClassification`. Both then train with AdamW (no weight decay, no dropout, gradients
clipped to 1) at a constant learning rate and are evaluated on all held-out rows at the same steps. Headroom puts rows of almost equal lengths
into a batch; PyTorch draws rows at random and pads them to the longest of the batch, as `transformers` does, or groups them too (`--grouped`).

`--speed` takes turns (`--rounds`): some steps here, as many there, from the same weights, on rows of the same table. What is compared is the mean
time of a step, since steps differ with the lengths of their rows; how much of PyTorch's positions is padding stands beside it.
"""

import argparse
import gzip
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from curves import initial_weights, print_curves, train_headroom

CONFIG = """
format = 1
name = "sentences"
[data]
kind = "table"
path = "{train}"
validation_path = "{held_out}"
text = ["sentence"]
label = "label"
sequence_length = {length}
tokenizer = {{ kind = "word_piece", vocabulary = {vocabulary} }}
[task]
kind = "classification"
[model]
kind = "encoder"
layers = {layers}
heads = {heads}
width = {width}
feed_forward = {feed_forward}
norm = "post"
dropout = 0.0
"""

# Steps of a turn that are not counted: memory is touched for the first time.
WARM_UP = 3


def rows_of(path):
    text = gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else open(path, encoding="utf-8")
    with text:
        cells = [line.rstrip("\r\n").split("\t") for line in text]
    sentence, label = cells[0].index("sentence"), cells[0].index("label")
    return [(row[sentence].strip(), int(row[label])) for row in cells[1:] if row[sentence].strip()]


class Torch:
    """The same model, rows and optimiser."""

    def __init__(self, options, initial, seed):
        import torch
        from transformers import AutoTokenizer, BertForSequenceClassification

        torch.set_num_threads(options.threads)
        torch.manual_seed(seed)
        self.torch, self.options = torch, options
        tokenizer = AutoTokenizer.from_pretrained(initial)

        def encoded(rows):
            ids = tokenizer([text for text, _ in rows], truncation=True, max_length=options.length)["input_ids"]
            return [torch.tensor(row) for row in ids], torch.tensor([label for _, label in rows])

        self.rows, self.held_out = encoded(rows_of(Path(options.train))), encoded(rows_of(Path(options.held_out)))
        self.model = BertForSequenceClassification.from_pretrained(initial, attn_implementation="eager")
        self.model.train()
        self.optimiser = torch.optim.AdamW(
            self.model.parameters(), lr=options.rate, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0
        )
        self.order, self.computed, self.padding = iter(()), 0, 0

    def batch(self, rows, places):
        ids, labels = rows
        ids = [ids[place] for place in places]
        padded = self.torch.nn.utils.rnn.pad_sequence(ids, batch_first=True)
        lengths = self.torch.tensor([len(row) for row in ids])
        mask = self.torch.arange(padded.shape[1]).unsqueeze(0) < lengths.unsqueeze(1)
        return padded, mask.long(), labels[places]

    def epoch(self):
        """Batches of rows in random order; with --grouped of almost equal lengths, among 50 batches at a time, as `transformers` groups them."""
        order, batch = self.torch.randperm(len(self.rows[0])), self.options.batch
        if not self.options.grouped:
            return iter(order.split(batch))
        batches = []
        for some in order.split(50 * batch):
            batches += self.torch.tensor(sorted(some.tolist(), key=lambda row: len(self.rows[0][row]))).split(batch)
        whole = [rows for rows in batches if len(rows) == batch]
        return iter([whole[place] for place in self.torch.randperm(len(whole)).tolist()])

    def step(self):
        places = next(self.order, None)
        if places is None or len(places) < self.options.batch:
            self.order = self.epoch()
            places = next(self.order)
        ids, mask, labels = self.batch(self.rows, places)
        self.computed += mask.numel()
        self.padding += mask.numel() - int(mask.sum())
        self.optimiser.zero_grad()
        loss = self.torch.nn.functional.cross_entropy(self.model(input_ids=ids, attention_mask=mask).logits, labels)
        loss.backward()
        self.torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimiser.step()

    def evaluate(self):
        from torch.nn.functional import cross_entropy

        self.model.eval()
        loss = right = 0
        with self.torch.no_grad():
            for places in self.torch.arange(len(self.held_out[0])).split(64):
                ids, mask, labels = self.batch(self.held_out, places)
                logits = self.model(input_ids=ids, attention_mask=mask).logits
                loss += cross_entropy(logits, labels, reduction="sum").item()
                right += (logits.argmax(1) == labels).sum().item()
        self.model.train()
        return loss / len(self.held_out[0]), right / len(self.held_out[0])

    def curve(self):
        curve = {}
        for step in range(1, self.options.steps + 1):
            self.step()
            if step % self.options.every == 0:
                curve[step] = self.evaluate()
        return curve


def curves(options):
    found = {"headroom": [], "torch": []}
    for seed in range(1, options.seeds + 1):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            found["torch"].append(Torch(options, initial_weights(options, folder, seed, CONFIG), seed).curve())
            found["headroom"].append(train_headroom(options, folder, seed, f"train.steps={options.steps}")[1])
    print_curves(found)


def step_secs_of_headroom(options, folder, seed, steps):
    """Mean time of a step: from the event of the last step of the warm-up, or the next that is told, to that of the last."""
    # No evaluation or checkpoint falls between the steps.
    sets = [f"seed={seed}", f"threads={options.threads}", f"train.steps={steps}"]
    sets += ["train.evaluate_every=1000000", "train.evaluate_batches=1", "train.checkpoint_every=1000000"]
    command = [options.headroom, "--store", str(folder / "store"), "train", str(folder / "c.toml"), "--json", "--set", *sets]
    told = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        for line in process.stdout:
            event = json.loads(line)
            if event["event"] == "step" and event["step"] >= WARM_UP:
                told.append((event["step"], time.perf_counter()))
    if process.returncode != 0 or len(told) < 2:
        sys.exit("Headroom did not train")
    (first, began), (last, ended) = told[0], told[-1]
    return (ended - began) / (last - first)


def speed(options):
    steps = options.steps + WARM_UP
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        torch = Torch(options, initial_weights(options, folder, 1, CONFIG), 1)
        ours, theirs, ratios = [], [], []
        for turn in range(1, options.rounds + 1):
            ours.append(step_secs_of_headroom(options, folder, turn, steps))
            for _ in range(WARM_UP):
                torch.step()
            began = time.perf_counter()
            for _ in range(options.steps):
                torch.step()
            theirs.append((time.perf_counter() - began) / options.steps)
            ratios.append(ours[-1] / theirs[-1])
            print(f"turn {turn}: Headroom {ours[-1] * 1e3:.0f} ms, PyTorch {theirs[-1] * 1e3:.0f} ms, {ratios[-1]:.3f}", flush=True)
    share = torch.padding / torch.computed
    print(f"medians: Headroom {statistics.median(ours) * 1e3:.0f} ms, PyTorch {statistics.median(theirs) * 1e3:.0f} ms, "
          f"ratio {statistics.median(ratios):.3f}; padding of PyTorch's batches {share:.1%}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--headroom", default=str(Path(__file__).parents[2] / "target/release/headroom"))
    parser.add_argument("--data", required=True, help="the folder of train.tsv (or train.tsv.gz) and dev.tsv")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=600, help="of a curve, or of a turn with --speed")
    parser.add_argument("--every", type=int, default=200, help="steps between evaluations")
    parser.add_argument("--rate", type=float, default=5e-4)
    parser.add_argument("--length", type=int, default=64, help="tokens of the longest row")
    parser.add_argument("--vocabulary", type=int, default=4096)
    parser.add_argument("--grouped", action="store_true", help="PyTorch puts rows of almost equal lengths into a batch, too")
    parser.add_argument("--speed", action="store_true", help="time steps in place of drawing curves")
    parser.add_argument("--rounds", type=int, default=3, help="turns of --speed")
    for name, usual in {"layers": 2, "heads": 4, "width": 128, "feed-forward": 512, "batch": 32}.items():
        parser.add_argument(f"--{name}", type=int, default=usual)
    options = parser.parse_args()
    folder = Path(options.data).resolve()
    packed = folder / "train.tsv.gz"
    options.train, options.held_out = str(packed if packed.is_file() else folder / "train.tsv"), str(folder / "dev.tsv")
    (speed if options.speed else curves)(options)


if __name__ == "__main__":
    main()
