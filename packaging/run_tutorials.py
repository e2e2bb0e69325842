#!/usr/bin/env python3
"""Runs every `forerun` command line of docs/tutorials and docs/getting-started.md: each must answer. Argument: the program."""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
NOT_RUN = ("serve", "manual")  # does not end by itself; named in passing


def commands_of(text):
    for block in re.findall(r"^```(?:sh|bash)?\n(.*?)^```", text, flags=re.S | re.M):
        joined = re.sub(r"\\\n\s*", "", block)
        lines = joined.splitlines()
        if any(line.startswith("for ") for line in lines):
            yield joined
            continue
        for line in lines:
            line = line.removeprefix("$ ")
            if re.match(r"(build/)?forerun ", line):
                yield line


def main():
    program = pathlib.Path(sys.argv[1]).resolve()
    count = 0
    for page in [*sorted((ROOT / "docs/tutorials").glob("*.md")), ROOT / "docs/getting-started.md", ROOT / "docs/choose-a-gpu.md"]:
        for command in commands_of(page.read_text(encoding="utf-8")):
            name = re.search(r"forerun (\S+)", command)
            if not name or name.group(1) in NOT_RUN or "FILE" in command or "model.onnx" in command or "my-gpu" in command:
                continue
            run = subprocess.run(["bash", "-eo", "pipefail", "-c", f"forerun() {{ {program} \"$@\"; }}\n" +
                                  command.replace("build/forerun", "forerun")], capture_output=True, text=True, timeout=300)
            if run.returncode or not run.stdout.strip() or '{"error"' in run.stdout:
                sys.exit(f"{page.relative_to(ROOT)}: {command}\n{run.stderr or run.stdout}")
            count += 1
    print(f"{count} command lines of the tutorials answer")


main()
