"""The operators of a sweep's plan: each once, in a shuffled order."""
import json


class Points:
    def __init__(self):
        self.rows, self.seen = [], set()

    def add(self, operator, direction, precision):
        """Whether it was new."""
        row = dict(mode="operator", operator=operator, direction=direction, precision=precision)
        key = json.dumps(row, sort_keys=True)
        if key in self.seen:
            return False
        self.seen.add(key)
        self.rows.append(row)
        return True

    def write(self, path, random, letter, settings=None):
        random.shuffle(self.rows)
        with open(path, "w") as f:
            for i, row in enumerate(self.rows):
                f.write(json.dumps(dict(row, id=f"{letter}{i:05d}", **({"settings": settings} if settings else {}))) + "\n")
