"""Counts lines of product code, comments and tests of a checkout, by crate and module.

    python3 tests/python/count_lines.py [FOLDER] [--modules]

Product code is what is shipped: lines of Rust, CUDA and Python in the crates of `app` and `engine` and `assets` that hold
more than a comment. Tests are what stands below `#[cfg(test)] mod ...`, in files of tests or that are declared so, and in `tests/`.
Blank lines count nowhere.
"""

import re
import sys
from collections import Counter
from pathlib import Path

PRODUCT = ["app/src", "app/*/src", "engine/src", "engine/*/src", "assets"]
ENDINGS = {".rs", ".cu", ".py"}


DECLARED = re.compile(r"#\[cfg\(test\)\]\n\s*(?:pub(?:\([a-z]+\))? )?mod (\w+);")


def is_test_file(path: Path) -> bool:
    names = [*path.parts]
    return any(name in {"tests", "wire_tests", "tests.rs"} or name.endswith("_tests.rs") for name in names)


def declared_tests(folder: Path) -> set[Path]:
    """Files and folders of the modules that are compiled for tests alone."""
    found = set()
    for path in folder.rglob("*.rs"):
        home = path.parent if path.name in {"mod.rs", "lib.rs", "main.rs"} else path.with_suffix("")
        for name in DECLARED.findall(path.read_text(encoding="utf-8")):
            found |= {home / f"{name}.rs", home / name}
    return found


def count(path: Path, is_test: bool) -> Counter:
    found = Counter()
    in_tests, in_docstring = is_test, False
    lines = path.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines):
        text = line.strip()
        if not text:
            continue
        # A module of tests is the last thing in its file.
        if text == "#[cfg(test)]" and number + 1 < len(lines) and lines[number + 1].lstrip().startswith("mod ") and lines[number + 1].rstrip().endswith("{"):
            in_tests = True
        quotes = text.count('"""') if path.suffix == ".py" else 0
        is_comment = text.startswith(("//", "#!") if path.suffix != ".py" else "#") or in_docstring or quotes > 0
        if quotes % 2:
            in_docstring = not in_docstring
        found["tests" if in_tests else "comments" if is_comment else "code"] += 1
    return found


def main() -> None:
    arguments = [argument for argument in sys.argv[1:] if argument != "--modules"]
    root = Path(arguments[0]) if arguments else Path(__file__).resolve().parents[2]
    modules: dict[str, Counter] = {}
    folders = [path.relative_to(root).as_posix() for pattern in PRODUCT for path in sorted(root.glob(pattern))]
    for folder in [*folders, "tests"]:
        for_tests = declared_tests(root / folder)
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in ENDINGS or not path.is_file():
                continue
            inside = path.relative_to(root / folder)
            module = folder if folder == "tests" else f"{folder}/{inside.parts[0].removesuffix(path.suffix)}"
            is_test = folder == "tests" or is_test_file(inside) or not for_tests.isdisjoint([path, *path.parents])
            modules.setdefault(module, Counter()).update(count(path, is_test))
    whole = Counter()
    for module, found in modules.items():
        whole.update(found)
        if "--modules" in sys.argv:
            print(f"{found['code']:8} {found['comments']:8} {found['tests']:8}  {module}")
    print(f"{whole['code']:8} {whole['comments']:8} {whole['tests']:8}  code, comments, tests")


if __name__ == "__main__":
    main()
