"""All sources are formatted by .clang-format, as the version of clang-format formats them that Debian 12 has."""

import os
import re
import subprocess
import sys

import tree

VERSION = "14"  # another one formats some lines in another way


def main():
    root = sys.argv[1]
    try:
        said = subprocess.run(["clang-format", "--version"], capture_output=True, text=True, check=True).stdout
    except OSError:
        said = ""
    if not re.search(rf"version {VERSION}\.", said):
        print(f"clang-format {VERSION} is not installed")
        sys.exit(77)
    sources = [os.path.join(root, path) for path in tree.files(root)]
    checked = subprocess.run(["clang-format", "--dry-run", *sources], capture_output=True, text=True, check=False)
    findings = re.findall(r"^(\S+:\d+):\d+: warning: code should be clang-formatted", checked.stderr, re.M)
    for path in findings:
        print(f"{os.path.relpath(path, root)}: not formatted: clang-format -i")
    print(f"{len(findings)} findings")
    sys.exit(1 if findings or checked.returncode else 0)


if __name__ == "__main__":
    main()
