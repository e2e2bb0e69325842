#!/usr/bin/env python3
"""Runs every file and every network's folder below FOLDER through `forerun inspect`: as it is, packed as .zip and
.tar.gz, cut short at ten lengths and with bits flipped by twenty seeds. A crash, a sanitizer's report, our own fault
(exit 1) or more than ten seconds is a finding, printed with how to make the file again. Meant for a build with
sanitizers; not part of the tests, for it takes an hour on large folders.

  python3 tests/hostile_files.py build/asan/forerun FOLDER [--jobs N] [--keep FOLDER]
"""
import argparse
import collections
import concurrent.futures
import os
import random
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile

SECONDS = 10
CUTS = [0.01, 0.05, 0.1, 0.25, 0.4, 0.5, 0.75, 0.9, 0.99, 0.999]
SEEDS = 20
FOLDER_MARKS = {"saved_model.pb", "config.json", "model_index.json", "model.json"}
FOUND = ("ERROR: AddressSanitizer", "runtime error:", "LeakSanitizer", "stack-overflow", "terminate called")


def ask(program, path, seconds):
    """Exit status, or a word for what went wrong, and the last line of stderr."""
    try:
        done = subprocess.run([program, "inspect", path, "--json"], capture_output=True, timeout=seconds,
                              env={**os.environ, "UBSAN_OPTIONS": "print_stacktrace=1",
                                   "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1"})
    except subprocess.TimeoutExpired:
        return "hang", f"more than {seconds} s"
    text = done.stderr.decode(errors="replace")
    if any(word in text for word in FOUND):
        return "report", text.strip()[:2000]
    if done.returncode not in (0, 2):
        return "crash" if done.returncode < 0 else "own fault", f"exit {done.returncode}: {text.strip()[-500:]}"
    lines = text.strip().splitlines()
    if done.returncode == 2 and (len(lines) != 1 or not lines[0].strip()):
        return "message", f"not one line: {text.strip()[:500]}"
    return done.returncode, lines[-1] if lines else ""


def flipped(data, seed):
    """Up to 16 bits, half of them in the first kilobyte, where headers stand."""
    numbers = random.Random(seed)
    data = bytearray(data)
    for i in range(numbers.randint(1, 16)):
        end = min(len(data), 1024) if i % 2 else len(data)
        data[numbers.randrange(end)] ^= 1 << numbers.randrange(8)
    return bytes(data)


def pack(path, out):
    """The two archives of a file or a folder."""
    name = os.path.basename(path)
    with tarfile.open(os.path.join(out, "packed.tar.gz"), "w:gz", compresslevel=1) as archive:
        archive.add(path, name)
    with zipfile.ZipFile(os.path.join(out, "packed.zip"), "w", zipfile.ZIP_DEFLATED) as archive:
        if os.path.isfile(path):
            archive.write(path, name)
        for folder, _, files in os.walk(path):
            for file in files:
                full = os.path.join(folder, file)
                archive.write(full, os.path.relpath(full, os.path.dirname(path)))
    return [os.path.join(out, "packed.tar.gz"), os.path.join(out, "packed.zip")]


def variants(path, out):
    """Pairs of how it was made and the path to ask about; each is written just before it is asked for."""
    yield "as it is", path
    packed = pack(path, out)
    for one in packed:
        yield "packed as " + os.path.basename(one), one
    sources = [path] if os.path.isfile(path) else []
    for source in sources + packed:
        with open(source, "rb") as file:
            data = file.read()
        if not data:
            continue
        damaged = os.path.join(out, "damaged_" + os.path.basename(source))
        label = "" if source == path else os.path.basename(source) + " "
        for share in CUTS:
            with open(damaged, "wb") as file:
                file.write(data[:int(len(data) * share)])
            yield f"{label}cut at {share}", damaged
        for seed in range(SEEDS):
            with open(damaged, "wb") as file:
                file.write(flipped(data, seed))
            yield f"{label}bits flipped by seed {seed}", damaged


def examine(program, path, seconds, keep):
    counts, findings = collections.Counter(), []
    with tempfile.TemporaryDirectory(prefix="hostile_files_") as out:
        for how, made in variants(path, out):
            status, message = ask(program, made, seconds)
            counts[f"exit {status}" if isinstance(status, int) else status] += 1
            if isinstance(status, int):
                continue
            findings.append(f"{status}: {path}, {how}: {message}")
            if keep and os.path.isfile(made):
                shutil.copy(made, os.path.join(keep, f"{len(findings)}_{os.path.basename(path)}_"
                                                     f"{os.path.basename(made)}"))
    return counts, findings


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("folder")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep", help="a folder for the files that found something")
    parser.add_argument("--seconds", type=float, default=SECONDS)
    arguments = parser.parse_args()
    if arguments.keep:
        os.makedirs(arguments.keep, exist_ok=True)
    paths = []
    for folder, _, files in os.walk(arguments.folder):
        paths += [os.path.join(folder, file) for file in files]
        if FOLDER_MARKS & set(files):
            paths.append(folder)
    total, findings = collections.Counter(), []
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        asked = [pool.submit(examine, os.path.abspath(arguments.program), path, arguments.seconds, arguments.keep)
                 for path in sorted(paths)]
        for done in concurrent.futures.as_completed(asked):
            counts, found = done.result()
            total += counts
            findings += found
            for finding in found:
                print(finding, flush=True)
    print(f"{len(paths)} files and folders, {sum(total.values())} questions: "
          + ", ".join(f"{count} {status}" for status, count in sorted(total.items())))
    return 1 if findings else 0


sys.exit(main())
