#!/usr/bin/env python3
"""Fails when an #include breaks the order of folders in src/layers.txt and lab/layers.txt, when sub-folders of one
folder include each other without a rule, or when a folder includes a library that another one owns."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
SUFFIXES = (".cpp", ".hpp", ".cu", ".cuh", ".h")
TREES = ("src", "lab")

# Header prefix -> the folders (or sub-folders) that may include it.
OWNED = {
    "torch/": {"training/gnn", "evaluation/gnn", "commands/gnn"}, "ATen/": {"training/gnn"}, "c10/": {"training/gnn"},
    "gloo/": {"training/gnn"}, "nccl": {"training/gnn"},
    "cuda": {"profiler"}, "nvml": {"profiler"}, "cublas": {"profiler"}, "cudnn": {"profiler"},
    "sqlite3": {"store"}, "pqxx": {"store"},
    "pybind11": {"python"},
    "protozero": {"readers"},
    "xgboost": {"training"},
    "CLI/": {"cli", "commands"},
}


class Layers:
    """What layers.txt says. One line per folder, in order; under it, indented, its sub-folders with what each may include
    or may not: `gnn: roofline` a sibling sub-folder that it may, `ship: -training` a folder that it must not include."""

    def __init__(self, texts):
        """texts: (tree, text of its layers.txt), in order. A line `lab/store` in src/layers.txt gives that folder its
        place among those of src/; lab/layers.txt then lists it only for its sub-folders."""
        self.order, self.tree, self.siblings, self.banned = {}, {}, {}, {}
        for tree, text in texts:
            folder = None
            for line in text.splitlines():
                line = line.split("#")[0].rstrip()
                if not line:
                    continue
                name, _, allowed = line.strip().partition(":")
                words = allowed.split()
                if line[0].isspace():
                    place = f"{folder}/{name}"
                else:
                    owner, _, folder = name.rpartition("/")
                    place = folder
                    if folder not in self.order:
                        self.order[folder] = len(self.order)
                        self.tree[folder] = owner or tree
                self.siblings[place] = {word for word in words if word[0] != "-"}
                self.banned[place] = self.banned.get(folder, set()) | {word[1:] for word in words if word[0] == "-"}

    def fault(self, tree, path, header, quoted):
        """Why `path` (from the root of its tree) may not include `header`, or None."""
        layer, sub = split(path)
        place = f"{layer}/{sub}" if sub else layer
        for prefix, owners in OWNED.items():
            if header.startswith(prefix) and header.split("/")[0] not in self.order and not owners & {layer, place}:
                return f"{header} belongs to {', '.join(sorted(owners))}, not to {place}"
        if not quoted:
            return None
        if "/" not in header or header.startswith("."):
            return f'include "{header}" by its path from the root of {tree}/'
        target, target_sub = split(header)
        if target not in self.order:
            return None
        if self.order[target] > self.order[layer]:
            return f"{layer} includes {header}, but {target} comes after it"
        if target in self.banned.get(place, ()):
            return f"{place} includes {header}, but its rule forbids {target}"
        if target == layer and sub and target_sub and target_sub != sub and target_sub not in self.siblings[place]:
            return f"{place} includes {header}, but no rule lets it include {target}/{target_sub}"
        return None


def split(path):
    """(folder, sub-folder or nothing) of a file's path from its tree's root."""
    parts = path.split("/")
    return parts[0], parts[1] if len(parts) > 2 else ""


def find_faults(files, layers):
    """files: (tree, path below it, text). Yields one line for each file in an unknown place and each forbidden include."""
    for tree, path, text in files:
        layer, sub = split(path)
        if "/" not in path:
            continue
        if layers.tree.get(layer) != tree:
            yield f"{tree}/{path}: the folder {layer} is not in {tree}/layers.txt"
            continue
        if sub and f"{layer}/{sub}" not in layers.siblings:
            yield f"{tree}/{path}: the sub-folder {sub} is not below {layer} in {tree}/layers.txt"
            continue
        for number, line in enumerate(text.splitlines(), 1):
            match = INCLUDE.match(line)
            fault = match and layers.fault(tree, path, match.group(2), match.group(1) == '"')
            if fault:
                yield f"{tree}/{path}:{number}: {fault}"


def self_test():
    layers = Layers([("src", "base\ngraph\nreaders\n  onnx:\n  hf: onnx  # a comment\nlab/store\nservice\n"),
                     ("lab", "profiler: -store\n  cuda:\nstore\n  sql:\ntraining\n  gnn:\nevaluation\n  gnn:\n  ship: -training\n")])
    good = [("src", "graph/a.cpp", '#include "base/x.hpp"\n#include "graph/b.hpp"\n#include <vector>\n'),
            ("src", "readers/hf/a.cpp", '#include "readers/onnx/b.hpp"\n#include "readers/hf/c/d.hpp"\n#include "readers/e.hpp"\n'),
            ("src", "readers/reader.cpp", '#include "readers/hf/b.hpp"\n'),
            ("src", "service/a.cpp", '#include "store/b.hpp"\n'),
            ("lab", "store/sql/s.cpp", "#include <sqlite3.h>\n"),
            ("lab", "profiler/cuda/a.cu", '#include <cuda_runtime.h>\n#include "base/x.hpp"\n'),
            ("lab", "evaluation/gnn/a.cpp", '#include <torch/torch.h>\n#include "training/gnn/b.hpp"\n#include "service/x.hpp"\n')]
    bad = [("src", "base/a.cpp", '#include "graph/b.hpp"\n'), ("src", "graph/a.cpp", "#include <sqlite3.h>\n"),
           ("src", "graph/a.cpp", '#include "b.hpp"\n'), ("src", "graph/a.cpp", '#include "../b.hpp"\n'),
           ("src", "unknown/a.cpp", ""), ("src", "readers/unknown/a.cpp", ""), ("src", "store/a.cpp", ""),
           ("src", "graph/a.cpp", '#  include "readers/r.hpp"\n'),
           ("src", "readers/onnx/a.cpp", '#include "readers/hf/b.hpp"\n'),
           ("src", "readers/a.cpp", '#include "store/b.hpp"\n'), ("src", "service/a.cpp", '#include "training/b.hpp"\n'),
           ("lab", "store/a.cpp", '#include "service/b.hpp"\n'), ("lab", "training/a.cpp", '#include "evaluation/b.hpp"\n'),
           ("lab", "evaluation/ship/a.cpp", '#include "training/gnn/b.hpp"\n'),
           ("lab", "evaluation/a.cpp", "#include <torch/torch.h>\n"),
           ("lab", "training/a.cu", "#include <cuda_runtime.h>\n"), ("lab", "profiler/cuda/a.cu", '#include "store/b.hpp"\n')]
    for case in good:
        assert not list(find_faults([case], layers)), list(find_faults([case], layers))
    for case in bad:
        assert list(find_faults([case], layers)), case
    print("layer check: its own cases pass")


def main():
    if "--self-test" in sys.argv:
        return self_test()
    layers = Layers([(tree, (ROOT / tree / "layers.txt").read_text()) for tree in TREES])
    files = [(tree, str(path.relative_to(ROOT / tree)), path.read_text()) for tree in TREES
             for path in sorted((ROOT / tree).rglob("*")) if path.suffix in SUFFIXES]
    faults = list(find_faults(files, layers))
    for fault in faults:
        print(fault, file=sys.stderr)
    print(f"layer check: {len(files)} files, {len(faults)} faults")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
