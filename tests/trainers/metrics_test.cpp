// Objectives and metrics in whole runs: what is measured, what a run goes by, and objectives with gradients of their
// own.
#include "compiler/autodiff/gradient.h"
#include "compiler/base/file.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "nn/metrics/accuracy.h"
#include "nn/metrics/class_ratios.h"
#include "nn/metrics/confusion_matrix.h"
#include "nn/metrics/error.h"
#include "nn/metrics/loss.h"
#include "nn/metrics/r2.h"
#include "nn/metrics/top_k_error.h"
#include "nn/objectives/squared_error.h"
#include "tests/support/training_support.h"
#include "trainers/checkpoint.h"
#include "trainers/examples.h"
#include "trainers/inspect.h"
#include "trainers/load_data.h"
#include "trainers/predict.h"

namespace thtrain {
namespace {

struct Measured {
  TrainSummary summary;
  std::vector<EpochReport> reports;
  MetricNames names;
  Checkpoint checkpoint;
  std::string best, metrics;
};
Measured trained(const Experiment& e, const Dataset& data, const std::string& path) {
  Measured out;
  RunFolder folder = RunFolder::create(path, e);
  TrainHooks hooks{.on_start = [&](const ModelSummary& m) { out.names = m.metrics; },
                   .on_epoch = [&](const EpochReport& r) { out.reports.push_back(r); }};
  out.summary = train(e, data, folder, hooks);
  out.checkpoint = read_checkpoint(folder.checkpoint());
  out.best = folder.best();
  out.metrics = read_file(folder.metrics());
  return out;
}

TopKError::Options top_k(int64_t k) {
  TopKError::Options out;
  out.k = k;
  return out;
}

TEST(Metrics, TheErrorAndTheLossesAreInEveryEpoch) {
  TemporaryFolder temporary;
  Experiment e = reference_experiment();
  Dataset data = load_data(e, "");
  Measured done = trained(e, data, temporary.path("run"));
  ASSERT_EQ(done.reports.size(), 3u);
  for (const EpochReport& report : done.reports) {
    EXPECT_TRUE(report.train_error && report.valid_error && report.valid_loss);
    EXPECT_GT(*report.valid_loss, 0);
  }
  EXPECT_EQ(metrics_line(done.reports[0]), done.metrics.substr(0, done.metrics.find('\n') + 1));
  for (const char* key : {"\"train_error\": ", "\"valid_loss\": ", "\"valid_error\": "})
    EXPECT_NE(done.metrics.find(key), std::string::npos) << key;
  EXPECT_EQ(done.checkpoint.state.history.back().train_error, done.reports.back().train_error);
  EXPECT_EQ(done.checkpoint.state.history.back().valid_loss, done.reports.back().valid_loss);
  // Of the last epoch, the weights of the checkpoint are measured as evaluate() measures them.
  Evaluation valid = evaluate(e, data, Part::kValid, temporary.path("run") + "/checkpoint.npz");
  EXPECT_EQ(valid.error, *done.reports.back().valid_error);
  EXPECT_EQ(valid.loss, *done.reports.back().valid_loss);
  ASSERT_TRUE(valid.confusion);
  int64_t wrong = 0;
  for (int64_t i = 0; i < 10; ++i)
    for (int64_t j = 0; j < 10; ++j) wrong += i == j ? 0 : valid.confusion->as_int(10 * i + j);
  EXPECT_EQ(wrong, valid.errors);
}

TEST(Metrics, SeveralAtOnceAndTheBestByOneOfThem) {
  TemporaryFolder temporary;
  Experiment e = reference_experiment(), plain = e;
  e.trainer.metrics = {ErrorRate::Options(), top_k(3), Accuracy::Options()};
  e.trainer.monitor = "accuracy";
  Dataset data = load_data(e, "");
  Measured done = trained(e, data, temporary.path("run")), other = trained(plain, data, temporary.path("plain"));
  EXPECT_EQ(join(done.names, " ", [](const MetricName& m) { return m.name; }), "accuracy error top_3_error");
  EXPECT_TRUE(done.names[0].larger_is_better);
  EXPECT_EQ(done.checkpoint.metrics.size(), 3u);
  expect_same(done.checkpoint.weights, other.checkpoint.weights);
  expect_same(done.checkpoint.best, other.checkpoint.best);  // the largest accuracy is the smallest error
  for (size_t i = 0; i < done.reports.size(); ++i) {
    EXPECT_DOUBLE_EQ(*done.reports[i].valid_error, 100 - *other.reports[i].valid_error);
    EXPECT_EQ(done.reports[i].others[0].valid, other.reports[i].valid_error);
    EXPECT_LE(*done.reports[i].others[1].valid, *done.reports[i].others[0].valid);
    EXPECT_EQ(done.reports[i].others[0].train, other.reports[i].train_error);
  }
  for (const char* key : {"\"valid_accuracy\": ", "\"valid_top_3_error\": ", "\"train_top_3_error\": "})
    EXPECT_NE(done.metrics.find(key), std::string::npos) << key << done.metrics;
}

TEST(Metrics, GoOnToTheSameBitsAfterEveryStep) {
  TemporaryFolder temporary;
  Experiment e = reference_experiment();
  e.trainer.epochs = 2;
  e.trainer.validation_frequency = 4;
  e.trainer.metrics = {Loss::Options(), top_k(2)};
  e.trainer.test_at = TrainerConfig::TestAt::kEpoch;
  Dataset data = load_data(e, "");
  Measured whole = trained(e, data, temporary.path("whole"));
  RunFolder folder = RunFolder::create(temporary.path("parts"), e);
  std::atomic<int> stop{1};
  TrainSummary summary = train(e, data, folder, {}, {.stop = &stop});
  for (int i = 0; summary.interrupted && i < 100; ++i) {
    RunFolder again = RunFolder::open(folder.path());
    summary = resume(e, data, again, {}, {.stop = &stop});
  }
  Checkpoint parts = read_checkpoint(folder.checkpoint());
  expect_same(whole.checkpoint.weights, parts.weights);
  expect_same(whole.checkpoint.best, parts.best);
  EXPECT_EQ(metrics_without_times(folder.metrics()), metrics_without_times(temporary.path("whole") + "/metrics.jsonl"));
  Experiment edited = e;
  edited.trainer.metrics = {Loss::Options()};
  edited.trainer.epochs = 3;
  EXPECT_EQ(error_text([&] { resume(edited, data, folder, {}, {.accept_edits = true}); }).substr(0, 7), "error: ");
}

TEST(Metrics, NamesThatAreTwiceOrNowhere) {
  Experiment e = reference_experiment();
  Dataset data = load_data(e, "");
  e.trainer.metrics = {ErrorRate::Options(), ErrorRate::Options()};
  EXPECT_EQ(error_text([&] { check_experiment(e, data, ""); }),
            "error: two metrics are called error\n  expected: each metric once");
  e.trainer.metrics = {ErrorRate::Options(), top_k(3)};
  e.trainer.monitor = "top_k_error";
  EXPECT_EQ(error_text([&] { check_experiment(e, data, ""); }),
            "error: trainer.monitor names none of the metrics\n"
            "  expected: one of error, top_3_error\n"
            "  got:      top_k_error");
}

// 40 rows of two values, and a layer that learns the second from the first by least squares.
Dataset of_values() {
  Tensor x = Tensor::zeros(DType::kFloat64, {40, 1}), y = Tensor::zeros(DType::kFloat64, {40, 1});
  for (int64_t i = 0; i < 40; ++i) x.data<double>()[i] = static_cast<double>(i) / 40, y.data<double>()[i] = 1;
  Dataset out;
  out.train = Split({.raw = x, .origin = "x.npy"}, {.raw = y, .origin = "y.npy"}, Targets::kValues, 1);
  out.valid = out.train.part(0, 20);
  return out;
}

Experiment regression() {
  Experiment out = reference_experiment();
  Dense::Options last;
  last.name = "last";
  last.units = 1;
  out.model.layers = {last};
  out.loss.objective = SquaredError::Options();
  return out;
}

TEST(Metrics, OfDecisionsDoNotMeasureValues) {
  const Dataset data = of_values();
  Experiment e = regression();
  const OneOf<MetricOptions> decide[] = {ErrorRate::Options(), Accuracy::Options(), F1::Options(),
                                         ConfusionMatrix::Options()};
  for (const auto& metric : decide) {
    e.trainer.metrics = {R2::Options(), metric};
    EXPECT_EQ(error_text([&] { check_experiment(e, data, ""); }),
              str("error: metric \"", metric.name(),
                  "\" compares decisions, and the output last learns values\n"
                  "  expected: a metric of values, such as \"mean_squared_error\" or \"r2\"\n"
                  "  got:      objective \"squared_error\" on data.target = \"values\"\n"
                  "  hint:     data.target = \"classes\" or \"labels\" where the targets are those"));
  }
  e.loss.compare_with = CompareWith::kInputs;
  EXPECT_EQ(error_text([&] { check_experiment(e, data, ""); }),
            "error: metric \"confusion_matrix\" compares decisions, and the output last learns values\n"
            "  expected: a metric of values, such as \"mean_squared_error\" or \"r2\"\n"
            "  got:      objective \"squared_error\" on the examples themselves");
  Experiment classes = reference_experiment();
  classes.trainer.metrics = {ErrorRate::Options(), R2::Options()};
  EXPECT_EQ(error_text([&] { check_experiment(classes, load_data(classes, ""), ""); }),
            "error: metric \"r2\" cannot take these targets\n"
            "  expected: float32[1, 10] (values)\n"
            "  got:      int64[1] for an output float32[1, 10]");
}

// Rows in the order of their classes: the first half are all of class 0, which the model takes for class 1.
TEST(Metrics, TrainingExamplesAreMeasuredAllOverTheSet) {
  TemporaryFolder temporary;
  Tensor x = Tensor::zeros(DType::kFloat64, {80, 1}), y = Tensor::zeros(DType::kInt64, {80});
  for (int64_t i = 40; i < 80; ++i) y.data<int64_t>()[i] = 1;
  Dataset data;
  data.train = split_of(x, y, 2);
  data.valid = data.train.part(50, 20);
  Experiment e = reference_experiment();
  Softmax::Options softmax;
  softmax.name = "softmax";
  e.model.layers = {softmax};
  e.trainer.epochs = 1;
  const Measured done = trained(e, data, temporary.path("run"));
  EXPECT_EQ(done.reports.at(0).train_error, 50);
  EXPECT_TRUE(done.reports.at(0).valid_error == 0 || done.reports.at(0).valid_error == 100);
  auto rows = [&](int64_t count, bool streamed) {
    const Split sample = sample_of(data.train, count, streamed);
    std::vector<int64_t> out;
    for (int64_t i = 0; i < sample.size(); ++i) out.push_back(sample.file_row(i));
    return out;
  };
  EXPECT_EQ(rows(5, false), (std::vector<int64_t>{0, 16, 32, 48, 64}));
  EXPECT_EQ(rows(80, false).back(), 79);
  const std::vector<int64_t> blocks = rows(70, true);  // 17 blocks of 4 rows, and 2 rows: 10 rows lie between them
  EXPECT_EQ(blocks, rows(70, false)) << "streams or not";
  EXPECT_EQ(std::vector<int64_t>(blocks.begin(), blocks.begin() + 9),
            (std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 9}));
  EXPECT_EQ(blocks.back(), 78);
}

// The negative log-likelihood, differentiated by itself.
struct ScaledGradients : NegativeLogLikelihood {
  struct Options : ObjectiveOptions {
    static constexpr std::string_view kName = "own_gradients";
    double factor = 1;
    std::unique_ptr<Objective> make() const override { return std::make_unique<ScaledGradients>(*this); }
    static void describe(Fields<Options>& f) { f.field("factor", &Options::factor).help("Of the gradients."); }
  };
  explicit ScaledGradients(const Options& options) : NegativeLogLikelihood(), options_(options) {}
  ObjectiveStep step(const ObjectiveInput& input) override {
    ObjectiveStep out{.cost = cost(input.output, input.targets)};
    std::vector<Expr> wrt;
    for (const Param& param : input.params) wrt.push_back(param.expr());
    out.gradients = grad(out.cost, wrt);
    if (!calls_) calls_ = Shared(0.0, "calls");
    out.updates = {{*calls_, *calls_ + 1}};
    return out;
  }
  std::vector<std::pair<std::string, Shared>> state() const override { return {{"calls", *calls_}}; }

