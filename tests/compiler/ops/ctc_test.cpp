// The library's ctc compared with PyTorch's numbers, and what it refuses. tests/nn/objectives/ctc_test.cpp has masks
// and models.
#include "compiler/ops/nnet/ctc.h"

#include <gtest/gtest.h>

#include <map>

#include "compiler/api.h"
#include "tests/support/error_text.h"
#include "tests/support/golden_lines.h"

namespace thtrain::ctc_builder_test {
namespace {

TEST(CtcBuilder, LossesAndGradientsAreThoseOfPyTorch) {
  std::map<std::string, std::map<std::string, Tensor>> cases;
  for (const GoldenLine& line : golden_lines("ctc.txt")) {
    const size_t slash = line.name.find('/');
    const std::string key = line.name.substr(slash + 1);
    const bool is_float = key == "logits" || key == "losses" || key == "gradient";
    cases[line.name.substr(0, slash)][key] = line.result(is_float ? DType::kFloat64 : DType::kInt64);
  }
  ASSERT_EQ(cases.size(), 4u);
  for (auto& [name, c] : cases) {
    const Shape& shape = c["logits"].shape();
    const Expr z = tensor("z", {"steps", "batch", shape[2]}, DType::kFloat64),
               labels = tensor("labels", {"batch", "l"}, DType::kInt64),
               steps = tensor("steps", {"batch"}, DType::kInt64);
    const Expr losses = ctc(z, labels, {.steps = steps, .blank = c["blank"].as_int()});
    for (Mode mode : {Mode::kReference, Mode::kNative}) {
      Function f = function({z, labels, steps}, {losses, grad(sum(losses), z)}, {}, {.mode = mode});
      const std::vector<Tensor> got = f({c["logits"], c["labels"], c["lengths"]});
      for (size_t k = 0; k < 2; ++k) {
        const Tensor& want = c[k == 0 ? "losses" : "gradient"];
        ASSERT_EQ(got[k].shape(), want.shape()) << name;
        for (int64_t i = 0; i < want.size(); ++i)
          EXPECT_NEAR(got[k].as_double(i), want.as_double(i), 1e-10 * std::max(1.0, std::abs(want.as_double(i))))
              << name << ", " << k << " at " << i;
      }
    }
  }
}

TEST(CtcBuilder, WithoutStepsAllAreTaken) {
  const Expr z = tensor("z", {2, 1, 3}, DType::kFloat64), labels = tensor("labels", {1, 1}, DType::kInt64);
  const Expr all = ctc(z, labels), given = ctc(z, labels, {.steps = full({1}, 2)});
  const std::vector<Tensor> got = function({z, labels}, {all, given})(
      {Tensor::of(std::vector<double>{1, 2, 3, -1, 0, 1}, {2, 1, 3}), Tensor::of(std::vector<int64_t>{2}, {1, 1})});
  EXPECT_EQ(got[0].as_double(), got[1].as_double());
}

TEST(CtcBuilder, WithoutLabelsEveryStepIsABlank) {
  const Expr z = tensor("z", {2, 1, 2}, DType::kFloat64), none = tensor("none", {1, 0}, DType::kInt64);
  const Expr losses = ctc(z, none);
  const std::vector<Tensor> got = function({z, none}, {losses, grad(sum(losses), z)})(
      {Tensor::of(std::vector<double>{1, 2, -1, 3}, {2, 1, 2}), Tensor::zeros(DType::kInt64, {1, 0})});
  // PyTorch's ctc_loss of log_softmax(z)
  EXPECT_NEAR(got[0].as_double(), 5.331411615436032, 1e-14);
  const double gradient[] = {-0.731058578630005, 0.731058578630005, -0.9820137900379085, 0.9820137900379085};
  for (int64_t i = 0; i < 4; ++i) EXPECT_NEAR(got[1].as_double(i), gradient[i], 1e-14);
}

TEST(CtcBuilder, MistakesAreUserErrors) {
  const Expr z = tensor("z", {2, 3, 4}, DType::kFloat64), labels = tensor("labels", {3, 2}, DType::kInt64);
  const auto text = [](const Expr& x, const Expr& y, const CtcOptions& options = {}) {
    return text_without_node([&] { ctc(x, y, options); });
  };
  EXPECT_EQ(text(matrix("m", {2, 3}), labels),
            "error: ctc: the logits have another type\n  expected: floats [steps, batch, classes]\n"
            "  got:      m float64[2, 3]");
  EXPECT_EQ(text(z, ivector("v")),
            "error: ctc: the labels have another type\n  expected: integers [batch, labels]\n  got:      v int64[v.0]");
  EXPECT_EQ(text(z, tensor("w", {2, 2}, DType::kInt64)),
            "error: ctc: the logits and the labels are of other numbers of sequences\n"
            "  expected: z float64[2, 3, 4]\n  got:      w int64[2, 2]");
  EXPECT_EQ(text(tensor("z", {2, 3, "c"}, DType::kFloat64), labels),
            "error: ctc: the number of classes is not known, or is one\n"
            "  expected: at least 2 classes, the blank among them\n  got:      z float64[2, 3, c]");
  EXPECT_EQ(text(z, labels, {.blank = 4}),
            "error: ctc: the blank is no class\n  expected: a number from 0 to 3\n  got:      4");
  EXPECT_EQ(text(z, labels, {.steps = labels}),
            "error: ctc: the numbers of steps have another type\n  expected: integers [batch]\n"
            "  got:      labels int64[3, 2]");
}

TEST(NnetBuilders, MistakesAreUserErrors) {
  const Expr z = matrix("z", {2, 3}), v = vector("v", {2});
  EXPECT_EQ(text_without_node([&] { multiclass_hinge(z, v); }),
            "error: multiclass_hinge: no rows of scores with a label each\n"
            "  expected: scores [n, classes], integers [n]\n  got:      z float64[2, 3], labels v float64[2]");
  EXPECT_EQ(text_without_node([&] { confusion_matrix(v, v); }),
            "error: confusion_matrix: the classes are no vectors of integers\n  expected: integers [n], integers [n]\n"
            "  got:      v float64[2], predicted v float64[2]");
  EXPECT_EQ(text_without_node([&] {
              h_softmax(z, {z, v, z, z}, 3);
            }),
            "error: h_softmax: a value has another rank\n"
            "  expected: x [n, inputs], groups_w [inputs, groups], groups_b [groups], classes_w [groups, inputs, "
            "size], classes_b [groups, size]\n"
            "  got:      z float64[2, 3], z float64[2, 3], v float64[2], z float64[2, 3], z float64[2, 3]");
}

}  // namespace
}  // namespace thtrain::ctc_builder_test
