#!/usr/bin/env python3
"""Makes `own.tsv`: 400 ListOps expressions with their values, `label TAB expression` a line.

    python3 tests/golden/listops/make.py

The expressions are drawn here by the rules of the Long Range Arena: a node above the tenth level is an operator with probability
1/4 and else a digit, an operator has two to ten arguments, and what it is is drawn after them. They are evaluated here, too, on
the tree and not on its symbols, so that a mistake in the program's own evaluation cannot hide in the file. Lengths fall into
four bands, of which the last one is the arena's own (501 to 1,999 symbols); half of each is written plainly, as
`[MAX 1 2 ]`, and half in pairs, as the original generator writes it: `( ( ( [MAX 1 ) 2 ) ] )`. No two have the same tree.
"""

import random
import statistics
from pathlib import Path

HERE = Path(__file__).parent
# The least and the greatest number of symbols, and how many expressions have one between them.
BANDS = [(12, 30, 170), (31, 100, 150), (101, 500, 64), (501, 1999, 16)]
LAST_LEVEL = 10
VALUE = {
    "MIN": min,
    "MAX": max,
    "MED": lambda values: int(statistics.median(values)),
    "SM": lambda values: sum(values) % 10,
}


def draw(chance, level=1):
    """A digit, or an operator with its arguments."""
    if level == LAST_LEVEL or chance.random() > 0.25:
        return chance.randrange(10)
    arguments = [draw(chance, level + 1) for _ in range(chance.randint(2, 10))]
    return (chance.choice(list(VALUE)), arguments)


def value(tree):
    if isinstance(tree, int):
        return tree
    operator, arguments = tree
    return VALUE[operator]([value(argument) for argument in arguments])


def length(tree):
    return 1 if isinstance(tree, int) else 2 + sum(map(length, tree[1]))


def levels(tree):
    return 0 if isinstance(tree, int) else 1 + max(map(levels, tree[1]))


def plain(tree):
    if isinstance(tree, int):
        return str(tree)
    operator, arguments = tree
    return " ".join([f"[{operator}", *map(plain, arguments), "]"])


def in_pairs(tree):
    if isinstance(tree, int):
        return str(tree)
    operator, arguments = tree
    text = f"[{operator}"
    for argument in [*map(in_pairs, arguments), "]"]:
        text = f"( {text} {argument} )"
    return text


def main():
    chance = random.Random(20)
    found = {band: {} for band in BANDS}
    while any(len(found[band]) < band[2] for band in BANDS):
        tree = draw(chance)
        for band in BANDS:
            least, greatest, wanted = band
            if least <= length(tree) <= greatest and len(found[band]) < wanted:
                found[band][plain(tree)] = tree
    trees = [tree for band in BANDS for tree in found[band].values()]
    assert max(map(levels, trees)) == LAST_LEVEL - 1, "one is as deep as can be"
    write = [plain, in_pairs]
    lines = [f"{value(tree)}\t{write[number % 2](tree)}\n" for number, tree in enumerate(trees)]
    (HERE / "own.tsv").write_text("".join(lines), encoding="ascii", newline="\n")


main()
