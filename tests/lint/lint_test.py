"""The checks find what they say that they find."""

import os
import tempfile
import unittest

import check_declared
import check_includes
import check_lists
import check_style
import tree


class LintTest(unittest.TestCase):
    def findings(self, check, files):
        """The findings of a check on a tree of these files (path: text)."""
        with tempfile.TemporaryDirectory() as root:
            for path, text in files.items():
                os.makedirs(os.path.dirname(os.path.join(root, path)) or root, exist_ok=True)
                with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                    file.write(text)
            return check(root)

    def assert_one(self, check, files, words):
        found = self.findings(check, files)
        self.assertEqual(len(found), 1, found)
        self.assertIn(words, found[0])

    def test_a_room_sees_what_is_to_its_left(self):
        self.assertEqual([], self.findings(check_includes.check, {
            "compiler/base/a.h": "", "compiler/ir/b.h": '#include "compiler/base/a.h"\n', "compiler/api.h": "",
            "nn/c.h": '#include "compiler/api.h"\n#include "compiler/base/build_info.h"\n',
            "trainers/d.cpp": '#include "nn/c.h"\n', "tests/nn/c_test.cpp": '#include "nn/c.h"\n',
            "cli/toml_config.cpp": "#include <toml++/toml.h>\n", "cli/main.cpp": "#include <CLI/CLI.hpp>\n",
            "tests/compiler/cuda/declarations.cpp": "#include <cuda_runtime.h>\n"}))

    def test_a_room_does_not_see_what_is_to_its_right(self):
        for path, target in [("compiler/ir/x.h", "compiler/ops/y.h"), ("compiler/passes/x.h", "compiler/autodiff/y.h"),
                             ("compiler/runtime/x.h", "compiler/api.h"), ("datasets/x.h", "nn/y.h"),
                             ("nn/x.h", "datasets/y.h"), ("trainers/x.h", "cli/y.h")]:
            self.assert_one(check_includes.check, {path: f'#include "{target}"\n', target: ""}, "is not to the left of")

    def test_a_family_of_ops_sees_what_is_to_its_left_and_builders(self):
        def include(path, target):
            return {path: f'#include "{target}"\n', target: ""}
        ops, passes = "compiler/ops/", "compiler/passes/"
        for path, target in [(ops + "reduce/x.h", ops + "elemwise/y.h"), (ops + "shape/x.cpp", ops + "reduce/reduce.h"),
                             (ops + "x.cpp", ops + "index/y.h"), (ops + "shape/x.h", ops + "y.h"),
                             (passes + "fuse_x.cpp", ops + "elemwise/y.h"),
                             (passes + "fuse_reductions.cpp", ops + "reduce/y.h"),
                             (passes + "rules/x.cpp", ops + "nnet/y.h")]:
            self.assertEqual([], self.findings(check_includes.check, include(path, target)))
        for path, target, words in [
                (ops + "elemwise/x.cpp", ops + "index/y.h", "not to the left of elemwise"),
                (ops + "shape/x.h", ops + "reduce/reduce.h", "not to the left of shape"),
                (ops + "x.h", ops + "index/y.h", "sees none"),
                (ops + "odd/x.cpp", ops + "odd/y.h", "no list of families"),
                (passes + "regions.cpp", ops + "index/y.h", "not for this file"),
                (passes + "fuse_epilogues.cpp", ops + "linalg/y.h", "not for this file"),
                ("compiler/plan/in_place.cpp", ops + "linalg/y.h", "not for this file")]:
            self.assert_one(check_includes.check, include(path, target), words)

    def test_targets_are_asked_for_lanes_and_not_for_bytes(self):
        line = "const int lanes = target.vector_bytes / 4;\n"
        self.assert_one(check_includes.check, {"compiler/ops/linalg/x.cpp": line}, "reads vector_bytes")
        for path in ["compiler/kernel/target.cpp", "compiler/host/cpu.cpp", "bench/x.cpp"]:
            self.assertEqual([], self.findings(check_includes.check, {path: line}))

    def test_no_generic_pass_knows_an_op_by_its_name(self):
        line = "if (node.op == &dot_op()) return;\n"
        for path in ["compiler/passes/regions.cpp", "compiler/passes/fuse_matvec_update.cpp",
                     "compiler/passes/find_gemm.cpp", "compiler/plan/planner.cpp", "compiler/autodiff/gradient.cpp"]:
            self.assert_one(check_includes.check, {path: line}, "names dot_op()")
        for path, text in [("compiler/passes/rules/x.cpp", line), ("compiler/ops/linalg/x.cpp", line),
                           ("compiler/passes/x.cpp", "if (node.op == &constant_op()) return;\n"),
                           ("compiler/passes/x.cpp", "static const Op& dot_op() {\n}\n" + line),
                           ("compiler/passes/find_gemm.cpp", "if (node.op == &add_op()) return;\n")]:
            self.assertEqual([], self.findings(check_includes.check, {path: text}))

    def test_guarded_headers(self):
        for path, header in [("trainers/x.cpp", "toml++/toml.h"), ("cli/main.cpp", "toml++/toml.hpp"),
                             ("nn/x.cpp", "CLI/CLI.hpp"), ("compiler/runtime/x.cpp", "cuda.h"),
                             ("compiler/ops/cuda_x.cpp", "cublas_v2.h"), ("nn/x.cpp", "nvrtc.h")]:
            self.assert_one(check_includes.check, {path: f"#include <{header}>\n"}, "may see")

    def test_what_is_used_is_included(self):
        header = {"nn/a.h": "namespace n {\nstruct Layer {};\nint depth_of(const Layer& layer);\n}\n",
                  "nn/b.h": '#include "nn/a.h"\n'}
        for use, name in [("int f(const Layer& x);\n", "Layer"), ("int f() { return depth_of({}); }\n", "depth_of"),
                          ("int f() {\n  return g(1, depth_of({}));\n}\n", "depth_of")]:
            self.assert_one(check_declared.check, {**header, "nn/c.cpp": use}, f"{name} is of nn/a.h")
            use = '#include "nn/b.h"\n' + use
            self.assertEqual([], self.findings(check_declared.check, {**header, "nn/c.cpp": use}))
        for other in ["struct Layer;\nvoid f(const Layer& x);\n", "template <class... Layer> void f(Layer... x);\n",
                      "// Layer\nconst char* f = \"Layer\";\n", "int f(A a) { return a.depth_of(1); }\n",
                      "int g() {\n  std::vector<int> a(2), depth_of(3);\n}\n", "TEST(Deep, Layer) {}\n",
                      "int g() {\n  auto depth_of = [](int) { return 1; };\n  return depth_of(1);\n}\n"]:
            self.assertEqual([], self.findings(check_declared.check, {**header, "nn/c.cpp": other}))

    def test_two_types_of_one_name(self):
        def defined(*texts):
            return {f"nn/{letter}.h": text for letter, text in zip("abc", texts)}
        one = "namespace thtrain {\nstruct Order {\n  int x;\n};\n}\n"
        again = "namespace thtrain {\n\nclass Order final : public X {};\n}\n"
        self.assert_one(check_declared.check, defined(one, again), "nn/b.h:3: thtrain::Order is defined in nn/a.h too")
        for other in ("namespace thtrain {\nnamespace {\nstruct Order {};\n}\n}\n",
                      "namespace thtrain::kernel {\nstruct Order {};\n}\n",
                      "namespace thtrain {\nstruct Order;\nvoid f(struct Order* x) {}\n}\n",
                      "namespace thtrain {\nstruct A {\n  struct Order {};\n};\nstruct A::Order {};\n}\n"):
            self.assertEqual([], self.findings(check_declared.check, defined(one, other)))

    def test_missing_file_room_and_cycle(self):
        self.assert_one(check_includes.check, {"nn/x.cpp": '#include "y.h"\n'}, "is not there")
        self.assert_one(check_includes.check, {"compiler/odd/x.cpp": ""}, "no room")
        self.assert_one(check_includes.check, {"nn/x.h": '#include "nn/y.h"\n', "nn/y.h": '#include "nn/z.h"\n',
                                               "nn/z.h": '#include "nn/x.h"\n'}, "nn/x.h -> nn/y.h -> nn/z.h -> nn/x.h")

    def test_lists(self):
        self.assert_one(check_lists.check, {"util/x.cpp": ""}, "does it belong in a room")
        self.assert_one(check_lists.check, {"compiler/odd/x.cpp": ""}, "is no room")
        self.assert_one(check_lists.check, {"nn/x.cpp": "// TO" + "DO: more\n"}, "open end")
        self.assert_one(check_lists.check, {"configs/x.toml": "seed = 1\n"}, "begins with no comment")
        self.assert_one(check_lists.check, {"docs/decisions/first.md": "x\n"}, "NNNN-title.md")
        self.assert_one(check_lists.check, {"docs/a.md": "see `compiler/ir/gone.h`\n"}, "gone.h is not there")
        self.assert_one(check_lists.check, {"docs/where.md": "| who? | `nn/x.h` | `layer` |\n", "nn/x.h": "layers\n"},
                        "no layer in nn/x.h")
        untested = {"compiler/passes/x.cpp": "", "tests/compiler/passes/y_test.cpp": ""}
        self.assert_one(check_lists.check, untested, "no test includes")
        self.assertEqual([], self.findings(check_lists.check, untested | {"tests/compiler/passes/x_test.cpp": ""}))
        self.assertEqual([], self.findings(check_lists.check, untested | {
            "tests/compiler/passes/y_test.cpp": '#include "compiler/passes/x.h"\n'}))

    def test_the_folders_whose_sources_need_tests_are_there(self):
        root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        for folder in check_lists.TESTED:
            self.assertTrue(tree.files(root, [folder], (".cpp",)), folder)

    def test_an_op_stands_in_the_list_under_its_folder(self):
        op = {"compiler/ops/shape/x.cpp": "const Op& x_op() {\n"}
        right = {"compiler/ops/op_list.inc": "TH_FAMILY(shape)\nTH_OP(x_op)\n"}
        wrong = {"compiler/ops/op_list.inc": "TH_FAMILY(index)\nTH_OP(x_op)\n"}
        self.assertEqual([], self.findings(check_lists.check, op | right))
        self.assert_one(check_lists.check, op | wrong, "x_op is not defined in a folder index of ops or cpu")

    def test_style(self):
        good = "// What it is for.\n#pragma once\n"
        self.assertEqual([], self.findings(check_style.check, {"nn/x.h": good, "nn/x.cpp": '#include "nn/x.h"\n'}))
        for text, words in [(good + "int a; \n", "spaces"), (good + "\tint a;\n", "tab"),
                            ("// What.\n", "#pragma once"), (good + "//" * 61 + "\n", "122 characters"),
                            ("#pragma once\n", "first line"),
                            (good + "int a;\n" * 450, "452 lines"), (good + "int a;", "does not end"),
                            (good + "using namespace x;\n", "in a header"), (good + "int a;\r\n", "carriage")]:
            self.assert_one(check_style.check, {"nn/x.h": text}, words)
        self.assert_one(check_style.check, {"nn/x.cpp": "int a;\n"}, "first line")

    def test_names_of_neighbours_differ(self):
        text = "// A.\nnamespace {\n%s\n}  // namespace\n"
        for line in ["constexpr int kMost = 3;", "int most(int a) {", "struct Most {", 'const Expr x = most("x");']:
            both = {"nn/a/x.cpp": text % line, "nn/a/y.cpp": text % line}
            self.assert_one(check_style.check, both, "is in nn/a/x.cpp too")
            self.assertEqual([], self.findings(check_style.check, {"nn/a/x.cpp": text % line, "nn/y.cpp": text % line}))
        overloads = {"nn/x.cpp": text % "int f(int a) {", "nn/y.cpp": text % "int f(double a) {"}
        self.assertEqual([], self.findings(check_style.check, overloads))
        later = {"nn/x.cpp": text % "constexpr int a = 1, b = 2;", "nn/y.cpp": text % "constexpr int b = 2, c = 3;"}
        self.assert_one(check_style.check, later, "nn/y.cpp:3: `b` is in nn/x.cpp too")
        aliases = {"tests/x.cpp": text % "using A = int;", "tests/y.cpp": text % "using A = int;"}
        self.assertEqual([], self.findings(check_style.check, aliases))
        aliases["tests/y.cpp"] = text % "using A = double;"
        self.assert_one(check_style.check, aliases, "tests/y.cpp:3: `A` is in tests/x.cpp too")
        own = {f"tests/{name}.cpp": f"namespace thtrain::{name} {{\n" + text % "int f(int a) {" for name in "xy"}
        self.assertEqual([], self.findings(check_style.check, own))

    def test_an_op_knows_no_vectors(self):
        text = "// An op.\nint f(StepBuilder& b) { return b.vector_bytes(); }\n"
        self.assert_one(check_style.check, {"compiler/ops/shape/x.cpp": text}, "choice of the schedule's")
        self.assertEqual([], self.findings(check_style.check, {"compiler/ops/linalg/x.cpp": text}))
        self.assertEqual([], self.findings(check_style.check, {"compiler/kernel/schedule/x.cpp": text}))


if __name__ == "__main__":
    unittest.main()
