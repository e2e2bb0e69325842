#!/usr/bin/env python3
"""Fails when a function in the core is longer than 80 lines or has more than 25 branches, or a file more than 400 lines.

Functions are found by matching braces, branches by counting if, for, while, case, catch, ?:, && and || in them: an
approximation that needs no compiler."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ("analysis", "features", "predictors", "parallel", "serving", "service")
MAX_FUNCTION_LINES, MAX_BRANCHES, MAX_FILE_LINES = 80, 25, 400

# Path below src/ -> why it may exceed the limits. A name that matches no file is a fault, so the list cannot go stale.
KERNELS = "the kernel list becomes lowering rules, one a file"
MODEL = "the two analytic models of a kernel become one"
MEMORY = "liveness and workspaces become a layer"
EXEMPT = {
    "analysis/kernel_builder.hpp": KERNELS, "analysis/kernel_compositions.cpp": KERNELS,
    "analysis/kernel_fusions.cpp": KERNELS, "analysis/kernel_list.hpp": KERNELS, "analysis/kernel_math.cpp": KERNELS,
    "analysis/kernel_products.cpp": KERNELS, "analysis/kernels.cpp": KERNELS,
    "analysis/kernels_autocast.cpp": KERNELS, "analysis/kernels_training.cpp": KERNELS,
    "predictors/roofline/kernel_time.cpp": MODEL, "features/kernel_physics.cpp": MODEL,
    "features/product_physics.cpp": MODEL,
    "predictors/roofline/live_set.cpp": MEMORY, "predictors/roofline/memory.cpp": MEMORY,
}

NOT_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|R"\((?:.*?)\)"|"(?:\\.|[^"\\\n])*"|(?<![0-9A-Fa-f])\'(?:\\.|[^\'\\\n])*\'', re.S)
BRANCH = re.compile(r"\b(?:if|for|while|case|catch)\b|&&|\|\||\?(?!\?)")
# A type in a template's place is no branch: `Type&& name`, `auto&&`.
FORWARDING = re.compile(r"(?:auto|[A-Z]\w*|\.\.\.|>)\s*&&\s*(?=[\w.(]+\s*[,)]|\.\.\.)")
NOT_FUNCTION = re.compile(r"\b(?:namespace|struct|class|enum|union|extern)\b[^()]*$|[=,({]\s*$|\breturn\s*[\w:<>]*\s*$")
NAME = re.compile(r"([~\w:]+(?:\s*operator\s*\S+)?)\s*\(")


def blank(text):
    """The text without comments and literals, lines kept."""
    return NOT_CODE.sub(lambda match: "\n" * match.group().count("\n") + " ", text)


def functions(text):
    """(name, first line, lines, branches) of every function body that is not inside another."""
    code = FORWARDING.sub(" ", blank(text))
    code = re.sub(r"^[ \t]*#.*?(?<!\\)$", "", code, flags=re.M | re.S)
    depth_of_function, depth, head_start, start = None, 0, 0, 0
    name = ""
    for match in re.finditer(r"[{};]", code):
        at = match.start()
        if match.group() == "{":
            if depth_of_function is None:
                head = code[head_start:at]
                if "(" in head and not NOT_FUNCTION.search(head):
                    depth_of_function, start = depth, head_start + len(head) - len(head.lstrip())
                    found = NAME.search(head)
                    name = found.group(1) if found else "?"
            depth += 1
        elif match.group() == "}":
            depth -= 1
            if depth == depth_of_function:
                body = code[start:at + 1]
                yield (name, code.count("\n", 0, start) + 1, body.count("\n") + 1, len(BRANCH.findall(body)))
                depth_of_function = None
        if depth_of_function is None:
            head_start = at + 1


def find_faults(path, text):
    lines = text.count("\n")
    if lines > MAX_FILE_LINES:
        yield f"src/{path}: {lines} lines, at most {MAX_FILE_LINES}: split it by what its parts do"
    for name, line, length, branches in functions(text):
        if length > MAX_FUNCTION_LINES:
            yield f"src/{path}:{line}: {name} has {length} lines, at most {MAX_FUNCTION_LINES}"
        if branches > MAX_BRANCHES:
            yield f"src/{path}:{line}: {name} has {branches} branches, at most {MAX_BRANCHES}"


def self_test():
    short = "namespace a {\nint f(int x) {\n  return x ? 1 : 2;  // if if if\n}\n}\n"
    assert list(functions(short)) == [("f", 2, 3, 1)], list(functions(short))
    member = 'struct S {\n  int g() const { return "{ if (" == nullptr; }\n  int h = 0;\n};\n'
    assert [row[:2] for row in functions(member)] == [("g", 2)], list(functions(member))
    table = "constexpr std::array kRows = {\n" + "  Row{f(1), 2},\n" * 100 + "};\nint f() { return 0; }\n"
    assert [row[0] for row in functions(table)] == ["f"], list(functions(table))
    constructor = "A::A(int x) : x_(x) {\n  if (x && x) throw x;\n}\nint b() {\n  return 0;\n}\n"
    assert [(row[0], row[3]) for row in functions(constructor)] == [("A::A", 2), ("b", 0)], list(functions(constructor))
    body = "int f() {\n%s  return 0;\n}\n"
    assert not list(find_faults("x.cpp", body % ("  g();\n" * 77)))
    assert list(find_faults("x.cpp", body % ("  g();\n" * 78)))
    assert not list(find_faults("x.cpp", body % ("  if (a) g();\n" * 25)))
    assert list(find_faults("x.cpp", body % ("  if (a) g();\n" * 26)))
    assert list(find_faults("x.cpp", body % ("  if (a && b || c) g();\n" * 9)))
    assert list(find_faults("x.cpp", "// line\n" * 401))
    assert not list(find_faults("x.cpp", "// line\n" * 400))
    print("size check: its own cases pass")


def main():
    if "--self-test" in sys.argv:
        return self_test()
    faults, count = [], 0
    for folder in FOLDERS:
        for path in sorted((ROOT / "src" / folder).rglob("*")):
            name = str(path.relative_to(ROOT / "src"))
            # Tests are lists of cases; what they need is a name for each, not brevity.
            if path.suffix not in (".cpp", ".hpp") or path.stem.endswith("_test") or name in EXEMPT:
                continue
            count += 1
            faults += find_faults(name, path.read_text())
    faults += [f"tests/size_check.py: {name} is exempt but is not there" for name in EXEMPT
               if not (ROOT / "src" / name).is_file()]
    for fault in faults:
        print(fault, file=sys.stderr)
    print(f"size check: {count} files, {len(EXEMPT)} exempt, {len(faults)} faults")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
