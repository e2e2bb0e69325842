#!/usr/bin/env python3
"""Asks questions as a stranger would, keeps what the terminal shows, and checks the sentence that answers.

    tests/transcripts/transcripts.py FORERUN [FOLDER]      FOLDER: where the transcripts go (default: a temporary one)

Each answer must fit a screen: 100 columns, 50 lines. Numbers may move with every predictor; the sentence's form may not.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
NETWORK = "tests/fixtures/onnx/mobilenet_v2.onnx"
NUMBER = r"[\d.]+(e[+-]\d+)?"
# name: (arguments, standard input, exit status, what the answer says)
QUESTIONS = {
    "a-gpu-for-50-chat-users": (
        "predict meta-llama/Llama-3.1-8B --device all --users 50 --fits-only --sort usd_per_hour --top 8", "", 0,
        rf"Cheapest that holds: [\w-]+ at \${NUMBER}/h \(\d+ % sure\); fastest: [\w-]+, {NUMBER} tokens/s.*; most frugal: "
        rf"[\w-]+, {NUMBER} J per token\. \d+ of \d+ devices hold: first token at most 2000 ms for 90 % of requests, each "
        r"next token at most 200 ms for 90 % of requests\."),
    "thirty-frames-on-an-l4": (
        f"predict {NETWORK} --device l4 --batch 1 --fps 30", "", 0,
        rf"Yes: l4 holds: at least 30 frames/s \(\d+ % sure\), at \${NUMBER} an hour\."),
    "a-network-too-large": (
        "predict llama-3-70b --device h100-sxm,a100-sxm-80gb --concurrency 4 --max-usd-per-hour 100", "", 0,
        r"None of the 2 devices holds \(price at most 100 \$/h\)\. Nearest: [\w-]+: needs \d+ GB, has .* GB; needs \d, or (fp8|int8|int4) "
        r"fits\."),
    "a-schedulers-lines": (
        "predict - --strict",
        '{"id": "job-1", "model": "resnet50", "device": "l4,t4", "batch": 8, "max_latency_ms": 50}\n'
        '{"id": "job-2", "model": "resnet5", "device": "l4"}\n', 2,
        r'"id":"job-1",.*"verdict":\{"text":"Cheapest that holds: .*\n.*"id":"job-2","error":\{"message":.*did you mean '
        r"'resnet50'.*\"kind\":\"not_found\",\"line\":2"),
    "a-build-that-must-stay-fast": (
        f"predict {NETWORK} --device l4 --batch 1 --assert latency_ms<0.001", "", 3,
        rf"l4: latency_ms<0.001 does not hold: it is {NUMBER}"),
    "two-networks-side-by-side": (
        f"compare resnet50 {NETWORK} --device l4 --batch 8", "", 0,
        rf"l4: B takes {NUMBER} ms, {NUMBER} % less than A's {NUMBER} ms: "),
}


def ask(program, arguments, text):
    with tempfile.TemporaryDirectory() as empty:  # no defaults, predictors or devices of the user's own
        environment = {**os.environ, "XDG_CONFIG_HOME": empty, "COLUMNS": "100"}
        return subprocess.run([program, *arguments.split()], input=text, capture_output=True, text=True, check=False,
                              cwd=ROOT, env=environment)


def problems_of(name, done, status, sentence):
    shown = done.stdout + done.stderr
    flat = shown if name == "a-schedulers-lines" else re.sub(r"\s+", " ", shown)
    if done.returncode != status:
        yield f"exit status {done.returncode}, not {status}: {done.stderr.strip()}"
    if not re.search(sentence, flat):
        yield f"does not say {sentence!r}"
    if name == "a-schedulers-lines":
        return
    lines = shown.splitlines()
    if len(lines) > 50:
        yield f"{len(lines)} lines do not fit a screen"
    for line in lines:
        if len(line) > 100:
            yield f"wider than 100 columns: {line}"


def main():
    program = os.path.abspath(sys.argv[1])
    folder = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    failed = False
    for name, (arguments, text, status, sentence) in QUESTIONS.items():
        done = ask(program, arguments, text)
        (folder / f"{name}.txt").write_text(f"$ forerun {arguments}\n{done.stdout}{done.stderr}", encoding="utf-8")
        for problem in problems_of(name, done, status, sentence):
            failed = True
            print(f"{name}: {problem}\n{done.stdout[:3000]}{done.stderr}")
    print(f"transcripts of {len(QUESTIONS)} questions in {folder}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
