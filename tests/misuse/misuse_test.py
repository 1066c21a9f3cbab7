"""What must not compile: expressions as conditions, and numbers in the place of keepdims and ddof.

usage: misuse_test.py COMPILER SOURCE_DIR
"""
import re
import subprocess
import sys
import tempfile
import unittest

COMPILER, SOURCE_DIR = sys.argv[1], sys.argv[2]

GOOD = [
    "if (x.has_value()) return 1;",
    "(void)maximum(x, y);",
    "(void)switch_(x < y, x, y);",
    "(void)logical_and(x < y, y < x);",
    "(void)sum(x, 0, true);",
    "(void)sum(x, {0, 1});",
    "(void)var(x, 0, true);",
    "(void)var(x, 0, false, Ddof(1));",
    "(void)x[0];",
    "(void)x[{0, -1}];",
    "(void)x[Slice{.start = 1, .stop = 4}];",
    "(void)w[0];",
    "x += y; x -= 1; x *= 2.0; x /= w; x %= y;",
    "(void)x.T();",
    "(void)w.T();",
    "(void)where(x < y, x, 0);",
    "(void)logsumexp(x, 0, true);",
]
BAD = [
    "if (x < y) return 1;",
    "if (x) return 1;",
    "while (x > 0) return 1;",
    "(void)(x ? 1 : 2);",
    "(void)(x && y);",
    "(void)(x || y);",
    "(void)!x;",
    "(void)(x == y);",
    "bool b = x; (void)b;",
    "bool b(x < y); (void)b;",
    "if (w) return 1;",
    "(void)std::max(x, y);",
    "(void)std::min(x, y);",
    "(void)std::clamp(x, y, y);",
    "(void)sum(x, 0, 1);",
    "(void)var(x, 0, 1);",
    "(void)var(x, 0, 1, true);",
    "(void)var(x, 0, true, true);",
    "(void)var(x, 0, true, 1);",
    "(void)x[true];",
    "(void)x[0.5];",
    "x[0] += 1;",
    "w += 1;",
    "w += x;",
    "(x + y) *= 2;",
    "const Expr z = x; z += y;",
    "1 += x;",
    "(void)where(x < y, x);",
    "(void)logsumexp(x, 0, 1);",
]
FIRST = 6  # the line of the first statement


def program(statements):
    lines = ["#include <algorithm>", '#include "compiler/api.h"', "using namespace thtrain;"]
    lines += ["int use(Expr x, Expr y, Shared w) {", "  (void)x, (void)y, (void)w;"]
    return "\n".join(lines + ["  { %s }" % s for s in statements] + ["  return 0;", "}", ""])


def compile_errors(statements):
    """The exit status, and the numbers of the statements that errors name."""
    with tempfile.TemporaryDirectory() as folder:
        path = folder + "/statements.cpp"
        with open(path, "w") as out:
            out.write(program(statements))
        command = [COMPILER, "-std=c++20", "-fsyntax-only", "-I" + SOURCE_DIR, path]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode, {int(n) - FIRST for n in re.findall(r"statements\.cpp:(\d+):", done.stdout)}, done.stdout


class Misuse(unittest.TestCase):
    def test_what_is_meant_compiles(self):
        status, _, text = compile_errors(GOOD)
        self.assertEqual(status, 0, text)

    def test_what_is_not_meant_does_not(self):
        status, named, text = compile_errors(BAD)
        self.assertNotEqual(status, 0)
        for number, statement in enumerate(BAD):
            self.assertIn(number, named, "compiles: " + statement + "\n" + text)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
