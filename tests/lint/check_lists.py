"""Nothing is outside a room, nothing is left open, and what needs a test, a line or a header comment has one."""

import os
import re

import tree

ROOMS = {"compiler", "config", "nn", "datasets", "reports", "trainers", "cli", "bench", "tests", "docs", "configs",
         "cmake"}
COMPILER_ROOMS = {"base", "ir", "kernel", "ops", "cpu", "autodiff", "passes", "plan", "codegen", "store", "host",
                  "libraries", "cuda", "tuning", "runtime"}
# Ignored by git: built, or a user's own.
NOT_OURS = re.compile(r"^(build.*|runs|__pycache__|compile_commands\.json|\..*)$")
ROOT_FILES = {"CMakeLists.txt", "CMakePresets.json", "README.md", "LICENSE", "CONTRIBUTING.md", "CHANGELOG.md",
              "SECURITY.md", "THIRD_PARTY.md", "thtrain", "run_tests"}

# Open ends go to docs/limitations.md. (Written so that this file does not hold the words.)
OPEN_END = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b")

# In these folders every .cpp needs a test that includes its header or is named after it.
TESTED = ["compiler/passes", "compiler/autodiff", "compiler/plan", "nn/optimizers", "nn/schedules", "nn/updates",
          "nn/batch_methods", "nn/objectives", "datasets/sources"]


def check_rooms(root):
    for name in sorted(os.listdir(root)):
        if NOT_OURS.match(name):
            continue
        known = ROOMS if os.path.isdir(os.path.join(root, name)) else ROOT_FILES
        if name not in known:
            yield f"{name}:1: is in no list of tests/lint/check_lists.py; does it belong in a room?"
    for path in tree.files(root, ["compiler"], (".h", ".cpp", ".inc", ".cuh")):
        parts = path.split("/")
        if len(parts) > 2 and parts[1] not in COMPILER_ROOMS:
            yield f"{path}:1: compiler/{parts[1]} is no room"


def check_open_ends(root):
    endings = (".h", ".cpp", ".inc", ".cuh", ".py", ".cmake", ".toml", ".txt", ".md")
    for path in tree.files(root, sorted(ROOMS), endings):
        for number, line in enumerate(tree.read(root, path).splitlines(), 1):
            if OPEN_END.search(line):
                yield f"{path}:{number}: an open end: finish it, or write it into docs/limitations.md"


def check_tests(root):
    tests = tree.files(root, ["tests"], (".cpp",))
    named = {os.path.basename(path) for path in tests}
    texts = "\n".join(tree.read(root, path) for path in tests)
    for folder in TESTED:
        for path in tree.files(root, [folder], (".cpp",)):
            stem = os.path.splitext(path)[0]
            if not os.path.exists(os.path.join(root, stem + ".h")):
                # Part of what a header next to it or above it declares (the tables of rules, the planner).
                folder_of = os.path.dirname(stem)
                if f'#include "{folder_of}.h"' in texts or f'#include "{folder_of}/' in texts:
                    continue
            if os.path.dirname(stem).endswith("/rules"):
                continue  # rows of tables: rules_test.cpp and rule_fuzz_test.cpp run every one
            if os.path.basename(stem) + "_test.cpp" not in named and f'#include "{stem}.h"' not in texts:
                yield f"{path}:1: no test includes {stem}.h or is named {os.path.basename(stem)}_test.cpp"


def check_op_list(root):
    """The list of ops names each under the folder that defines it."""
    path, family, folders = "compiler/ops/op_list.inc", "", {}
    for source in tree.files(root, ["compiler/ops", "compiler/cpu"], (".cpp",)):
        for name in re.findall(r"^const Op& (\w+)\(\) \{", tree.read(root, source), re.M):
            folders[name] = os.path.dirname(source).split("/")[-1]
    if not os.path.exists(os.path.join(root, path)):
        return
    for number, line in enumerate(tree.read(root, path).splitlines(), 1):
        if match := re.match(r"TH_(FAMILY|OP)\((\w+)\)", line):
            if match.group(1) == "FAMILY":
                family = match.group(2)
            elif family != "leaf" and folders.get(match.group(2)) != family:
                yield f"{path}:{number}: {match.group(2)} is not defined in a folder {family} of ops or cpu"


def check_configs(root):
    """A newcomer reads a config's first lines: they say what it is for."""
    for path in tree.files(root, ["configs"], (".toml",)):
        if not tree.read(root, path).startswith("#"):
            yield f"{path}:1: begins with no comment (purpose, data, expected error and time)"


def check_decisions(root):
    for path in tree.files(root, ["docs/decisions"], (".md",)):
        if not re.match(r"docs/decisions/(\d{4}-[a-z0-9-]+|README)\.md$", path):
            yield f"{path}:1: a decision is named NNNN-title.md"


def check_pages(root):
    """Pages name files that are there."""
    named = re.compile(r"`((?:%s)/[\w./-]*\w)`" % "|".join(sorted(ROOMS)))
    pages = [page for page in ("CONTRIBUTING.md", "README.md") if os.path.exists(os.path.join(root, page))]
    pages += tree.files(root, ["docs"], (".md",))
    for page in pages:
        for number, line in enumerate(tree.read(root, page).splitlines(), 1):
            for path in named.findall(line):
                if "NNNN" not in path and not os.path.exists(os.path.join(root, path)):
                    yield f"{page}:{number}: {path} is not there"


def check_where(root):
    """docs/where.md names what a file holds: each name is in it."""
    page = "docs/where.md"
    if not os.path.exists(os.path.join(root, page)):
        return
    for number, line in enumerate(tree.read(root, page).splitlines(), 1):
        row = re.match(r"\|[^|]*\|([^|]*)\|([^|]*)\|$", line)
        files, found = (re.findall(r"`([^`]+)`", row[k]) if row else [] for k in (1, 2))
        files = [file for file in files if os.path.isfile(os.path.join(root, file))]
        texts = [tree.read(root, file) for file in files]
        for name in found if files else []:
            if not any(re.search(r"(?<!\w)%s(?!\w)" % re.escape(name), text) for text in texts):
                yield f"{page}:{number}: there is no {name} in {' or '.join(files)}"


def check(root):
    findings = []
    for part in (check_rooms, check_open_ends, check_tests, check_op_list, check_configs, check_decisions,
                 check_pages, check_where):
        findings += part(root)
    return findings


if __name__ == "__main__":
    tree.main(check, __doc__)
