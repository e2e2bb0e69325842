"""The same questions on the command line, over HTTP and in Python: each must answer as `predict -` does."""
import http.client
import json
import os
import re
import subprocess
import sys

from questions import ROOT

PER_COMMAND = 25  # questions asked by starting the program anew
PER_ROUTE = 300
IN_PYTHON = 300
LOCAL = ("device_file", "store")  # options that only the user's own machine has


def flags(options, question):
    """The command line of a question."""
    words = []
    for option in options:
        value = question.get(option["key"])
        if value is None or value is False:
            continue
        name = "--" + option["name"]
        if option["kind"] == "flag":
            words.append(name)
        elif option["kind"] == "dims":
            words += [word for key, size in value.items() for word in (name, f"{key}={size}")]
        elif option["kind"] == "shapes":
            words += [word for key, shape in value.items() for word in (name, f"{key}={'x'.join(map(str, shape))}")]
        else:
            words += [name, str(value)]
    return words


def answer_of(text):
    """Only the command line adds every runtime where one device is asked for."""
    answer = json.loads(text)
    for result in answer.get("results", []):
        result.pop("runtimes", None)
        result.pop("runtime_bounds", None)
    return answer


def on_the_command_line(program, asker, questions, raw, environment):
    options = asker.tables.options("predict")
    for place in asker.rng.sample(range(len(questions)), PER_COMMAND):
        question = questions[place]
        done = subprocess.run([program, "predict", question["model"], "--json", *flags(options, question)],
                              capture_output=True, text=True, check=False, cwd=ROOT, env=environment)
        refused = "error" in json.loads(raw[place])
        if refused != (done.returncode == 2) or done.returncode not in (0, 2):
            yield f"exit status {done.returncode}, {done.stderr.strip()}", question
        elif not refused and answer_of(done.stdout) != answer_of(raw[place]):
            yield "the command line answers otherwise", question
    for command in asker.tables.asking():
        own = {option["key"] for option in asker.tables.options(command)}
        for _ in range(PER_COMMAND):
            question = asker.base(command)
            words = flags(asker.tables.options(command), {k: v for k, v in question.items() if k in own})
            done = subprocess.run([program, command, question["model"], "--json", *words], capture_output=True,
                                  text=True, check=False, cwd=ROOT, env=environment)
            if done.returncode not in (0, 2) or (done.returncode == 2) != bool(done.stderr):
                yield f"{command}: exit status {done.returncode}, {done.stderr.strip()}", question
            elif re.search(r":-?(nan|inf|NaN|Infinity)\b", done.stdout):
                yield f"{command}: a number that is none", question


class Server:
    def __init__(self, program, environment):
        self.process = subprocess.Popen([program, "serve", "--port", "0", "--access-log", "off"], stderr=subprocess.PIPE, text=True, cwd=ROOT,
                                        env=environment)
        self.port = None
        for line in self.process.stderr:
            found = re.search(r"http://[^ :]+:(\d+)", line)
            if found:
                self.port = int(found.group(1))
                break
        if self.port is None:
            sys.exit("forerun serve does not say where it listens")
        self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)

    def ask(self, method, path, body=None):
        self.connection.request(method, path, body, {"Content-Type": "application/json"} if body else {})
        answer = self.connection.getresponse()
        return answer.status, answer.read().decode()

    def stop(self):
        self.connection.close()
        self.process.terminate()
        self.process.wait(20)
        self.process.stderr.close()


def command_of(path):
    """The command that answers as a route does."""
    return {"nodes": "inspect"}.get(name := path.rsplit("/", 1)[-1], name)


def over_http(program, asker, questions, raw, environment):
    shipped = {network["name"] for network in asker.tables.networks}
    askable = [i for i, q in enumerate(questions) if q["model"] in shipped and not any(k in q for k in LOCAL)]
    server = Server(program, environment)
    try:
        routes = json.loads(server.ask("GET", "/openapi.json")[1])["paths"]
        for path, methods in routes.items():
            for method in methods:
                if method == "get":
                    path = path.replace("{id}", asker.rng.choice(asker.gpus))
                    status, body = server.ask("GET", path)
                    if status not in (200, 404):  # 404: measurements, without a store
                        yield f"GET {path}: {status} {body[:200]}", {}
                    continue
                for place in asker.rng.sample(askable, min(PER_ROUTE, len(askable))):
                    question = questions[place]
                    if path != "/v1/predict":
                        own = {option["key"] for option in asker.tables.options(command_of(path))}
                        question = {k: v for k, v in question.items() if k in own or k == "model"}
                    status, body = server.ask("POST", path, json.dumps(question))
                    refused = 400 <= status < 500
                    if status != 200 and not refused:
                        yield f"POST {path}: {status} {body[:200]}", question
                    elif path == "/v1/predict" and refused != ("error" in json.loads(raw[place])):
                        yield f"POST {path}: {status}, `predict -` says {raw[place][:200]}", question
                    elif path == "/v1/predict" and not refused and body.strip() != raw[place]:
                        yield f"POST {path} answers otherwise", question
    finally:
        server.stop()


PYTHON = """
import json, sys
import forerun
for line in sys.stdin:
    question = json.loads(line)
    model = question.pop("model")
    try:
        answer = forerun.predict(model, **question).to_dict()
    except forerun.ForerunError as error:
        answer = {"error": {"message": str(error)}}
    print(json.dumps(answer), flush=True)
"""


def in_python(asker, questions, raw, environment, package):
    places = asker.rng.sample(range(len(questions)), IN_PYTHON)
    lines = "".join(json.dumps(questions[p]) + "\n" for p in places)
    done = subprocess.run([sys.executable, "-c", PYTHON], input=lines, capture_output=True, text=True, check=False,
                          cwd=ROOT, env={**environment, "PYTHONPATH": package})
    answers = done.stdout.splitlines()
    if done.returncode != 0 or len(answers) != len(places):
        yield f"{len(answers)} answers to {len(places)} questions: {done.stderr.strip()[-400:]}", {}
        return
    for place, line in zip(places, answers):
        answer, wanted = json.loads(line), json.loads(raw[place])
        if ("error" in answer) != ("error" in wanted) or ("error" not in wanted and answer != wanted):
            yield "Python answers otherwise", questions[place]


def compare(program, asker, questions, raw, environment, package):
    """Yields (way, what is wrong, question)."""
    for problem in on_the_command_line(program, asker, questions, raw, environment):
        yield ("command line", *problem)
    for problem in over_http(program, asker, questions, raw, environment):
        yield ("HTTP", *problem)
    if package:
        for problem in in_python(asker, questions, raw, environment, os.path.abspath(package)):
            yield ("Python", *problem)
