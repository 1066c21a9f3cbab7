// Cases written after the tests of PyTensor, Theano 1.0.5 and NumPy. Each is named after the test it follows,
// "class.test" and the variant in brackets; tests/golden/suite_*.py writes the same case with PyTensor, whose values
// are expected.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compiler/ir/node.h"
#include "compiler/ir/tensor.h"

namespace thtrain {

using All = std::vector<Expr>;

/// The inputs of a case, and what they are given.
class Given {
 public:
  /// An input of the value's dtype and rank: axes of one element are known to have it, others have any length.
  Expr operator()(const Tensor& value);
  /// An input whose lengths are known.
  Expr known(const Tensor& value);

  std::vector<Expr> inputs;
  std::vector<Tensor> values;
};

/// What is computed, and how many steps its program may have at most (-1: any number).
struct SuiteCase {
  SuiteCase(std::string name, Expr (*build)(Given&), int steps = -1)
      : name(std::move(name)), build([build](Given& given) { return All{build(given)}; }), steps(steps) {}
  SuiteCase(std::string name, All (*build)(Given&), int steps = -1)
      : name(std::move(name)), build(build), steps(steps) {}

  std::string name;
  std::function<All(Given&)> build;
  int steps;
};

/// A case whose builder has captures, for cases that are made in loops.
inline SuiteCase made_case(std::string name, std::function<All(Given&)> build) {
  SuiteCase out(std::move(name), static_cast<All (*)(Given&)>(nullptr));
  out.build = std::move(build);
  return out;
}

/// What is an error in PyTensor too: building or calling it is a UserError.
struct SuiteError {
  std::string name;
  std::function<All(Given&)> build;
};

/// Computes the cases of a group in reference mode and natively, all of them as one function, and compares dtypes,
/// shapes and values with the lines "name group dtype = [shape] values..." of tests/golden/suite_<file>.txt. Fails
/// where a line has no case.
void expect_suite(const std::string& file, const std::string& group, const std::vector<SuiteCase>& cases);
/// Their texts, without the "node:" lines and with LINE for lines of these tests, are those of
/// tests/golden/suite_<file>_errors.txt, which THTRAIN_REWRITE_GOLDEN=1 writes anew; the lines "name group = error" are
/// the cases' names.
void expect_suite_errors(const std::string& file, const std::string& group, const std::vector<SuiteError>& cases);

/// For a value that a test computes by a function of its own: compares it with the line of that name.
void expect_suite_value(const std::string& file, const std::string& group, const std::string& name, const Tensor& got);

// Numbers that C++ and NumPy write alike (tests/golden/suite.py); all are exact.
Tensor count(const Shape& shape, double start = 0, DType dtype = DType::kFloat64);  // start, start + 1, ...
Tensor whole(const Shape& shape, int64_t start = 0);                                // the same as int64
Tensor spread(const Shape& shape, int64_t seed = 0);                                // multiples of 1/8 in [-2.5, 2.5]
Tensor positive(const Shape& shape, int64_t seed = 0);                              // multiples of 1/16 in (0, 2.6)
Tensor integers(const std::vector<int64_t>& elements);
Tensor number(double value);
Tensor bools(const Shape& shape, const std::string& ones_and_zeros);

}  // namespace thtrain
