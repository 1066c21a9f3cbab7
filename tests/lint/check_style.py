"""The rules of style that a machine can check. `clang-format` says the rest (CONTRIBUTING.md)."""

import os
import re

import tree

LINE_LENGTH = 120
FILE_LENGTH = 450

# Files that may be longer, and why.
LONG_FILES = {
}

TEXT_ENDINGS = (".h", ".cpp", ".inc", ".cuh", ".py", ".cmake", "CMakeLists.txt", ".toml", ".sh")
ROOMS = ("compiler", "config", "nn", "datasets", "reports", "trainers", "cli", "bench")
GUARD = re.compile(r"^[ \t]*#[ \t]*(pragma[ \t]+once|ifndef[ \t]+\w+_H\w*)", re.M)

# Only a schedule (compiler/kernel/schedule/) knows vectors, caches and threads; kernels of matrix products, of
# convolutions, of pooling, of sorting and of nonzero are written by hand.
OPS = "compiler/ops/"
KERNELS_BY_HAND = ("compiler/ops/linalg/", "compiler/ops/factor/matrices.cpp", "compiler/ops/conv/",
                   "compiler/ops/pool/lower_pool",
                   "compiler/ops/pool/pooled_places", "compiler/ops/pool/window_",
                   "compiler/ops/random/mrg_uniform.cpp", "compiler/ops/order/radix_sort.cpp",
                   "compiler/ops/order/vector_sort.cpp", "compiler/ops/index/nonzero.cpp",
                   "compiler/ops/sparse/csr_")
CHOICES_OF_SCHEDULES = re.compile(
    r"\b(vector_bytes|lanes_of|LoopMark::k(Vector|Parallel|Unrolled)|kernel::(iota|splat|reduce_lanes)|"
    r"non_temporal\w*|[Pp]refetch\w*|each_vector)\b")


def check_file(root, path):
    text = tree.read(root, path)
    lines = text.split("\n")
    if text and not text.endswith("\n"):
        yield f"{path}:{len(lines)}: the last line does not end"
    for number, line in enumerate(lines, 1):
        if line.endswith("\r"):
            yield f"{path}:{number}: ends with a carriage return"
        elif line != line.rstrip():
            yield f"{path}:{number}: spaces at the end"
        if "\t" in line:
            yield f"{path}:{number}: a tab"
        if len(line) > LINE_LENGTH:
            yield f"{path}:{number}: {len(line)} characters; at most {LINE_LENGTH}"
    if not path.endswith((".h", ".cpp", ".cuh")):
        return

    if len(lines) - 1 > FILE_LENGTH and path not in LONG_FILES:
        yield f"{path}:1: {len(lines) - 1} lines; at most {FILE_LENGTH}, or a reason in tests/lint/check_style.py"
    if path.startswith(OPS) and not path.startswith(KERNELS_BY_HAND):
        for number, line in enumerate(lines, 1):
            if found := CHOICES_OF_SCHEDULES.search(line.split("//")[0]):
                yield f"{path}:{number}: {found[1]} is a choice of the schedule's: an op gives a nest"
    if path.endswith(".h"):
        if not GUARD.search(text):
            yield f"{path}:1: no #pragma once"
        if re.search(r"^using namespace", text, re.M):
            yield f"{path}:1: `using namespace` in a header"
    # The contract of x.cpp is in x.h; a file without a header says by itself what it is for.
    has_header = path.endswith(".cpp") and os.path.exists(os.path.join(root, path[:-4] + ".h"))
    is_test = path.startswith("tests/") and path.endswith(".cpp")
    if not has_header and not is_test and not lines[0].startswith(("// ", "/* ")):
        yield f"{path}:1: the first line is no comment that says what the file is for"


CONSTANT = re.compile(r"(?:static )?(?:const|constexpr) [\w:<>, ]*?[&*]?(?:const )?\b(\w+)(?:\[\w*\])? ?[={(]")


def anonymous_names(text):
    """(number of the line, name, whether an equal line may define it again) of what anonymous namespaces define, after
    the namespaces around them; a function by its whole line, as it may have overloads."""
    inside, around = False, ""
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("namespace"):
            inside = line == "namespace {"
            around = around if inside else line.split(" ")[1] + "::"
        elif line.startswith("}  // namespace"):
            inside = False
        elif inside and (found := re.match(r"using (\w+) =", line)):
            yield number, around + found[1], True
        elif inside and (found := re.match(r"(?:class|struct|enum class|enum) (\w+)[^;]*$", line)):
            yield number, around + found[1], False
        elif inside and (found := CONSTANT.match(line)) and not line.endswith(") {"):
            others = re.findall(r", (\w+) = ", re.sub(r'"[^"]*"', "", line[found.end():]))
            for name in [found[1]] + others:
                yield number, around + name, False
        elif inside and re.match(r"\w.*\) (?:const )?\{$", line) and "::" not in line.split("(")[0].split(" ")[-1]:
            yield number, around + line[:-1].strip(), False


# Sources of tests that are compiled each by itself.
TESTS_BY_THEMSELVES = ("tests/fuzz/parsers/", "tests/package/")


def check_neighbours(root):
    """Sources of a folder are compiled together: what two of them define must have two names, or be in namespaces of
    their own."""
    defined = {}
    for path in tree.files(root, ROOMS + ("tests",), (".cpp",)):
        if path.startswith(TESTS_BY_THEMSELVES):
            continue
        text = tree.read(root, path)
        lines = text.split("\n")
        for number, name, may_repeat in anonymous_names(text):
            first, line = defined.setdefault((os.path.dirname(path), name), (path, lines[number - 1]))
            if first != path and not (may_repeat and line == lines[number - 1]):
                name = name.removeprefix("thtrain::")
                yield f"{path}:{number}: `{name}` is in {first} too, which may be compiled together with this file"


def check(root):
    findings = list(check_neighbours(root))
    for path in tree.files(root, tree.SOURCE_FOLDERS + ("cmake", "configs"), TEXT_ENDINGS):
        findings += check_file(root, path)
    for path in sorted(LONG_FILES):
        if not os.path.exists(os.path.join(root, path)):
            findings.append(f"{path}:1: is in LONG_FILES and is not there")
    return findings


if __name__ == "__main__":
    tree.main(check, __doc__)
