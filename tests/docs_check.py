#!/usr/bin/env python3
"""Fails when a page links to a file, picture or heading that does not exist, is too long, or does not open with a
title and a paragraph that says whom it helps. `--self-test` tries the checks on small pages."""
import pathlib
import re
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
LONGEST = 250  # lines
LINK = re.compile(r'!?\[[^\]]*\]\(([^)\s]+)\)')
OTHERS = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")  # pages outside docs/


def without_code(text):
    return re.sub(r"`[^`\n]*`", "", re.sub(r"^```.*?^```", "", text, flags=re.S | re.M))


def anchors(text):
    """The names that links give to headings: lower case, spaces as dashes, no punctuation."""
    heads = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```", "", text, flags=re.S | re.M), flags=re.M)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def faults_of(page, root):
    text = page.read_text(encoding="utf-8")
    lines = text.splitlines()
    faults = []
    if len(lines) > LONGEST:
        faults.append(f"{len(lines)} lines; at most {LONGEST}")
    if not lines or not lines[0].startswith("# "):
        faults.append("the first line is no title")
    opening = next((line for line in lines[1:] if line.strip()), "")
    if not opening[:1].isalpha():
        faults.append("no paragraph after the title")
    for target in LINK.findall(without_code(text)):
        if re.match(r"[a-z]+:", target):  # another site
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if not file.exists():
            faults.append(f"{target} does not exist")
        elif anchor and file.suffix == ".md" and anchor not in anchors(file.read_text(encoding="utf-8")):
            faults.append(f"{target}: no such heading")
    return faults


def check(root):
    pages = sorted((root / "docs").rglob("*.md")) + [root / name for name in OTHERS if (root / name).exists()]
    return [f"{page.relative_to(root)}: {fault}" for page in pages for fault in faults_of(page, root)], len(pages)


def self_test():
    cases = [("# T\n\nFor all.\n", 0), ("# T\n\nFor all. [a](b.md)\n", 1), ("# T\n\nFor all. [a](page.md#t)\n", 0),
             ("# T\n\nFor all. [a](#none)\n", 1), ("# T\n\n| a |\n", 1), ("no title\n\nFor all.\n", 1), ("", 2),
             ("# T\n\nFor all. `[a](b.md)`\n\n```\n[a](b.md)\n```\n", 0), ("# T\n\nFor all.\n" + "x\n" * LONGEST, 1)]
    for text, wanted in cases:
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder).resolve()
            (root / "docs").mkdir()
            (root / "docs/page.md").write_text(text, encoding="utf-8")
            found, _ = check(root)
            if len(found) != wanted:
                sys.exit(f"self-test: {text!r} gave {found}, expected {wanted} faults")
    print(f"docs_check: {len(cases)} small pages judged as they should be")


if __name__ == "__main__":
    if "--self-test" in sys.argv:
        self_test()
        sys.exit(0)
    all_faults, count = check(ROOT)
    print("\n".join(all_faults) if all_faults else f"docs_check: {count} pages hold")
    sys.exit(bool(all_faults))
