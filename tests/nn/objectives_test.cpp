// Every kind of objective against PyTorch's values and gradients, at extremes, and the messages of bad input.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "compiler/autodiff/gradient.h"
#include "compiler/ir/print.h"
#include "compiler/ir/variables.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/evaluate.h"
#include "compiler/ops/nnet/softmax.h"
#include "compiler/runtime/function.h"
#include "nn/losses.h"
#include "nn/objectives/absolute_error.h"
#include "nn/objectives/binary_crossentropy.h"
#include "nn/objectives/hinge.h"
#include "nn/objectives/huber.h"
#include "nn/objectives/negative_log_likelihood.h"
#include "nn/objectives/poisson.h"
#include "nn/objectives/squared_error.h"
#include "tests/support/dtypes.h"
#include "tests/support/error_text.h"
#include "tests/support/golden_lines.h"

namespace thtrain {
namespace {

using Link = ModelOutput::Link;
const double kNoNumber = std::nan("");

std::vector<double> numbers_of(std::string text) {
  std::vector<double> out;
  std::istringstream in(text);
  for (std::string number; std::getline(in, number, '/');) out.push_back(std::stod(number));
  return out;
}

// "margin:0.5,squared:True" or "-".
std::map<std::string, std::string> options_of(const std::string& words) {
  std::map<std::string, std::string> out;
  std::istringstream in(words);
  for (std::string word; words != "-" && std::getline(in, word, ',');) {
    size_t colon = word.find(':');
    out[word.substr(0, colon)] = word.substr(colon + 1);
  }
  return out;
}

std::unique_ptr<Objective> make_objective(const std::string& kind, const std::string& words) {
  auto given = options_of(words);
  if (kind == "huber") {
    Huber::Options options;
    if (given.contains("delta")) options.delta = std::stod(given["delta"]);
    return options.make();
  }
  if (kind == "hinge") {
    Hinge::Options options;
    if (given.contains("margin")) options.margin = std::stod(given["margin"]);
    options.squared = given.contains("squared");
    return options.make();
  }
  if (kind == "binary_crossentropy") {
    BinaryCrossentropy::Options options;
    if (given.contains("pos_weight")) options.pos_weight = numbers_of(given["pos_weight"]);
    return options.make();
  }
  if (kind == "negative_log_likelihood") return NegativeLogLikelihood::Options().make();
  if (kind == "squared_error") return SquaredError::Options().make();
  if (kind == "poisson") return Poisson::Options().make();
  if (kind == "absolute_error") return AbsoluteError::Options().make();
  throw std::runtime_error("an unknown kind " + kind);
}

ModelOutput output_of(const Expr& z, const std::string& link) {
  if (link == "sigmoid") return {sigmoid(z), z, Link::kSigmoid};
  if (link == "softmax") return {softmax(z), z, Link::kSoftmax};
  return {z};
}

// The inputs of the golden file, and cases of them.
class Golden {
 public:
  /// With `known` false, only a call knows how many examples there are.
  explicit Golden(DType dtype, bool known = true) : dtype_(dtype) {
    for (const GoldenLine& line : golden_lines("objectives.txt")) {
      if (line.name != "input") {
        lines_.push_back(line);
        continue;
      }
      bool whole = line.values[0].find('.') == std::string::npos;
      const std::string& name = line.arguments[0];
      values_[name] = line.result(whole ? kInt : dtype);
      Type type = type_of(values_[name]);
      if (!known && name[0] != 'c') type.dims[0] = Dim::named(str("n", type.dims[0].value()));
      inputs_.emplace(name, make_input(type, name));
    }
  }
  const std::vector<GoldenLine>& lines() const { return lines_; }
  Expr input(const std::string& name) const { return name == "-" ? Expr() : inputs_.at(name); }
  Expr build(const GoldenLine& line) const {
    const std::vector<std::string>& w = line.arguments;
    std::unique_ptr<Objective> objective = make_objective(w[0], w[1]);
    Expr z = input(w[3]);
    ModelOutput output = output_of(z, w[2]);
    TargetInput targets{input(w[4]), input(w[5]), input(w[6])};
    if (line.name == "losses") return objective->losses(output, targets).values;
    Expr cost = objective->cost(output, targets);
    return line.name == "cost" ? cost : grad(cost, z);
  }
  std::vector<std::pair<Expr, Tensor>> bound() const {
    std::vector<std::pair<Expr, Tensor>> out;
    for (const auto& [name, expr] : inputs_) out.emplace_back(expr, values_.at(name));
    return out;
  }
  void expect(const GoldenLine& line, const Tensor& got) const {
    SCOPED_TRACE(line.text.substr(0, line.text.find('=')));
    Tensor want = line.result(dtype_);
    ASSERT_EQ(got.type_text(), want.type_text());
    double tolerance = dtype_ == k64 ? 1e-13 : 2e-6;
    for (int64_t i = 0; i < want.size(); ++i) {
      double scale = line.name == "gradient" ? 1 : std::max(1.0, std::abs(want.as_double(i)));
      if (line.name == "gradient" && std::abs(want.as_double(i)) > 1) scale = std::abs(want.as_double(i));
      EXPECT_NEAR(got.as_double(i), want.as_double(i), tolerance * scale) << i;
    }
  }

