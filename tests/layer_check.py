#!/usr/bin/env python3
"""Fails when an #include breaks the order of the layers in src/layers.txt, or when a library that belongs to one layer
is included by another."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')

# Header prefix -> the layers that may include it.
OWNED = {
    "torch/": {"training"}, "ATen/": {"training"}, "c10/": {"training"},
    "cuda": {"profiler"}, "nvml": {"profiler"}, "cublas": {"profiler"}, "cudnn": {"profiler"},
    "sqlite3": {"store"}, "pqxx": {"store"},
    "httplib": {"server"},
    "pybind11": {"python"},
    "protozero": {"readers"},
    "zip.h": {"readers"},
    "xgboost": {"predictors", "training"},
    "CLI/": {"cli", "lab"},
}


def find_faults(files, layers):
    """files: (path below src/, text). Yields one line for each include that is not allowed."""
    order = {layer: index for index, layer in enumerate(layers)}
    for path, text in files:
        layer = path.split("/")[0]
        if "/" not in path:
            continue
        if layer not in order:
            yield f"src/{path}: the folder {layer} is not in src/layers.txt"
            continue
        for number, line in enumerate(text.splitlines(), 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            header = match.group(2)
            target = header.split("/")[0]
            if match.group(1) == '"' and target in order and order[target] > order[layer]:
                yield f"src/{path}:{number}: {layer} includes {header}, but {target} is below it"
            if match.group(1) == '"' and "/" not in header:
                yield f'src/{path}:{number}: include "{layer}/…/{header}" from the src/ root'
            if match.group(1) == '"' and header.startswith(".."):
                yield f"src/{path}:{number}: include {header} from the src/ root"
            for prefix, owners in OWNED.items():
                if header.startswith(prefix) and layer not in owners:
                    yield f"src/{path}:{number}: {header} belongs to {', '.join(sorted(owners))}, not to {layer}"


def self_test():
    layers = ["base", "graph", "readers", "store"]
    good = [("graph/a.cpp", '#include "base/x.hpp"\n#include "graph/b.hpp"\n#include <vector>\n'),
            ("store/s.cpp", "#include <sqlite3.h>\n")]
    bad = [("base/a.cpp", '#include "graph/b.hpp"\n'), ("graph/a.cpp", "#include <sqlite3.h>\n"),
           ("graph/a.cpp", '#include "b.hpp"\n'), ("unknown/a.cpp", ""), ("graph/a.cpp", '#  include "readers/r.hpp"\n')]
    assert not list(find_faults(good, layers)), list(find_faults(good, layers))
    for case in bad:
        assert list(find_faults([case], layers)), case
    print("layer check: its own cases pass")


def main():
    if "--self-test" in sys.argv:
        return self_test()
    layers = (ROOT / "src/layers.txt").read_text().split()
    files = [(str(path.relative_to(ROOT / "src")), path.read_text()) for pattern in ("*.cpp", "*.hpp")
             for path in sorted((ROOT / "src").rglob(pattern))]
    faults = list(find_faults(files, layers))
    for fault in faults:
        print(fault, file=sys.stderr)
    print(f"layer check: {len(files)} files, {len(faults)} faults")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
