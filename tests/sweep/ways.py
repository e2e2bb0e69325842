"""The same questions on the command line, over HTTP and in Python: each must answer as `predict -` does."""


def compare(program, asker, questions, raw, environment, package):
    return []
