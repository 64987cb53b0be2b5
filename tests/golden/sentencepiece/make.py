#!/usr/bin/env python3
"""Trains a small SentencePiece model on sentences made here and writes what it makes of some texts; `pip install sentencepiece`.

    python3 tests/golden/sentencepiece/make.py
"""

import json
from pathlib import Path

import sentencepiece

HERE = Path(__file__).parent
PARTS = [
    ["the", "a", "one", "every"],
    ["old", "quiet", "narrow", "früh", "golden", "unusual"],
    ["river", "owl", "harbour", "lantern", "garden", "stair"],
    ["runs to", "looks at", "returns from", "is nearer than", "belongs with"],
    ["the sea", "the 12 hills", "a café", "some bread", "no one's house"],
]
TEXTS = [
    "the old river runs to the sea",
    "  an owl, two   owls: 12 hills! ",
    "Früh am café — unseen ☃ letters",
    "",
    "golden",
]


def sentences():
    total = 1
    for part in PARTS:
        total *= len(part)
    for number in range(total):
        words = []
        for part in PARTS:
            words.append(part[number % len(part)])
            number //= len(part)
        yield " ".join(words)


sentencepiece.SentencePieceTrainer.train(
    sentence_iterator=sentences(),
    model_prefix=str(HERE / "spiece"),
    vocab_size=58,
    model_type="unigram",
    normalization_rule_name="identity",
    pad_id=0,
    eos_id=1,
    unk_id=2,
    bos_id=-1,
)
(HERE / "spiece.vocab").unlink()
model = sentencepiece.SentencePieceProcessor(model_file=str(HERE / "spiece.model"))
expected = [{"text": text, "ids": model.encode(text) + [model.eos_id()]} for text in TEXTS]
(HERE / "expected.json").write_text(json.dumps(expected, ensure_ascii=False, indent=1) + "\n")