 private:
  DType dtype_;
  std::vector<GoldenLine> lines_;
  std::map<std::string, Tensor> values_;
  std::map<std::string, Expr> inputs_;
};

TEST(Objectives, LossesCostsAndGradientsArePyTorchs) {
  for (auto [dtype, known] : {std::pair(k64, true), {k64, false}, {DType::kFloat32, true}}) {
    Golden golden(dtype, known);
    EXPECT_EQ(golden.lines().size(), 3 * 56u);
    for (const GoldenLine& line : golden.lines())
      golden.expect(line, evaluate({golden.build(line)}, golden.bound())[0]);
  }
}

TEST(Objectives, NativeCodeComputesThem) {
  Golden golden(k64);
  std::vector<In> inputs;
  std::vector<Tensor> arguments;
  for (const auto& [expr, value] : golden.bound()) {
    inputs.emplace_back(expr);
    arguments.push_back(value);
  }
  std::map<std::string, int> taken;  // a few of each kind
  std::vector<const GoldenLine*> lines;
  std::vector<Out> outputs;
  for (const GoldenLine& line : golden.lines()) {
    bool weighted = line.arguments[5] != "-" || line.arguments[6] != "-";
    if (++taken[str(line.name, line.arguments[0], weighted, line.arguments[4])] > 1) continue;
    lines.push_back(&line);
    outputs.emplace_back(golden.build(line));
  }
  FunctionOptions options;
  options.unused_inputs = UnusedInputs::kAllowed;
  std::vector<Tensor> got = function(inputs, outputs, {}, options)(arguments);
  for (size_t i = 0; i < lines.size(); ++i) golden.expect(*lines[i], got[i]);
}

// The number of a function of one input.
double at(const Expr& value, const Expr& x, const Tensor& of) {
  return evaluate({value}, {{x, of}})[0].as_double();
}

TEST(Objectives, GradientsAgreeWithDifferences) {
  Golden golden(k64);
  const double step = 1e-6;
  for (const GoldenLine& line : golden.lines()) {
    if (line.name != "cost" || line.arguments[3].find("steep") != std::string::npos) continue;
    SCOPED_TRACE(line.text);
    Expr cost = golden.build(line), z = golden.input(line.arguments[3]), gradient = grad(cost, z);
    auto bound = golden.bound();
    Tensor exact = evaluate({gradient}, bound)[0];
    for (auto& [expr, value] : bound) {
      if (!expr.same(z)) continue;
      Tensor original = value;
      for (int64_t i = 0; i < original.size(); ++i) {
        double costs[2];
        for (int side : {0, 1}) {
          value = original.copy();
          value.data<double>()[i] += side == 0 ? -step : step;
          costs[side] = evaluate({cost}, bound)[0].as_double();
        }
        EXPECT_NEAR(exact.as_double(i), (costs[1] - costs[0]) / (2 * step), 1e-8) << i;
      }
      value = original;
    }
  }
}

TEST(NegativeLogLikelihoodTest, KeepsTheBitsOfTheFunction) {
  Expr z = tensor("z", {20, 10}, DType::kFloat32), y = tensor("y", {20}, kInt);
  Expr cost = NegativeLogLikelihood().cost({softmax(z), z, Link::kSoftmax}, {y});
  EXPECT_EQ(expr_text(cost), expr_text(negative_log_likelihood(z, y)));
}

TEST(Objectives, OfTwoClassesRefuseOtherLabels) {
  Expr z = tensor("z", {3, 1}, k64), y = tensor("y", {3}, kInt);
  Tensor scores = Tensor::of(std::vector<double>{1, 2, 3}, {3, 1});
  for (const Expr& cost : {BinaryCrossentropy().cost({z}, {y}), Hinge().cost({z}, {y})}) {
    std::string message = "error: check: labels of two classes are 0 and 1\n  expected: a condition that holds";
    for (int64_t wrong : {-1, 2})
      EXPECT_EQ(text_without_node([&] {
                  evaluate({cost}, {{z, scores}, {y, Tensor::vector<int64_t>({0, wrong, 1})}});
                }),
                message);
    Function native = function({z, y}, {cost});
    EXPECT_EQ(text_without_node([&] { native({scores, Tensor::vector<int64_t>({0, 1, 2})}); }), message);
  }
}

TEST(Objectives, OfSeveralClassesRefuseOtherLabels) {
  Expr z = tensor("z", {2, 3}, k64), y = tensor("y", {2}, kInt);
  for (const Expr& cost : {NegativeLogLikelihood().cost({z}, {y}), Hinge().cost({z}, {y})})
    for (int64_t wrong : {-1, 3})
      EXPECT_THROW(evaluate({cost}, {{z, Tensor::zeros(k64, {2, 3})}, {y, Tensor::vector<int64_t>({0, wrong})}}),
                   UserError);
}

TEST(Objectives, NaNAndInfinityStay) {
  Expr z = tensor("z", {1, 2}, k64), y = make_constant(Tensor::vector<int64_t>({1}));
  Expr t = make_constant(Tensor::of(std::vector<double>{1, 0}, {1, 2}));
  const double inf = std::numeric_limits<double>::infinity();
  for (auto [a, b] : {std::pair(kNoNumber, 0.0), {0.0, kNoNumber}}) {
    Tensor scores = Tensor::of(std::vector<double>{a, b}, {1, 2});
    EXPECT_TRUE(std::isnan(at(NegativeLogLikelihood().cost({z}, {y}), z, scores)));
    EXPECT_TRUE(std::isnan(at(Hinge().cost({z}, {y}), z, scores)));
    EXPECT_TRUE(std::isnan(at(Hinge().cost({z}, {t}), z, scores)));
    EXPECT_TRUE(std::isnan(at(BinaryCrossentropy().cost({z}, {t}), z, scores)));
    EXPECT_TRUE(std::isnan(at(SquaredError().cost({z}, {t}), z, scores)));
    EXPECT_TRUE(std::isnan(at(AbsoluteError().cost({z}, {t}), z, scores)));
    EXPECT_TRUE(std::isnan(at(Huber().cost({z}, {t}), z, scores)));
  }
  Tensor large = Tensor::of(std::vector<double>{-inf, 0}, {1, 2});
  EXPECT_EQ(at(SquaredError().cost({z}, {t}), z, large), inf);
  EXPECT_EQ(at(AbsoluteError().cost({z}, {t}), z, large), inf);
  EXPECT_EQ(at(Huber().cost({z}, {t}), z, large), inf);
}

TEST(HuberTest, LargeErrorsDoNotOverflow) {
  Expr y = tensor("y", {2}, k64), t = make_constant(Tensor::vector({0.0, 0.0}));
  Expr cost = Huber().cost({y}, {t});
  Tensor large = Tensor::vector({1e300, -1e300});
  EXPECT_EQ(at(cost, y, large), 1e300);
  EXPECT_EQ(evaluate({grad(cost, y)}, {{y, large}})[0].text(), "[0.5, -0.5]");
}

TEST(HingeTest, TiesGoToTheFirstAndAtTheMarginThereIsNoGradient) {
  Expr z = tensor("z", {2, 4}, k64), y = make_constant(Tensor::vector<int64_t>({2, 0}));
  Expr cost = Hinge().cost({z}, {y});
  Tensor scores = Tensor::of(std::vector<double>{3, 3, 1, 3, 5, 4, 4, 4}, {2, 4});
  EXPECT_EQ(at(cost, z, scores), 1.5);
  EXPECT_EQ(evaluate({grad(cost, z)}, {{z, scores}})[0].text(), "[[0.5, 0, -0.5, 0], [0, 0, 0, 0]]");
}

TEST(Objectives, ScoresAreWhatMetricsRead) {
  Expr z = tensor("z", {2, 1}, k64);
  Tensor of = Tensor::of(std::vector<double>{0, -1e4}, {2, 1});
  EXPECT_TRUE(NegativeLogLikelihood().scores({z}).value.same(z));
  EXPECT_EQ(NegativeLogLikelihood().scores({z}).threshold, 0.5);
  ModelOutput output = output_of(z, "sigmoid");
  EXPECT_TRUE(BinaryCrossentropy().scores(output).value.same(output.value));
  EXPECT_EQ(evaluate({BinaryCrossentropy().scores({z}).value}, {{z, of}})[0].text(), "[[0.5], [0]]");
  EXPECT_TRUE(Hinge().scores(output).value.same(z));
  EXPECT_EQ(Hinge().scores(output).threshold, 0);
}

// ---- messages ----

ConfigPosition loss_line(int number) {
  return {.file = "a.toml", .line = number, .column = 1, .length = 6, .source_line = "[loss]"};
}
const std::string kLocation = "\n  config:   a.toml:3:1\n      3 | [loss]\n        | ^^^^^^";

TEST(ObjectiveErrors, TargetsThatDoNotSuit) {
  Expr z = tensor("z", {5, 3}, k64), labels = tensor("y", {5}, kInt), values = tensor("t", {5, 3}, k64);
  NegativeLogLikelihood::Options options;
  options.position = loss_line(3);
  NegativeLogLikelihood nll(options);
  EXPECT_EQ(text_without_node([&] { nll.cost({z}, {values}); }),
            "error: objective \"negative_log_likelihood\" cannot take these targets\n"
            "  expected: int64[5] (classes)\n"
            "  got:      float64[5, 3] for an output float64[5, 3]" +
                kLocation);
  EXPECT_EQ(text_without_node([&] { nll.losses({z}, {}); }),
            "error: objective \"negative_log_likelihood\" cannot take these targets\n"
            "  expected: int64[5] (classes)\n"
            "  got:      no targets for an output float64[5, 3]" +
                kLocation);
  EXPECT_EQ(text_without_node([&] { SquaredError().cost({z}, {labels}); }),
            "error: objective \"squared_error\" cannot take these targets\n"
            "  expected: float64[5, 3] (values)\n"
            "  got:      int64[5] for an output float64[5, 3]\n"
            "  hint:     loss.type = \"negative_log_likelihood\" learns class numbers, behind a last layer of type "
            "\"softmax\"; data.target = \"values\" reads them as numbers to approximate");
  EXPECT_EQ(text_without_node([&] {
              Hinge().cost({z}, {tensor("t", {4, 3}, k64)});
            }),
            "error: objective \"hinge\" cannot take these targets\n"
            "  expected: int64[5] (classes), or float64[5, 3] (values)\n"
            "  got:      float64[4, 3] for an output float64[5, 3]");
  EXPECT_EQ(text_without_node([&] { SquaredError().cost({labels}, {labels}); }),
            "error: objective \"squared_error\" cannot read the output of the model\n"
            "  expected: float32 or float64, an example along the first axis\n"
            "  got:      int64[5]");
}

TEST(ObjectiveErrors, OutputsThatDoNotSuit) {
  Expr z = tensor("z", {5, 3}, k64), labels = tensor("y", {5}, kInt), values = tensor("t", {5, 3}, k64);
  EXPECT_EQ(text_without_node([&] { NegativeLogLikelihood().cost(output_of(z, "sigmoid"), {labels}); }),
            "error: objective \"negative_log_likelihood\" cannot read the output of the model\n"
            "  expected: the output of a softmax or linear layer, a row of classes for each example\n"
            "  got:      the output of a sigmoid\n"
            "  hint:     binary_crossentropy is for sigmoids");
  EXPECT_EQ(text_without_node([&] { BinaryCrossentropy().cost(output_of(z, "softmax"), {values}); }),
            "error: objective \"binary_crossentropy\" cannot read the output of the model\n"
            "  expected: the output of a sigmoid or linear layer\n"
            "  got:      the output of a softmax\n"
            "  hint:     negative_log_likelihood is for softmaxes");
  EXPECT_EQ(text_without_node([&] { BinaryCrossentropy().cost({z}, {labels}); }),
            "error: objective \"binary_crossentropy\" cannot read the output of the model\n"
            "  expected: one number for each example, for classes 0 and 1\n"
            "  got:      float64[5, 3]\n"
            "  hint:     a softmax and negative_log_likelihood tell several classes apart");
  EXPECT_EQ(text_without_node([&] {
              Hinge().cost({tensor("z", {5, 3, 2}, k64)}, {labels});
            }),
            "error: objective \"hinge\" cannot read the output of the model\n"
            "  expected: a row of scores for each example\n"
            "  got:      float64[5, 3, 2]");
  BinaryCrossentropy::Options options;
  options.pos_weight = {1, 2};
  options.path = "loss";
  EXPECT_EQ(text_without_node([&] { BinaryCrossentropy(options).cost({z}, {values}); }),
            "error: objective \"binary_crossentropy\" cannot read the output of the model\n"
            "  expected: loss.pos_weight of one number, or of one for each label\n"
            "  got:      2 numbers for an output float64[5, 3]");
}

TEST(ObjectiveErrors, WeightsThatDoNotSuit) {
  Expr z = tensor("z", {5, 3}, k64), labels = tensor("y", {5}, kInt), values = tensor("t", {5, 3}, k64);
  EXPECT_EQ(text_without_node([&] {
              Huber().cost({z}, {values, tensor("w", {4}, k64)});
            }),
            "error: objective \"huber\" cannot take these weights of the examples\n"
            "  expected: float64[5]\n"
            "  got:      float64[4]");
  EXPECT_EQ(text_without_node([&] {
              Huber().cost({z}, {values, {}, tensor("c", {5}, k64)});
            }),
            "error: objective \"huber\" cannot take these weights of the classes\n"
            "  expected: floats, one for each output: float64[3]\n"
            "  got:      float64[5] for an output float64[5, 3]");
  EXPECT_EQ(text_without_node([&] {
              NegativeLogLikelihood().cost({z}, {labels, {}, tensor("c", {2}, k64)});
            }),
            "error: objective \"negative_log_likelihood\" cannot take these weights of the classes\n"
            "  expected: floats, one for each class: float64[3]\n"
            "  got:      float64[2] for an output float64[5, 3]");
}

// ---- options ----

template <class Options>
Options read(std::vector<std::pair<std::string, ConfigNode>> entries) {
  ConfigNode root;
  for (auto& [key, node] : entries) {
    node.key = key;
    root.children.push_back(node);
  }
  Findings findings;
  Options options = read_config<Options>(root, findings);
  findings.raise();
  return options;
}

TEST(ObjectiveOptions, AreReadFromAConfiguration) {
  EXPECT_EQ(read<Huber::Options>({{"delta", ConfigNode::of(2.5)}}).delta, 2.5);
  EXPECT_TRUE(read<Hinge::Options>({{"squared", ConfigNode::of(true)}}).squared);
  ConfigNode list{.kind = ConfigNode::Kind::kArray, .children = {ConfigNode::of(2.0), ConfigNode::of(0.0)}};
  EXPECT_EQ(read<BinaryCrossentropy::Options>({{"pos_weight", list}}).pos_weight, std::vector<double>({2, 0}));
  EXPECT_EQ(text_without_node([] {
              read<Huber::Options>({{"delta", ConfigNode::of(0.0)}});
            }),
            "error: delta is out of range\n"
            "  expected: a number above 0\n"
            "  got:      0.0\n"
            "  hint:     delta: from which error on it grows linearly");
  EXPECT_EQ(text_without_node([] {
              read<Hinge::Options>({{"margin", ConfigNode::of(-1.0)}});
            }),
            "error: margin is out of range\n"
            "  expected: a number above 0\n"
            "  got:      -1.0\n"
            "  hint:     margin: lead of the right score from which on the loss is 0");
}

}  // namespace
}  // namespace thtrain