 private:
  Options options_;
  std::optional<Shared> calls_;
};

TEST(Objectives, WithGradientsOfTheirOwn) {
  TemporaryFolder temporary;
  Experiment e = reference_experiment(), own = e;
  own.loss.objective = ScaledGradients::Options();
  Dataset data = load_data(e, "");
  Measured a = trained(e, data, temporary.path("a")), b = trained(own, data, temporary.path("b"));
  ASSERT_EQ(a.checkpoint.weights.size(), b.checkpoint.weights.size());
  for (size_t i = 0; i < a.checkpoint.weights.size(); ++i) {
    const Tensor &x = a.checkpoint.weights[i].second, &y = b.checkpoint.weights[i].second;
    for (int64_t k = 0; k < x.size(); ++k) ASSERT_NEAR(x.as_double(k), y.as_double(k), 1e-5) << k;
  }
  EXPECT_EQ(b.checkpoint.optimizer.back().first, "calls");
  EXPECT_EQ(b.checkpoint.optimizer.back().second.as_double(), 30);
}

TEST(Objectives, ClassWeightsOfOneAreNone) {
  TemporaryFolder temporary;
  Experiment e = reference_experiment(), weighted = e;
  e.compiler.floatX = weighted.compiler.floatX = DType::kFloat64;
  weighted.loss.class_weights = std::vector<double>(10, 2.5);
  Dataset data = load_data(e, "");
  Measured a = trained(e, data, temporary.path("a")), b = trained(weighted, data, temporary.path("b"));
  for (size_t i = 0; i < a.reports.size(); ++i) EXPECT_NEAR(a.reports[i].train_loss, b.reports[i].train_loss, 1e-9);
  weighted.loss.class_weights.resize(4);
  EXPECT_EQ(error_text([&] { check_experiment(weighted, data, ""); }),
            "error: objective \"negative_log_likelihood\" cannot take these weights of the classes\n"
            "  expected: floats, one for each class: float64[10]\n"
            "  got:      float64[4] for an output float64[20, 10]");
}

// Logits without a softmax train as the softmax does; predict gives the same.
TEST(Objectives, ALinearLayerAtTheEnd) {
  TemporaryFolder temporary;
  Experiment e = reference_experiment(), linear = e;
  Dense::Options last;
  last.name = "softmax";
  last.units = 10;
  last.init.law = Init::Law::kZeros;
  linear.model.layers.back() = last;
  e.model.layers.back().get<Softmax::Options>().init.law = Init::Law::kZeros;
  Dataset data = load_data(e, "");
  Measured a = trained(e, data, temporary.path("a")), b = trained(linear, data, temporary.path("b"));
  expect_same(a.checkpoint.weights, b.checkpoint.weights);
  Tensor x = data.test.all(floatX()).x;
  Prediction p = predict(e, x, a.best), q = predict(linear, x, b.best);
  EXPECT_TRUE(q.has_classes);
  EXPECT_TRUE(same_bits(p.classes, q.classes));
  last.units = 9;
  linear.model.layers.back() = last;
  EXPECT_EQ(error_text([&] { check_experiment(linear, data, ""); }),
            "error: layer softmax has fewer outputs than there are classes\n"
            "  expected: at least 10 (classes)\n"
            "  got:      9");
}

}  // namespace
}  // namespace thtrain
