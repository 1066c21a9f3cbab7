// Every kind of metric against scikit-learn's values, in chunks of any length, at extremes, and the messages of bad
// input.
#include <gtest/gtest.h>

#include <cmath>

#include "compiler/ir/variables.h"
#include "compiler/ops/evaluate.h"
#include "nn/objectives/huber.h"
#include "tests/nn/metric_kinds.h"
#include "tests/support/dtypes.h"
#include "tests/support/error_text.h"

namespace thtrain {
namespace {

using Better = Metric::Better;
const double kNaN = std::nan(""), kInf = std::numeric_limits<double>::infinity();

// Arrays of as many examples each; weights may be missing (no axis).
struct Data {
  Tensor scores, targets, weights = {};
  bool has_weights() const { return weights.rank() > 0; }
};

// The metric over the examples, cut into chunks of this length, by the references of its ops.
MetricValue measured(const Metric& metric, const Data& data, int64_t chunk) {
  std::optional<MetricTotals> totals;
  const int64_t n = data.scores.dim(0);
  for (int64_t begin = 0; begin < n; begin += chunk) {
    const int64_t length = std::min(chunk, n - begin);
    Expr scores = input_like("scores", data.scores, length), targets = input_like("targets", data.targets, length);
    std::vector<std::pair<Expr, Tensor>> bound = {{scores, data.scores.rows(begin, length)},
                                                  {targets, data.targets.rows(begin, length)}};
    MetricInput input{.scores = {scores}, .targets = {targets}};
    if (data.has_weights()) {
      input.targets.weights = input_like("weights", data.weights, length);
      bound.emplace_back(input.targets.weights, data.weights.rows(begin, length));
    }
    std::vector<MetricPart> parts = metric.parts(input);
    if (!totals) totals.emplace(parts);
    std::vector<Expr> exprs;
    for (const MetricPart& part : parts) exprs.push_back(part.value);
    totals->add(evaluate(exprs, bound));
  }
  return metric.value(*totals);
}

void expect_near(double got, double want, const std::string& where) {
  EXPECT_NEAR(got, want, 2e-13 * std::max(1.0, std::abs(want))) << where;
}

TEST(Metrics, AreScikitLearns) {
  std::map<std::string, Tensor> inputs = golden_inputs(k64);
  int cases = 0;
  for (const GoldenLine& line : golden_lines("metrics.txt")) {
    if (line.name == "input") continue;
    ++cases;
    const bool each = line.name == "each";
    std::vector<std::string> words = line.arguments;  // option, scores, targets, weights
    std::string kind = line.name;
    if (each) {
      kind = words.front();
      words.erase(words.begin());
    }
    Data data{inputs.at(words[1]), inputs.at(words[2]), inputs.at(words[3])};
    std::unique_ptr<Metric> metric = make_metric(kind, words[0]);
    for (int64_t chunk : {41, 7}) {
      MetricValue value = measured(*metric, data, chunk);
      Tensor want = line.result(k64);
      if (value.matrix) {
        ASSERT_EQ(value.matrix->shape(), want.shape());
      }
      if (each) {
        ASSERT_EQ(static_cast<int64_t>(value.by_class.size()), want.size()) << line.text;
      }
      for (int64_t i = 0; i < want.size(); ++i) {
        double got = value.matrix ? value.matrix->as_double(i)
                     : each       ? value.by_class[static_cast<size_t>(i)]
                                  : value.number.value();
        expect_near(got, want.as_double(i), line.text);
      }
    }
  }
  EXPECT_EQ(cases, 360);
}

TEST(Metrics, TheLossIsTheObjectives) {
  Expr y = tensor("y", {3, 2}, k64), t = tensor("t", {3, 2}, k64), w = tensor("w", {3}, k64);
  Huber huber;
  Loss metric;
  EXPECT_TRUE(metric.reads_losses());
  EXPECT_FALSE(ErrorRate().reads_losses());
  for (bool weighted : {false, true}) {
    TargetInput targets{t, weighted ? w : Expr()};
    std::vector<MetricPart> parts =
        metric.parts({.scores = huber.scores({y}), .targets = targets, .losses = huber.losses({y}, targets)});
    std::vector<Expr> exprs = {huber.cost({y}, targets)};
    for (const MetricPart& part : parts) exprs.push_back(part.value);
    std::vector<Tensor> results = evaluate(exprs, {{y, Tensor::matrix<double>({{1, 2}, {3, 4}, {5, 6}})},
                                                   {t, Tensor::matrix<double>({{0, 2.5}, {3, 0}, {5.5, 9}})},
                                                   {w, Tensor::vector({1.0, 0.5, 0.25})}});
    MetricTotals totals(parts);
    totals.add(std::span(results).subspan(1));
    EXPECT_NEAR(*metric.value(totals).number, results[0].as_double(), 1e-15);
  }
}

double number(const Metric& metric, const Data& data) {
  return measured(metric, data, data.scores.dim(0)).number.value();
}

TEST(Metrics, EqualScoresAndNaN) {
  // The first of the largest is predicted, and NaN is larger than any number.
  Tensor scores = Tensor::matrix<double>({{1, 1, 0}, {1, 1, 0}, {0, kNaN, 5}, {0, kNaN, 5}, {kNaN, kNaN, 0}});
  Tensor classes = Tensor::vector<int64_t>({0, 1, 1, 2, 1});
  EXPECT_EQ(number(ErrorRate(), {scores, classes}), 60);
  EXPECT_EQ(number(Accuracy(), {scores, classes}), 40);
  auto top = [&](int64_t k) {
    TopKError::Options options;
    options.k = k;
    return number(TopKError(options), {scores, classes});
  };
  EXPECT_EQ(top(1), 60);
  EXPECT_EQ(top(2), 0);
  Tensor last = Tensor::vector<int64_t>({2, 2, 0, 0, 2});
  TopKError::Options options;
  options.k = 2;
  EXPECT_EQ(number(TopKError(options), {scores, last}), 100);
  // Of single scores a NaN, and the threshold itself, say no.
  Tensor single = Tensor::matrix<double>({{kNaN}, {0.5}, {0.6}, {kInf}});
  EXPECT_EQ(number(ErrorRate(), {single, Tensor::vector<int64_t>({0, 0, 1, 1})}), 0);
  EXPECT_TRUE(std::isnan(number(MeanSquaredError(), {single, single})));
  EXPECT_TRUE(std::isnan(number(R2(), {single, Tensor::vector({1.0, 2.0, 3.0, 4.0})})));
}

TEST(Metrics, AreasOfTiesOfOneClassAndOfNaN) {
  Tensor labels = Tensor::vector<int64_t>({0, 1, 0, 1});
  auto area = [&](std::vector<double> scores, const Tensor& of) {
    return number(Auc(), {Tensor::of(scores, {4, 1}), of});
  };
  EXPECT_EQ(area({1, 1, 1, 1}, labels), 0.5);
  EXPECT_EQ(area({0, 1, 0, 1}, labels), 1);
  EXPECT_EQ(area({1, 0, 1, 0}, labels), 0);
  EXPECT_EQ(area({-kInf, 0, 0, kInf}, labels), 0.875);
  EXPECT_TRUE(std::isnan(area({0, kNaN, 0, 1}, labels)));
  EXPECT_TRUE(std::isnan(area({0, 1, 2, 3}, Tensor::vector<int64_t>({1, 1, 1, 1}))));
  // Class 2 of three is missing: the mean is that of the others.
  Tensor scores = Tensor::matrix<double>({{3, 1, 0}, {2, 2, 0}, {2, 1, 0}, {0, 3, 0}});
  MetricValue value = measured(Auc(), {scores, labels}, 4);
  EXPECT_EQ(value.by_class[0], 0.875);
  EXPECT_EQ(value.by_class[1], 1);
  EXPECT_TRUE(std::isnan(value.by_class[2]));
  EXPECT_EQ(*value.number, 0.9375);
  // Nobody counts whose weight is 0.
  EXPECT_EQ(
      measured(Auc(),
               {Tensor::of(std::vector<double>{9, 1, 0, 1}, {4, 1}), labels, Tensor::vector({0.0, 1.0, 1.0, 1.0})}, 3)
          .number,
      1.0);
}

TEST(Metrics, OfNothing) {
  Tensor scores = Tensor::matrix<double>({{1, 0}, {0, 1}}), none = Tensor::vector({0.0, 0.0});
  Tensor classes = Tensor::vector<int64_t>({0, 0});
  EXPECT_TRUE(std::isnan(number(ErrorRate(), {scores, classes, none})));
  EXPECT_TRUE(std::isnan(number(MeanSquaredError(), {scores, scores, none})));
  EXPECT_TRUE(std::isnan(number(Auc(), {scores, classes, none})));
  EXPECT_EQ(number(F1(), {scores, classes, none}), 0);
  EXPECT_TRUE(std::isnan(number(R2(), {Tensor::zeros(k64, {1, 1}), Tensor::vector({1.0})})));
}

TEST(Metrics, R2OfEqualTargets) {
  Tensor equal = Tensor::vector({2.0, 2.0, 2.0}), other = Tensor::vector({2.0, 2.0, 3.0});
  EXPECT_EQ(number(R2(), {equal, equal}), 1);
  EXPECT_EQ(number(R2(), {other, equal}), 0);
}

TEST(Metrics, ThresholdIsTheScores) {
  Expr scores = tensor("s", {2, 1}, k64), labels = tensor("y", {2}, kInt);
  std::vector<MetricPart> parts = ErrorRate().parts({.scores = {scores, 0}, .targets = {labels}});
  Tensor result = evaluate({parts[0].value}, {{scores, Tensor::matrix<double>({{0.25}, {-0.25}})},
                                              {labels, Tensor::vector<int64_t>({1, 0})}})[0];
  EXPECT_EQ(result.as_int(), 0);
}

TEST(Metrics, SayWhatTheyAre) {
  TopKError::Options options;
  options.k = 3;
  std::vector<std::unique_ptr<Metric>> all;
  for (const char* kind :
       {"error", "accuracy", "mean_squared_error", "mean_absolute_error", "r2", "auc", "confusion_matrix"})
    all.push_back(make_metric(kind, "-"));
  for (const char* kind : {"precision", "recall", "f1"}) all.push_back(make_metric(kind, "average:macro"));
  all.push_back(options.make());
  all.push_back(Loss::Options().make());
  std::string text;
  for (const auto& metric : all)
    text += str(metric->name(),
                metric->better() == Better::kSmaller  ? " smaller"
                : metric->better() == Better::kLarger ? " larger"
                                                      : " neither",
                metric->unit(), "; ");
  EXPECT_EQ(text,
            "error smaller%; accuracy larger%; mean_squared_error smaller; mean_absolute_error smaller; r2 larger; auc "
            "larger; confusion_matrix neither; precision larger; recall larger; f1 larger; top_3_error smaller%; loss "
            "smaller; ");
}

TEST(Metrics, ArePrinted) {
  EXPECT_EQ(ErrorRate().text({.number = 1.6499}), "1.65 %");
  EXPECT_EQ(ErrorRate().text({.number = kNaN}), "nan %");
  EXPECT_EQ(R2().text({.number = 0.123456789}), "0.123457");
  EXPECT_EQ(MeanSquaredError().text({.number = 1e300}), "1e+300");
  EXPECT_EQ(ErrorRate().text({.number = 1e300}).size(), 306u);
  EXPECT_EQ(ConfusionMatrix().text({.matrix = Tensor::matrix<double>({{12, 0}, {1, 2.5}})}), " 12   0\n  1 2.5");
}

// ---- messages ----

ConfigPosition metrics_line(int number) {
  return {.file = "a.toml", .line = number, .column = 1, .length = 9, .source_line = "[metrics]"};
}

TEST(MetricErrors, ScoresAndTargetsThatDoNotSuit) {
  Expr scores = tensor("s", {5, 3}, k64), labels = tensor("y", {5}, kInt), values = tensor("t", {5, 3}, k64);
  auto text = [&](const Metric& metric, const Expr& s, const Expr& t, const Expr& w = {}) {
    return text_without_node([&] { metric.parts({.scores = {s}, .targets = {t, w}}); });
  };
  R2::Options options;
  options.position = metrics_line(4);
  EXPECT_EQ(text(R2(options), scores, labels),
            "error: metric \"r2\" cannot take these targets\n"
            "  expected: float64[5, 3] (values)\n"
            "  got:      int64[5] for an output float64[5, 3]\n"
            "  config:   a.toml:4:1\n"
            "      4 | [metrics]\n"
            "        | ^^^^^^^^^");
  TopKError::Options five;
  five.path = "metrics.2";
  EXPECT_EQ(text(TopKError(five), scores, labels),
            "error: metric \"top_5_error\" cannot read the output of the model\n"
            "  expected: a row of more than 5 scores for each example\n"
            "  got:      float64[5, 3]\n"
            "  hint:     a smaller metrics.2.k");
  TopKError::Options one;
  one.k = 1;
  EXPECT_EQ(text(TopKError(one), tensor("s", {5, 1}, k64), labels),
            "error: metric \"top_1_error\" cannot read the output of the model\n"
            "  expected: a row of more than 1 score for each example\n"
            "  got:      float64[5, 1]");
  EXPECT_EQ(text(ConfusionMatrix(), scores, values),
            "error: metric \"confusion_matrix\" cannot take these targets\n"
            "  expected: int64[5] (classes)\n"
            "  got:      float64[5, 3] for an output float64[5, 3]");
  EXPECT_EQ(text(ErrorRate(), tensor("s", {5, 3, 2}, k64), labels),
            "error: metric \"error\" cannot read the output of the model\n"
            "  expected: a row of scores for each example\n"
            "  got:      float64[5, 3, 2]");
  EXPECT_EQ(text(Auc(), matrix("s"), ivector("y")),
            "error: metric \"auc\" cannot read the output of the model\n"
            "  expected: a row of scores for each example, of a known length\n"
            "  got:      float64[s.0, s.1]");
  EXPECT_EQ(text(*of_average<F1>("binary"), scores, labels),
            "error: metric \"f1\" cannot read the output of the model\n"
            "  expected: scores of two classes\n"
            "  got:      float64[5, 3]\n"
            "  hint:     average = \"macro\" is for any number of them");
  EXPECT_EQ(text(*of_average<Recall>("binary"), scores, values),
            "error: metric \"recall\" cannot read the output of the model\n"
            "  expected: the score of one label\n"
            "  got:      float64[5, 3]\n"
            "  hint:     average = \"macro\" is for any number of them");
  EXPECT_EQ(text(ErrorRate(), scores, labels, labels),
            "error: metric \"error\" cannot take these weights of the examples\n"
            "  expected: float64[5]\n"
            "  got:      int64[5]");
}

TEST(MetricErrors, LabelsOutOfRange) {
  Tensor scores = Tensor::matrix<double>({{1, 0}, {0, 1}});
  for (int64_t wrong : {-1, 2})
    for (const char* kind : {"confusion_matrix", "f1"})
      EXPECT_EQ(text_without_node([&] {
                  measured(*make_metric(kind, "average:macro"), {scores, Tensor::vector<int64_t>({0, wrong})}, 2);
                }),
                "error: a label is out of range\n  expected: classes that the scores have");
}

TEST(MetricOptions, AreReadFromAConfiguration) {
  ConfigNode root;
  auto set = [&](const char* key, ConfigNode value) {
    value.key = key;
    root.children = {value};
  };
  Findings findings;
  set("k", ConfigNode::of(int64_t{3}));
  EXPECT_EQ(read_config<TopKError::Options>(root, findings).k, 3);
  set("average", ConfigNode::of(std::string("micro")));
  EXPECT_EQ(read_config<F1::Options>(root, findings).average, Average::kMicro);
  EXPECT_TRUE(findings.empty());
  set("k", ConfigNode::of(int64_t{0}));
  read_config<TopKError::Options>(root, findings);
  EXPECT_EQ(text_without_node([&] { findings.raise(); }),
            "error: k is out of range\n"
            "  expected: an integer, at least 1\n"
            "  got:      0\n"
            "  hint:     k: how many classes count as right");
}

}  // namespace
}  // namespace thtrain
