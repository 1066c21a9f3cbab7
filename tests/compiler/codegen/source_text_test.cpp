// The order of a program's text: the program, its kernels, helpers.
#include "compiler/codegen/source_text.h"

#include <gtest/gtest.h>

#include "compiler/api.h"
#include "compiler/plan/program.h"

namespace thtrain {
namespace {

TEST(SourceText, FunctionsAreDeclaredBeforeAndDefinedAfter) {
  const std::string helpers =
      "typedef float f32x4 __attribute__((vector_size(16)));\n"
      "static inline float one(float x) { return x + 1; }\n"
      "// Two lines.\n"
      "template <int N>\n"
      "static inline void two(float* x) {\n"
      "#ifdef A\n"
      "  x[0] = N;\n"
      "#endif\n"
      "}\n"
      "struct Three {\n"
      "  int a;\n"
      "};\n"
      "static inline int four() { return 4; }\n";
  EXPECT_EQ(declarations_of(helpers),
            "typedef float f32x4 __attribute__((vector_size(16)));\n"
            "static inline float one(float x);\n"
            "// Two lines.\n"
            "template <int N>\n"
            "static inline void two(float* x);\n"
            "struct Three {\n"
            "  int a;\n"
            "};\n"
            "static inline int four();\n");
  EXPECT_EQ(definitions_of(helpers),
            "static inline float one(float x) { return x + 1; }\n"
            "// Two lines.\n"
            "template <int N>\n"
            "static inline void two(float* x) {\n"
            "#ifdef A\n"
            "  x[0] = N;\n"
            "#endif\n"
            "}\n"
            "static inline int four() { return 4; }\n");
}

TEST(SourceText, WhatIsBetweenConditionsStaysBefore) {
  const std::string gather = "#ifdef __AVX2__\nstatic inline int f(int x) {\n  return x;\n}\n#endif\n";
  EXPECT_EQ(declarations_of(gather), gather);
  EXPECT_EQ(definitions_of(gather), "");
}

TEST(SourceText, TheProgramComesFirstThenKernelsThenHelpers) {
  Expr x = matrix("x", {"n", "m"}), w = matrix("w", {"m", 200});
  // A length that only the call knows, a function of a library, vector maths.
  const Function f = function({x, w}, {sum(tanh(dot(x, w))), log(softmax(x))}, {},
                              {.threads = 1, .candidates = {{"matrix_product", "library"}}});
  const std::string text = f.explain().cpp;
  const size_t interface = text.find("struct ThContext {"), entry = text.find("int thtrain_entry("),
               kernel = text.find("\nstatic void k0_", entry),
               helpers = text.find("\n// Definitions of the helpers.\n");
  ASSERT_NE(interface, std::string::npos);
  ASSERT_NE(entry, std::string::npos);
  ASSERT_NE(kernel, std::string::npos);
  ASSERT_NE(helpers, std::string::npos);
  EXPECT_LT(interface, entry);
  EXPECT_LT(entry, kernel);
  EXPECT_LT(kernel, helpers);
  EXPECT_EQ(text.find("static void k", helpers), std::string::npos) << "no kernel behind the helpers";
}

// Of library functions too: the declaration says which steps call them, the step its number and formula.
TEST(SourceText, EveryStepHasItsNumberAndFormula) {
  Expr x = matrix("x", {40, 300}), w = matrix("w", {300, 300}), b = vector("b", {300});
  const Function f = function({x, w, b}, {tanh(dot(x, w) + b), dot(transpose(x), dot(x, w))}, {},
                              {.threads = 1, .candidates = {{"matrix_product", "library"}}});
  const Explanation told = f.explain();
  size_t steps = 0, libraries = 0;
  std::string numbers;
  for_each_step(told.plan->body, [&](const Step& step) {
    const size_t at = told.cpp.find(str("\n  // ", steps, ": "));
    ASSERT_NE(at, std::string::npos) << steps;
    EXPECT_NE(told.cpp.substr(at, told.cpp.find('\n', at + 1) - at).find(" = "), std::string::npos) << steps;
    if (std::holds_alternative<kernel::LibraryCall>(step.code)) {
      numbers += str(libraries++ ? ", " : "", steps);
    }
    ++steps;
  });
  ASSERT_GT(libraries, 0u);
  EXPECT_NE(told.cpp.find(str(": a function of a library, called by step", libraries > 1 ? "s " : " ", numbers, "\n")),
            std::string::npos)
      << told.cpp.substr(0, 4000);
}

}  // namespace
}  // namespace thtrain
