"""What must not compile: expressions as conditions, numbers instead of keepdims and ddof, and what reads well but
means something else; and what the compiler says of it.

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
    "std::vector<Expr> g = grad(x, {w}); g = grad(x, {y}); g = grad(x, {w, y}); Expr one = grad(x, w);",
    "std::vector<Expr> j = jacobian(x, {w}), h = hessian(x, {w, y}); h = hessian_vector_product(x, {w}, {y});",
    "std::vector<Expr> t = jvp({x}, {w}, {y}), u = vjp({x}, {w}, {y}); t = Rop({x}, {w}, {y}); u = Lop({x}, {w}, {y});",
    "Expr t = jvp(x, w, y), u = vjp(x, w, y);",
    "f({1.0}); f({x_value, 0.1}); f({1, true}); f({{\"x\", x_value}, {\"rate\", 0.1}});",
    "w.set_value(1.0); (void)In(x, 0.1);",
    "(void)max(x, 0); (void)max(x, {0, 1}); (void)min(x, {}, true); (void)max(1.0);",
    "(void)thtrain::std(x);",
    "Shared v = w; v = w; Expr e = w; e = w; e += 1;",
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
    "(void)f({x});",
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
    "(x + y) *= 2;",
    "const Expr z = x; z += y;",
    "1 += x;",
    "(void)where(x < y, x);",
    "(void)logsumexp(x, 0, 1);",
]
# And what the compiler must print with the error.
AN_UPDATE = "updates w, w.set_value() sets it"
EXPLAINED = [
    ("(void)function({x, w}, {y});", "a shared variable is no input: functions find it"),
    ("(void)function({w}, {y});", "a shared variable is no input: functions find it"),
    ("(void)max(x, y);", "the larger of two is maximum(x, y)"),
    ("(void)max(0, x);", "the larger of two is maximum(x, y)"),
    ("(void)max(x, 0.0);", "the larger of two is maximum(x, y)"),
    ("(void)min(w, w);", "the smaller of two is minimum(x, y)"),
    ("(void)std(x);", "write thtrain::std(x)"),
    ("w = w - 1;", AN_UPDATE),
    ("w = x;", AN_UPDATE),
    ("w = x_value;", AN_UPDATE),
    ("w += 1;", AN_UPDATE),
    ("w -= x;", AN_UPDATE),
    ("w *= w;", AN_UPDATE),
    ("w /= 2.0;", AN_UPDATE),
]
FIRST = 6  # the line of the first statement


def program(statements):
    lines = ["#include <algorithm>", '#include "compiler/api.h"', "using namespace thtrain;"]
    lines += ["int use(Expr x, Expr y, Shared w, Function f, Tensor x_value) {"]
    lines += ["  (void)x, (void)y, (void)w, (void)x_value;"]
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

    def test_the_compiler_says_what_is_meant(self):
        _, _, text = compile_errors([statement for statement, _ in EXPLAINED])
        parts = re.split(r"statements\.cpp:(\d+):\d+: error:", text)
        said = {int(parts[i]) - FIRST: parts[i + 1] for i in range(1, len(parts), 2)}
        for number, (statement, explanation) in enumerate(EXPLAINED):
            self.assertIn(explanation, said.get(number, "compiles"), statement)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
