"""Opens model directories with the module that lies beside their weights, and says how far its logits are from those that stand in
`expected.safetensors`. Directories are the arguments; one JSON object a line is the answer."""

import json
import os
import sys

os.environ["HF_HUB_OFFLINE"] = "1"

import torch
import transformers
from safetensors.torch import load_file

transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()
torch.set_num_threads(1)

for directory in sys.argv[1:]:
    with open(os.path.join(directory, "config.json")) as file:
        config = json.load(file)
    (auto,) = [name for name in config["auto_map"] if name != "AutoConfig"]
    model, loaded = getattr(transformers, auto).from_pretrained(
        directory, trust_remote_code=True, output_loading_info=True, dtype=torch.float64
    )
    found = {"directory": directory, "class": type(model).__name__}
    found["wrong"] = {key: sorted(names) for key, names in loaded.items() if names}
    io = load_file(os.path.join(directory, "expected.safetensors"))
    inputs = {name: tensor for name, tensor in io.items() if name != "logits"}
    model.eval()
    with torch.no_grad():
        output = model(**inputs)
    if "logits" in output:
        logits = output.logits
    elif "last_hidden_state" in output:
        logits = output.last_hidden_state
    else:
        logits = torch.stack([output.start_logits, output.end_logits], dim=-1)
    expected = io["logits"].reshape(logits.shape)
    found["error"] = ((logits - expected).abs().max() / expected.abs().max()).item()
    print(json.dumps(found), flush=True)
