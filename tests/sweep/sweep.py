#!/usr/bin/env python3
"""Asks thousands of random questions and checks that the answers make sense, one by one and against each other.

    tests/sweep/sweep.py build/forerun [--count 5000] [--seed 30] [--python FOLDER] [--show 20]

Exits 1 when anything is wrong. The questions follow from the seed and the program's tables. A sample is asked over HTTP,
on the command line and, where FOLDER holds the Python package, in Python: every way must give the same answer.
"""
import argparse
import collections
import json
import os
import subprocess
import sys
import tempfile
import time

import checks
import ways
from questions import ROOT, Asker, Tables


def ask_all(program, questions, environment):
    lines = "".join(json.dumps(q) + "\n" for q in questions)
    done = subprocess.run([program, "predict", "-"], input=lines, stdout=subprocess.PIPE, text=True, check=False,
                          cwd=ROOT, env=environment)
    answers = done.stdout.splitlines()
    if done.returncode != 0 or len(answers) != len(questions):
        sys.exit(f"{program} predict -: status {done.returncode}, {len(answers)} answers to {len(questions)} questions")
    return answers


def strict(text):
    """JSON without NaN and Infinity."""
    return json.loads(text, parse_constant=lambda name: float(name.replace("Infinity", "inf")))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=30)
    parser.add_argument("--python", help="a folder that holds the package `forerun`")
    parser.add_argument("--show", type=int, default=20, help="violations of one kind that are shown")
    arguments = parser.parse_args()
    program = os.path.abspath(arguments.program)
    began = time.time()
    with tempfile.TemporaryDirectory() as empty:  # no predictors or devices of the user's own
        environment = {**os.environ, "XDG_CONFIG_HOME": empty}
        tables = Tables(program)
        asker = Asker(tables, arguments.seed)
        families = list(asker.families(arguments.count))
        questions = [q for _, family in families for q in family]
        raw = ask_all(program, questions, environment)
        answers = [strict(line) for line in raw]
        found = collections.defaultdict(list)
        for question, answer in zip(questions, answers):
            for problem in checks.check_answer(question, answer, tables):
                found["answer"].append((problem, [question]))
        place = 0
        for rule, family in families:
            own = answers[place:place + len(family)]
            place += len(family)
            for low, high, problem in checks.FAMILIES[rule](family, own, tables):
                found[rule].append((problem, [family[low], family[high]]))
        for way, problem, question in ways.compare(program, asker, questions, raw, environment, arguments.python):
            found[way].append((problem, [question]))
    refused = sum("error" in a for a in answers)
    silent = [o["key"] for o in tables.options("predict") if not asker.used.get(o["key"])]
    for kind, problems in found.items():
        for problem, about in problems[:arguments.show]:
            print(f"{kind}: {problem}")
            for question in about:
                print("    " + json.dumps(question))
        if len(problems) > arguments.show:
            print(f"{kind}: {len(problems) - arguments.show} more")
    total = sum(map(len, found.values()))
    print(f"{len(questions)} questions in {len(families)} families, {refused} refused, options never used: "
          f"{', '.join(silent) or 'none'}; {total} violations "
          f"({', '.join(f'{k} {len(v)}' for k, v in found.items()) or 'none'}); {time.time() - began:.0f} s")
    return 1 if total else 0


if __name__ == "__main__":
    sys.exit(main())
