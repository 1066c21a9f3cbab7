// The printer under a dialect that is not C++: what it prints is Python, which runs it.
#include "compiler/kernel/dialect.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "compiler/kernel/printer.h"
#include "compiler/kernel/step_builder.h"
#include "tests/compiler/kernel/python_dialect.h"
#include "tests/support/golden_text.h"

namespace thtrain::kernel {
namespace {

Term number(double value) {
  return constant(DType::kFloat64, value);
}
Term element(const std::string& buffer, const Term& index) {
  return load(buffer, DType::kFloat64, 1, index, 1);
}
Term length(const std::string& name) {
  return variable(name, {DType::kInt64, 1, 0});
}

Function function_of(std::string comment, Code& code) {
  return {.name = {},
          .comment = std::move(comment),
          .buffers = {{"in0", DType::kFloat64, false}, {"out0", DType::kFloat64, true}},
          .lengths = {"n0"},
          .length_texts = {"length of x"},
          .numbers = {},
          .body = code.take()};
}

// out0[i] = sqrt(in0[i] * 2 + 1), each element by itself.
Function elementwise() {
  Code code;
  code.loop("i", length("begin"), length("end"), 1, LoopMark::kParallel, [&](const Term& i) {
    const Term x = code.let("v_x", element("in0", i));
    code.store("out0", i, 1, sqrt(x * number(2) + number(1)));
  });
  return function_of("y = sqrt(2 x + 1)", code);
}

// Of every other element, in order; an inner block after an inner block.
Function reduction() {
  Code code;
  const Term sum = code.var("sum", number(0));
  code.loop("j", 0, length("n0"), 2, LoopMark::kSequential,
            [&](const Term& j) { code.assign(sum, sum + element("in0", j)); });
  code.store("out0", 0, 1, sum);
  return function_of("y = sum(x[::2])", code);
}

// The larger of two neighbours where there are two, else a failure.
Function branch() {
  Code code;
  const Term n = length("n0");
  code.if_(
      Term(1) < n,
      [&] {
        const Term a = code.let("a", element("in0", n - Term(1))), b = code.let("b", element("in0", n - Term(2)));
        code.store("out0", 0, 1, select(a > b, a, b));
      },
      [&] { code.fail(4, n, 2); });
  return function_of("y = max(x[-2:])", code);
}

std::string python_text() {
  const PythonDialect python;
  Helpers helpers;
  std::string text;
  for (const auto& [name, function] :
       {std::pair("elementwise", elementwise()), {"reduction", reduction()}, {"branch", branch()}})
    text += "\n" + print_function(function, python, helpers).named(name);
  const Term x = variable("x", {DType::kFloat64, 1, 0});
  Code code;
  const Term twice = code.let("twice", x * number(2));
  text += "\n" + print_inline(code.take(), twice * twice, x, python, helpers).named("square_of_twice");
  return helpers.text() + text;
}

TEST(GoldenCode, TheSameFunctionsAsPython) {
  expect_golden(python_text(), "code/functions_as_python.txt");
}

TEST(Dialect, ThePrinterItselfWritesNothingOfC) {
  EXPECT_EQ(python_text().find_first_of("{};/&|!"), std::string::npos);
}

// Python itself runs the text.
TEST(Dialect, WhatASecondDialectPrintsIsComputedByItsLanguage) {
  const std::filesystem::path file = std::filesystem::temp_directory_path() / str("thtrain_dialect_", getpid(), ".py");
  std::ofstream(file) << python_text() << R"(
y = [0.0] * 3
elementwise([0.0, 4.0, 12.0], y, 3, 0, 3)
assert y == [1.0, 3.0, 5.0], y
reduction([1.0, 10.0, 2.0, 20.0, 4.0], y, 5, 0, 1)
assert y[0] == 7.0, y
branch([9.0, 5.0, 8.0], y, 3, 0, 1)
assert y[0] == 8.0, y
try:
    branch([9.0], y, 1, 0, 1)
    assert False
except IndexError as error:
    assert error.args == (4, 1, 2), error.args
assert square_of_twice(3.0) == 36.0
)";
  EXPECT_EQ(std::system(str("python3 ", file.string()).c_str()), 0);
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace thtrain::kernel
