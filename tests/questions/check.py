#!/usr/bin/env python3
"""Asks a program the thousand questions beside this file and compares its answers with the recorded ones.

    tests/questions/check.py FORERUN                    exits 1 when a number, a name or a refusal differs
    tests/questions/check.py FORERUN --against OTHER    compares two programs instead
    tests/questions/check.py FORERUN --only 17          shows question 17 (its line) and both answers
    tests/questions/check.py FORERUN --record           says what changes and rewrites answers.jsonl.gz

Compared are the estimates with their intervals, the advice and the capacity. Reports carry six significant digits, so
with the default tolerance any difference that shows in a report counts. Of a refused request only the refusal counts,
not its words. The recorded answers are those of an optimised build on x86-64 with AVX2 and FMA; elsewhere the graph
network's sums round otherwise, and a few answers differ by one in the sixth digit: there, take --tolerance 2e-5.
"""
import argparse
import gzip
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
QUESTIONS = HERE / "questions.jsonl"
ANSWERS = HERE / "answers.jsonl.gz"
SHOWN = 20
LAST_DIGIT = 1.01e-5  # the most that one in the sixth digit can be, relative


def ask(program, questions):
    """The answers of a program, one for each question, without what is not compared."""
    with tempfile.TemporaryDirectory() as empty:  # no predictors or devices of the user's own
        done = subprocess.run([program, "predict", "-"], input="\n".join(questions) + "\n", stdout=subprocess.PIPE,
                              text=True, check=False, cwd=ROOT, env={**os.environ, "XDG_CONFIG_HOME": empty})
    lines = done.stdout.splitlines()
    if done.returncode != 0 or len(lines) != len(questions):
        sys.exit(f"{program}: exit status {done.returncode}, {len(lines)} answers to {len(questions)} questions")
    return [shorten(json.loads(line)) for line in lines]


def shorten(report):
    if "error" in report:
        return {"error": report["error"]["message"]}
    results = []
    for full in report["results"]:
        result = {key: full[key] for key in ("device", "estimates", "advice", "capacity") if key in full}
        result["advice"].get("mig", {}).pop("why", None)  # a sentence made of the numbers
        results.append(result)
    return {"results": results}


def read_answers():
    with gzip.open(ANSWERS, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def write_answers(answers):
    text = "".join(json.dumps(answer, separators=(",", ":")) + "\n" for answer in answers)
    ANSWERS.write_bytes(gzip.compress(text.encode(), mtime=0))


def flatten(value, path=""):
    """Yields (dotted path, number or text) of everything in a tree."""
    if isinstance(value, (dict, list)):
        for key, entry in value.items() if isinstance(value, dict) else enumerate(value):
            yield from flatten(entry, f"{path}.{key}" if path else str(key))
    else:
        yield path, value


def facts_of(answer):
    """(place of the device, device, path) -> value."""
    if "error" in answer:
        return {(0, "-", "answered"): False}
    facts = {(0, "-", "answered"): True}
    for place, result in enumerate(answer["results"]):
        facts.update({(place, result["device"], path): value
                      for path, value in flatten({key: result[key] for key in result if key != "device"})})
    return facts


def distance(before, after):
    """Relative difference of two numbers; infinite where texts differ or one of the two is missing."""
    if before == after:
        return 0.0
    numbers = all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in (before, after))
    return abs(after - before) / max(abs(before), abs(after)) if numbers else float("inf")


def differences(before, after, tolerance, allowed_new):
    """(distance, device, path, before, after) of all that differs; None stands for what is missing."""
    old, new = facts_of(before), facts_of(after)
    if old[0, "-", "answered"] != new[0, "-", "answered"]:
        return [(float("inf"), "-", "answered", before.get("error", "an answer"), after.get("error", "an answer"))]
    found = []
    for key in {**old, **new}:
        if key not in old and allowed_new & set(key[2].split(".")):
            continue
        far = distance(old.get(key), new.get(key))
        if far > tolerance:
            found.append((far, key[1], key[2], old.get(key), new.get(key)))
    return sorted(found, key=lambda row: -row[0])


def line_of(number, row):
    far, device, path, before, after = row
    size = "" if far == float("inf") else f"  ({far:.2g})"
    return f"  {number:5}  {device}  {path}  {before} -> {after}{size}"


def show(number, question, before, after, tolerance):
    print(f"question {number}: {question}")
    for answer, name in ((before, "before"), (after, "after")):
        if "error" in answer:
            print(f"{name}: error: {answer['error']}")
    old, new = facts_of(before), facts_of(after)
    for key in {**old, **new}:
        mark = "*" if distance(old.get(key), new.get(key)) > tolerance else " "
        print(f"{mark} {key[1]}  {key[2]}  {old.get(key)}  {new.get(key)}")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", metavar="FORERUN")
    parser.add_argument("--against", metavar="OTHER", help="compare with this program's answers, not the recorded ones")
    parser.add_argument("--record", action="store_true", help="rewrite the recorded answers")
    parser.add_argument("--all", action="store_true", help="list every question that differs")
    parser.add_argument("--only", metavar="N", type=int, help="show one question and both answers")
    parser.add_argument("--allow-new", metavar="KEY", nargs="+", default=[],
                        help="metrics or advice that may be new; others that are new count as differences")
    parser.add_argument("--tolerance", metavar="X", type=float, default=1e-6, help="relative; default 1e-6")
    options = parser.parse_args()
    for name in ("program", "against"):
        if getattr(options, name):
            setattr(options, name, str(pathlib.Path(getattr(options, name)).resolve()))
    if options.record and (options.against or options.only is not None):
        parser.error("--record goes with neither --against nor --only")
    return options


def main():
    options = parse_arguments()
    questions = QUESTIONS.read_text(encoding="utf-8").splitlines()
    numbers = range(1, len(questions) + 1)
    recorded = [] if options.against or (options.record and not ANSWERS.exists()) else read_answers()
    if options.only is not None:
        if options.only not in numbers:
            sys.exit(f"there are questions 1 to {len(questions)}")
        numbers = [options.only]
        questions = [questions[options.only - 1]]
        recorded = recorded[options.only - 1:options.only]
    after = ask(options.program, questions)
    before = ask(options.against, questions) if options.against else recorded
    if len(before) != len(questions) and not options.record:
        sys.exit(f"{len(questions)} questions, {len(before)} recorded answers: record them anew (--record)")

    found = [(number, differences(old, new, options.tolerance, set(options.allow_new)))
             for number, old, new in zip(numbers, before, after)]
    changed = [(number, rows) for number, rows in found if rows]
    if options.only is not None:
        show(options.only, questions[0], before[0], after[0], options.tolerance)
    refused = sum("error" in answer for answer in after)
    print(f"{len(questions)} questions ({refused} refused), {len(changed)} answers differ")
    worst = sorted(((number, row) for number, rows in changed for row in rows), key=lambda entry: -entry[1][0])
    if worst and options.only is None:
        print(f"the largest of {len(worst)} differences (question, device, what, before -> after):")
        print("\n".join(line_of(number, row) for number, row in worst[:SHOWN]))
        if worst[0][1][0] < LAST_DIGIT:
            print("none is more than one in the sixth digit (see --help on processors without AVX2 and FMA)")
    if options.all and changed:
        print("questions that differ, each with the largest of its differences:")
        print("\n".join(f"{line_of(number, rows[0])}  1 of {len(rows)}" for number, rows in changed))
    if options.record:
        write_answers(after)
        print(f"recorded in {ANSWERS.relative_to(ROOT)}")
        return 0
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
