"""What the scripts that draw learning curves beside PyTorch share: how Headroom is set up and run, and how curves are printed."""

import json
import statistics
import subprocess
import sys

TRAINING = """
[train]
batch = {batch}
learning_rate = {rate}
schedule = {{ kind = "constant" }}
weight_decay = 0.0
beta1 = 0.9
beta2 = 0.999
epsilon = 1e-8
clip_norm = 1.0
evaluate_every = {every}
evaluate_batches = 0
stability = {{ kind = "off" }}
[probe]
every = 0
"""


def headroom(options, folder, *arguments):
    """What a command of Headroom prints, over a store in this folder."""
    command = [options.headroom, "--store", str(folder / "store"), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def train_headroom(options, folder, seed, *more):
    """Trains `c.toml`; the run, and step to loss and accuracy of its evaluations."""
    sets = [f"seed={seed}", f"threads={options.threads}", *more]
    out = headroom(options, folder, "train", str(folder / "c.toml"), "--json", "--set", *sets)
    events = [json.loads(line) for line in out.splitlines()]
    run = next(event["run"] for event in events if "run" in event)
    return run, {event["step"]: (event["loss"], event["accuracy"]) for event in events if event["event"] == "evaluated"}


def initial_weights(options, folder, seed, config):
    """Writes `c.toml` and exports the weights that Headroom draws: one step with a learning rate of 1e-12 changes none of their digits."""
    (folder / "c.toml").write_text((config + TRAINING).format(**vars(options)))
    first, _ = train_headroom(options, folder, seed, "train.steps=1", "train.learning_rate=1e-12")
    headroom(options, folder, "export", first, "--to", str(folder / "initial"), "--which", "last")
    return folder / "initial"


def print_curves(curves):
    """Mean and standard deviation over seeds at the steps that both have, as a table."""

    def words(values):
        spread = statistics.stdev(values) if len(values) > 1 else 0.0
        return f"{statistics.mean(values):.4f} ± {spread:.4f}"

    steps = sorted(set(curves["torch"][0]) & set(curves["headroom"][0]))
    print("| step | loss, Headroom | loss, PyTorch | accuracy, Headroom | accuracy, PyTorch |")
    print("|---|---|---|---|---|")
    for step in steps:
        cells = [words([curve[step][place] for curve in curves[who]]) for place in (0, 1) for who in ("headroom", "torch")]
        print("| " + " | ".join([str(step), *cells]) + " |")
    if not steps:
        sys.exit("the curves have no step in common")
