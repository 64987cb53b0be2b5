"""Goldens of the tokenizers of BLEU, by sacrebleu 2.6.

    python tests/python/bleu_tokenizers.py > tests/golden/bleu_tokenizers.json

Random texts of several scripts, each with its words by `13a`, `intl`, `zh` and `char`, and the BLEU of all of them
against shuffled copies.
"""

import json
import random
import sys

import sacrebleu
from sacrebleu.metrics.bleu import BLEU, _get_tokenizer

NAMES = ["13a", "intl", "zh", "char"]

RANGES = [
    (0x20, 0x7E), (0xA0, 0x17F), (0x370, 0x3FF), (0x410, 0x44F), (0x5D0, 0x5EA), (0x660, 0x669), (0x900, 0x97F),
    (0x2000, 0x206F), (0x20A0, 0x20BF), (0x2190, 0x21FF), (0x2460, 0x24FF), (0x2600, 0x26FF), (0x2F80, 0x2FA1),
    (0x3000, 0x30FF), (0x3400, 0x3410), (0x4E00, 0x4E40), (0x9FA0, 0x9FC5), (0xAC00, 0xAC40), (0xF900, 0xF910),
    (0xFF00, 0xFFEF), (0x1F600, 0x1F640), (0x20000, 0x20010),
]


def letter(rng):
    kind = rng.random()
    if kind < 0.35:
        return rng.choice("abcXYZ 0123456789")
    if kind < 0.6:
        return rng.choice(" .,-'\"!?;:()&%$/+")
    if kind < 0.63:
        return rng.choice(["&quot;", "&amp;", "<skipped>", "\u3000", "\u00a0", "\t"])
    low, high = rng.choice(RANGES)
    return chr(rng.randint(low, high))


def main():
    rng = random.Random(46)
    texts = []
    while len(texts) < 120:
        text = "".join(letter(rng) for _ in range(rng.randint(3, 30))).strip()
        if text:
            texts.append(text)
    references = []
    for text in texts:
        letters = list(text)
        for _ in range(rng.randint(0, 3)):
            letters[rng.randrange(len(letters))] = letter(rng)
        references.append("".join(letters))
    tokenizers = {name: _get_tokenizer(name)() for name in NAMES}
    found = {
        "sacrebleu": sacrebleu.__version__,
        "texts": texts,
        "references": references,
        "words": {name: [tokenizer(text.rstrip()).split() for text in texts] for name, tokenizer in tokenizers.items()},
        "bleu": {name: BLEU(tokenize=name).corpus_score(texts, [references]).score for name in NAMES},
    }
    json.dump(found, sys.stdout, ensure_ascii=True, separators=(",", ":"))
    print()


if __name__ == "__main__":
    main()
