// Connectionist temporal classification compared with PyTorch's numbers, and a sum over all paths.
#include "nn/objectives/ctc.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "compiler/autodiff/gradient.h"
#include "compiler/base/random_state.h"
#include "compiler/ir/variables.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/nnet/softmax.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/runtime/function.h"
#include "nn/sequences.h"
#include "tests/support/dtypes.h"
#include "tests/support/error_text.h"
#include "tests/support/golden_lines.h"
#include "tests/support/modes.h"

namespace thtrain {
namespace {

ModelOutput output_of(const Expr& z, const Expr& lengths = {}) {  // z: [steps, batch, classes]
  const Expr rows = rows_of_steps(z);
  ModelOutput out{softmax(rows), rows, ModelOutput::Link::kSoftmax, true};
  out.steps = z.dims()[0];
  if (lengths.has_value()) out.mask = rows_of_steps(step_mask(lengths, z, z.dtype()));
  return out;
}

Ctc ctc(int64_t blank) {
  Ctc::Options options;
  options.blank = blank;
  return Ctc(options);
}

void expect_near(const Tensor& got, const Tensor& expected, double bound, const std::string& what) {
  ASSERT_EQ(got.shape(), expected.shape()) << what;
  for (int64_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got.as_double(i), expected.as_double(i), bound * std::max(1.0, std::abs(expected.as_double(i))))
        << what << ' ' << i;
}

TEST(Ctc, GivesPyTorchsLossesAndGradients) {
  std::map<std::string, Tensor> golden;
  for (const GoldenLine& line : golden_lines("ctc.txt")) {
    const std::string key = line.name.substr(line.name.find('/') + 1);
    golden[line.name] = line.result(key == "labels" || key == "lengths" || key == "blank" ? kInt : k64);
  }
  for (const std::string name : {"tutorial", "two", "random", "sharp"})
    for (DType dtype : {k64, DType::kFloat32}) {
      auto value = [&](const char* key) { return golden.at(name + "/" + key); };
      const Shape shape = value("logits").shape();
      const Expr z = tensor("z", {"steps", "batch", shape[2]}, dtype),
                 labels = tensor("labels", {"batch", "count"}, kInt), lengths = tensor("lengths", {"batch"}, kInt);
      const Expr losses = ctc(value("blank").as_int()).losses(output_of(z, lengths), {labels}).values;
      const std::vector<Tensor> got =
          in_all_modes({z, labels, lengths}, {losses, grad(sum(losses), z)},
                       {value("logits").cast(dtype), value("labels"), value("lengths")}, dtype == k64 ? 1e-11 : 1e-4);
      expect_near(got[0], value("losses"), dtype == k64 ? 1e-12 : 1e-5, name + " losses");
      expect_near(got[1], value("gradient"), dtype == k64 ? 1e-11 : 1e-4, name + " gradient");
    }
}

// Every path of 4 steps of 3 classes, drawn together as the paper's B does it.
TEST(Ctc, IsTheSumOverAllPaths) {
  const int64_t steps = 4, classes = 3;
  const Tensor z = Tensor::of(RandomState(1).normal(0, 1, 12), {steps, 1, classes});
  for (const std::vector<int64_t>& labels : {std::vector<int64_t>{1, 2}, {1, 1}, {2}, {2, 1, 2}}) {
    double sum_of_paths = 0;
    for (int64_t path = 0; path < 81; ++path) {
      std::vector<int64_t> spelled;
      double probability = 1;
      int64_t before = 0;
      for (int64_t t = 0, rest = path; t < steps; ++t, rest /= classes) {
        const int64_t symbol = rest % classes;
        double total = 0;
        for (int64_t k = 0; k < classes; ++k) total += std::exp(z.as_double(t * classes + k));
        probability *= std::exp(z.as_double(t * classes + symbol)) / total;
        if (symbol != 0 && symbol != before) spelled.push_back(symbol);
        before = symbol;
      }
      if (spelled == labels) sum_of_paths += probability;
    }
    const Expr given = tensor("z", {steps, 1, classes}, k64);
    const Tensor wanted = Tensor::of(labels, {1, static_cast<int64_t>(labels.size())});
    const Expr cost = Ctc().cost(output_of(given), {make_constant(wanted)});
    EXPECT_NEAR(in_all_modes({given}, {cost}, {z})[0].as_double(), -std::log(sum_of_paths), 1e-13) << labels.size();
  }
}

TEST(Ctc, LabelsMayBePaddedWithBlanks) {
  const Expr z = tensor("z", {3, 2, 3}, k64);
  auto losses = [&](int64_t padding, int64_t blank) {
    const std::vector<int64_t> labels = {1, padding, 1, 1};
    return ctc(blank).losses(output_of(z), {make_constant(Tensor::of(labels, {2, 2}))}).values;
  };
  const Tensor values = Tensor::of(RandomState(1).normal(0, 1, 18), {3, 2, 3});
  const std::vector<Tensor> got =
      in_all_modes({z}, {losses(-1, 0), losses(0, 0), losses(-1, 2), losses(2, 2)}, {values});
  EXPECT_TRUE(same_bits(got[0], got[1]));
  EXPECT_TRUE(same_bits(got[2], got[3]));
}

TEST(Ctc, WeightsAreThoseOfTheSequences) {
  const Expr z = tensor("z", {3, 2, 3}, k64);
  const Expr labels = make_constant(Tensor::of(std::vector<int64_t>{1, 2, 2, -1}, {2, 2}));
  const Tensor values = Tensor::of(RandomState(1).normal(0, 1, 18), {3, 2, 3});
  const Expr weights = make_constant(Tensor::vector({3.0, 1.0}));
  const Expr losses = Ctc().losses(output_of(z), {labels}).values;
  const std::vector<Tensor> got = in_all_modes(
      {z}, {losses, Ctc().cost(output_of(z), {labels}), Ctc().cost(output_of(z), {labels, weights})}, {values});
  const double first = got[0].as_double(0), second = got[0].as_double(1);
  EXPECT_NEAR(got[1].as_double(), (first + second) / 2, 1e-14);
  EXPECT_NEAR(got[2].as_double(), (3 * first + second) / 4, 1e-14);
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

TEST(CtcErrors, LabelsThatAreNoneAndSequencesThatAreTooShort) {
  const Expr z = tensor("z", {3, 1, 3}, k64), labels = tensor("labels", {1, 2}, kInt);
  for (Mode mode : {Mode::kNative, Mode::kReference}) {
    Function f = function({z, labels}, {Out(Ctc().cost(output_of(z), {labels}))}, {}, {.mode = mode});
    auto text = [&](int64_t a, int64_t b) {
      return first_line(text_without_node([&] {
        f({Tensor::zeros(k64, {3, 1, 3}), Tensor::of(std::vector<int64_t>{a, b}, {1, 2})});
      }));
    };
    EXPECT_EQ(text(2, 2), "no error");
    EXPECT_EQ(text(2, 0), "no error");
    const char* expected = "error: check: ctc: labels are classes from 0 to 2, and none follows a -1 or a blank, 0";
    EXPECT_EQ(text(1, 3), expected);
    EXPECT_EQ(text(0, 1), expected);
    EXPECT_EQ(text(-1, 1), expected);
  }
  const Expr two = tensor("z", {2, 1, 3}, k64);
  Function f = function({two, labels}, {Out(Ctc().cost(output_of(two), {labels}))});
  f({Tensor::zeros(k64, {2, 1, 3}), Tensor::of(std::vector<int64_t>{1, 2}, {1, 2})});
  EXPECT_EQ(first_line(text_without_node([&] {
              f({Tensor::zeros(k64, {2, 1, 3}), Tensor::of(std::vector<int64_t>{1, 1}, {1, 2})});
            })),
            "error: check: ctc: a sequence has fewer steps than its labels need");
}

TEST(CtcErrors, OutputsAndTargetsThatDoNotFit) {
  const Expr z = tensor("z", {4, 2, 3}, k64), labels = tensor("labels", {2, 3}, kInt);
  EXPECT_EQ(text_without_node([&] { Ctc().cost({rows_of_steps(z)}, {labels}); }),
            "error: objective \"ctc\" cannot read the output of the model\n"
            "  expected: the output of a softmax or linear layer, a row of classes at each step of a sequence\n"
            "  got:      no sequence\n"
            "  hint:     recurrent layers give sequences with output = \"all\"");
  EXPECT_EQ(text_without_node([&] { Ctc().cost(output_of(z), {tensor("labels", {8}, kInt)}); }),
            "error: objective \"ctc\" cannot take these targets\n"
            "  expected: int64[sequences, labels] (labels of each sequence, -1 behind the last one)\n"
            "  got:      int64[8] for an output float64[8, 3]\n"
            "  hint:     loss.type = \"negative_log_likelihood\" learns class numbers, behind a last layer of type "
            "\"softmax\"; "
            "data.target = \"values\" reads them as numbers to approximate");
  EXPECT_EQ(text_without_node([&] { ctc(3).cost(output_of(z), {labels}); }),
            "error: objective \"ctc\" cannot read the output of the model\n"
            "  expected: more than 3 classes (the blank is one of them)\n"
            "  got:      3 classes");
  EXPECT_EQ(text_without_node([&] {
              Ctc().cost(output_of(tensor("z", {4, 2, 1}, k64)), {labels});
            }),
            "error: objective \"ctc\" cannot read the output of the model\n"
            "  expected: at least 2 classes (the blank is one of them)\n"
            "  got:      1 class");
  EXPECT_EQ(text_without_node([&] {
              Ctc().cost(output_of(z), {labels, tensor("w", {8}, k64)});
            }),
            "error: objective \"ctc\" cannot take these weights of the examples\n"
            "  expected: float64[2]\n"
            "  got:      float64[8]");
  EXPECT_EQ(text_without_node([&] {
              Ctc().cost(output_of(z), {labels, {}, tensor("c", {3}, k64)});
            }),
            "error: objective \"ctc\" takes no weights of the classes\n"
            "  expected: weights of the sequences, or none");
  ModelOutput output = output_of(z);
  output.link = ModelOutput::Link::kSigmoid;
  EXPECT_EQ(text_without_node([&] { Ctc().cost(output, {labels}); }),
            "error: objective \"ctc\" cannot read the output of the model\n"
            "  expected: the output of a softmax or linear layer, a row of classes at each step of a sequence\n"
            "  got:      the output of a sigmoid\n"
            "  hint:     recurrent layers give sequences with output = \"all\"");
}

}  // namespace
}  // namespace thtrain
