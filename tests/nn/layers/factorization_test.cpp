// The factorization machine: its formula over all pairs, and a matrix from some of its elements.
#include "nn/layers/factorization.h"

#include <gtest/gtest.h>

#include "compiler/api.h"
#include "nn/model.h"
#include "nn/model_pass.h"
#include "nn/sparse_examples.h"

namespace thtrain::factorization_test {
namespace {

// Rendle's equation 1, of sparse examples and of the same dense.
TEST(Factorization, SumsOverAllPairsOfInputs) {
  constexpr int64_t kInputs = 5, kFactors = 3;
  Model model({kInputs}, DType::kFloat64, 3);
  model.add(Factorization::Options{{.name = "machine"}, kFactors});
  const std::map<std::string, Tensor> start = {{"machine/W", Tensor::matrix({{0.5}, {-1.0}, {2.0}, {0.25}, {3.0}})},
                                               {"machine/V", model.params()[1].variable.get_value()},
                                               {"machine/b", Tensor::vector<double>({-0.75})}};
  model.load(start, "start");
  const Tensor x = Tensor::matrix({{1.0, 0.0, 2.0, 0.0, -1.5}, {0.0, 0.0, 0.0, 0.0, 0.0}});
  const SparseExamples sparse(2, kInputs, DType::kFloat64);
  std::vector<In> inputs;
  for (const Expr& part : sparse.inputs()) inputs.emplace_back(part);
  const Tensor of_sparse = function(inputs, {model.pass(sparse, Phase::kEvaluation).output()})(
      {Tensor::vector<double>({1, 2, -1.5}), Tensor::vector<int32_t>({0, 1, 2}), Tensor::vector<int32_t>({0, 3, 3}),
       Tensor::vector<int32_t>({0, 2, 4})})[0];
  const Expr in = tensor("x", {2, kInputs}, DType::kFloat64);
  const Tensor of_dense = function({in}, {model.output(in)})({x})[0];
  const Tensor v = start.at("machine/V");
  for (int64_t row = 0; row < 2; ++row) {
    double expected = -0.75;
    for (int64_t i = 0; i < kInputs; ++i) {
      const double xi = x.as_double(row * kInputs + i);
      expected += xi * start.at("machine/W").as_double(i);
      for (int64_t j = i + 1; j < kInputs; ++j)
        for (int64_t k = 0; k < kFactors; ++k)
          expected +=
              xi * x.as_double(row * kInputs + j) * v.as_double(i * kFactors + k) * v.as_double(j * kFactors + k);
    }
    EXPECT_NEAR(of_sparse.as_double(row), expected, 1e-12);
    EXPECT_NEAR(of_dense.as_double(row), expected, 1e-12);
  }
}

}  // namespace
}  // namespace thtrain::factorization_test
