"""What the checks of this folder share: the files of the tree, and how a finding is told."""

import os
import sys

# Folders whose C++ is ours. docs holds the lessons.
SOURCE_FOLDERS = ("compiler", "config", "nn", "datasets", "reports", "trainers", "cli", "bench", "tests", "docs")


def files(root, folders=SOURCE_FOLDERS, endings=(".h", ".cpp")):
    """Paths from the root, sorted; what is built, hidden or fetched is left out."""
    found = []
    for folder in folders:
        for at, inner, names in os.walk(os.path.join(root, folder)):
            inner[:] = [name for name in inner if not name.startswith((".", "build")) and name != "__pycache__"]
            for name in names:
                if name.endswith(endings) and not name.startswith("."):
                    found.append(os.path.relpath(os.path.join(at, name), root))
    return sorted(found)


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8", errors="replace", newline="") as file:
        return file.read()


def main(check, description):
    """Runs check(root) -> list of "path:line: what"; ends with 1 where it finds something."""
    if len(sys.argv) != 2:
        sys.exit(f"usage: {os.path.basename(sys.argv[0])} ROOT\n{description}")
    findings = check(sys.argv[1])
    for finding in findings:
        print(finding)
    print(f"{len(findings)} findings")
    sys.exit(1 if findings else 0)
