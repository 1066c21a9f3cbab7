// What surrounds an optimizer: clipping, max-norm, averages, accumulation.
#include "nn/training_step.h"

#include <gtest/gtest.h>

#include "nn/optimizers/adam.h"
#include "nn/optimizers/sgd.h"
#include "nn/updates/clip_gradients.h"
#include "nn/updates/gradient_accumulation.h"
#include "nn/updates/max_norm.h"
#include "nn/updates/weight_average.h"
#include "tests/support/error_text.h"
#include "tests/support/optimizer_golden.h"

namespace thtrain {
namespace {

const std::vector<Tensor> kNoArguments;

GoldenSteps around(const std::string& name) {
  for (GoldenSteps& golden : golden_steps("around"))
    if (golden.name == name) return golden;
  throw std::runtime_error("no golden run " + name);
}

TrainingStep golden_step(const GoldenNetwork& network, const TrainingStep::Options& options) {
  return TrainingStep(std::make_unique<Sgd>(Sgd::Options{.learning_rate = 0.1, .momentum = 0.9}, network.params),
                      options);
}

std::string names_of(const NamedState& state) {
  return join(state, " ", [](const auto& entry) { return entry.first; });
}

void expect_golden(const std::string& name, const TrainingStep::Options& options, Mode mode = Mode::kReference) {
  GoldenNetwork network;
  TrainingStep step = golden_step(network, options);
  GoldenSteps golden = around(name);
  network.expect_steps(golden, network.step_function(step.updates(network.cost), mode));
  if (golden.averages.empty()) return;
  ASSERT_NE(step.average(), nullptr);
  for (const auto& [variable, average] : step.average()->pairs())
    GoldenNetwork::expect_close(average.get_value(), golden.averages.at(variable.name()), 1e-6, golden.text);
}

TEST(TrainingStep, ClipsGradientsByValueAsPyTorch) {
  expect_golden("clip_value", {.clip_value = 0.05});
}
TEST(TrainingStep, ClipsGradientsByGlobalNormAsPyTorch) {
  expect_golden("clip_norm", {.clip_norm = 0.1});
}
TEST(TrainingStep, KeepsColumnsInsideOfTheMaxNorm) {
  expect_golden("max_norm", {.max_norm = 0.9});
}
TEST(TrainingStep, AveragesWeightsAsPyTorch) {
  expect_golden("average_equal", {.average = TrainingStep::Average::kEqual});
  expect_golden("average_equal_from_20", {.average = TrainingStep::Average::kEqual, .average_start = 20});
  expect_golden("average_exponential", {.average = TrainingStep::Average::kExponential, .average_decay = 0.9});
}
TEST(TrainingStep, AccumulatesGradientsOfMinibatches) {
  expect_golden("accumulate", {.accumulate = 3});
}
TEST(TrainingStep, DoesSoInNativeCode) {
  expect_golden("accumulate", {.accumulate = 3}, Mode::kNative);
  expect_golden("clip_norm", {.clip_norm = 0.1}, Mode::kNative);
  expect_golden("max_norm", {.max_norm = 0.9}, Mode::kNative);
}

// All of it at once, with Adam: nine calls are three steps, and between them only sums change.
TEST(TrainingStep, ChangesNothingButSumsBetweenAccumulatedSteps) {
  GoldenNetwork network;
  TrainingStep step(std::make_unique<Adam>(Adam::Options{}, network.params),
                    {.accumulate = 3,
                     .clip_value = 1,
                     .clip_norm = 1,
                     .max_norm = 1,
                     .average = TrainingStep::Average::kExponential});
  EXPECT_EQ(names_of(step.bounds()), "clip_value clip_norm max_norm");
  Function f = network.step_function(step.updates(network.cost));
  std::vector<Tensor> before;
  for (int64_t t = 0; t < 9; ++t) {
    before.clear();
    for (const auto& [name, shared] : step.state()) before.push_back(shared.get_value());
    for (const Param& param : network.params) before.push_back(param.variable.get_value());
    network.step(f, t);
    size_t i = 0;
    auto is_same = [&](const Shared& shared) { return same_bits(before[i++], shared.get_value()); };
    for (const auto& [name, shared] : step.state())
      EXPECT_EQ(is_same(shared), t % 3 != 2 && !name.starts_with("accumulated")) << name << " in call " << t;
    for (const Param& param : network.params) EXPECT_EQ(is_same(param.variable), t % 3 != 2) << param.name << " " << t;
  }
}

TEST(TrainingStep, StateHasTheNamesOfCheckpoints) {
  GoldenNetwork network;
  network.params.erase(network.params.begin() + 1, network.params.end());
  TrainingStep step = golden_step(network, {.accumulate = 2, .average = TrainingStep::Average::kEqual});
  EXPECT_EQ(names_of(step.state()), "velocity/hidden/W accumulated/hidden/W accumulated average/hidden/W averaged");
  TrainingStep plain = golden_step(network, {});
  EXPECT_EQ(names_of(plain.state()), "velocity/hidden/W");
  EXPECT_EQ(plain.average(), nullptr);
  EXPECT_EQ(&plain.optimizer().params()[0].variable.storage(), &network.params[0].variable.storage());
}

// What is not asked for is not in the program.
TEST(TrainingStep, WithoutOptionsIsTheOptimizer) {
  GoldenNetwork network;
  Sgd sgd({.learning_rate = 0.1}, network.params);
  TrainingStep step(std::make_unique<Sgd>(Sgd::Options{.learning_rate = 0.1}, network.params));
  std::vector<Update> a = sgd.updates(network.cost), b = step.updates(network.cost);
  ASSERT_EQ(a.size(), b.size());
  auto count = [](const std::vector<Update>& updates) {
    return node_count(Graph{.inputs = {}, .outputs = {}, .updates = updates});
  };
  EXPECT_EQ(count(a), count(b));
}

// The state of a run that goes on elsewhere gives the same bits.
TEST(TrainingStep, GoesOnFromItsState) {
  TrainingStep::Options options{.accumulate = 3, .clip_norm = 0.5, .average = TrainingStep::Average::kEqual};
  GoldenNetwork whole, first, second;
  TrainingStep a = golden_step(whole, options), b = golden_step(first, options), c = golden_step(second, options);
  Function fa = whole.step_function(a.updates(whole.cost)), fb = first.step_function(b.updates(first.cost)),
           fc = second.step_function(c.updates(second.cost));
  for (int64_t t = 0; t < 12; ++t) whole.step(fa, t);
  for (int64_t t = 0; t < 7; ++t) first.step(fb, t);
  for (size_t i = 0; i < b.state().size(); ++i) c.state()[i].second.set_value(b.state()[i].second.get_value());
  for (size_t i = 0; i < 4; ++i) second.params[i].variable.set_value(first.params[i].variable.get_value());
  for (int64_t t = 7; t < 12; ++t) second.step(fc, t);
  for (size_t i = 0; i < 4; ++i)
    EXPECT_TRUE(same_bits(second.params[i].variable.get_value(), whole.params[i].variable.get_value()));
  for (size_t i = 0; i < a.state().size(); ++i)
    EXPECT_TRUE(same_bits(c.state()[i].second.get_value(), a.state()[i].second.get_value())) << a.state()[i].first;
}

TEST(TrainingStep, OptionsAreReadFromAConfiguration) {
  GoldenNetwork network;
  TrainingStep step = golden_step(network, kind_of<StepOptions>({{"accumulate", 3}, {"max_norm", 0.5}}));
  EXPECT_EQ(names_of(step.bounds()), "max_norm");
  EXPECT_EQ(step.state().back().first, "accumulated");
}

TEST(TrainingStep, BadOptionsGiveOneMessage) {
  GoldenNetwork network;
  auto text = [&](const TrainingStep::Options& options) {
    return text_without_node([&] { golden_step(network, options); });
  };
  EXPECT_EQ(text({.accumulate = 0}),
            "error: step: accumulate is out of range\n  expected: an integer, at least 1 (minibatches)\n  got:      0\n"
            "  hint:     accumulate: minibatches whose mean gradient makes one step");
  EXPECT_EQ(text({.clip_norm = -1}),
            "error: step: clip_norm is out of range\n  expected: a number, at least 0\n  got:      -1.0\n  hint:     "
            "clip_norm: largest norm of all gradients together; longer ones are made shorter; 0: no bound");
  EXPECT_EQ(text({.average_decay = 0.5}),
            "error: step: average_decay has no effect\n  expected: average = \"exponential\"");
  EXPECT_EQ(text({.average_start = 3}),
            "error: step: average_start has no effect\n  expected: average = \"equal\" or \"exponential\"");
}

TEST(ClipGradients, LeavesWhatIsInsideOfTheBound) {
  Expr bound = make_constant(Tensor(10.0));
  std::vector<Expr> gradients = {make_constant(Tensor::vector({3.0, -4.0})), make_constant(Tensor(12.0))};
  std::vector<Expr> by_value = clip_by_value(gradients, bound), by_norm = clip_by_global_norm(gradients, bound),
                    inside = clip_by_global_norm(gradients, make_constant(Tensor(13.5)));
  auto values = function({}, {by_value[0], by_value[1], by_norm[0], by_norm[1], inside[0], inside[1]}, {},
                         {.mode = Mode::kReference})(kNoArguments);
  EXPECT_EQ(values[0].text(), "[3, -4]");
  EXPECT_EQ(values[1].as_double(), 10);
  for (size_t i = 0; i < 2; ++i) EXPECT_NEAR(values[2].as_double(i), (i == 0 ? 3 : -4) * 10 / (13 + 1e-6), 1e-15);
  EXPECT_NEAR(values[3].as_double(), 120 / (13 + 1e-6), 1e-14);
  EXPECT_EQ(values[4].text(), "[3, -4]");
  EXPECT_EQ(values[5].as_double(), 12);
  EXPECT_EQ(text_without_node([] { global_norm({}); }), "error: global_norm: there are no gradients");
}

TEST(MaxNorm, LeavesColumnsInsideAndZeros) {
  Expr w = make_constant(Tensor::matrix({{3.0, 0.0, 0.5}, {4.0, 0.0, -0.25}}));
  Tensor got =
      function({}, {limit_columns(w, make_constant(Tensor(2.5)))}, {}, {.mode = Mode::kReference})(kNoArguments)[0];
  EXPECT_EQ(got.text(), "[[1.5, 0, 0.5], [2, 0, -0.25]]");
  EXPECT_EQ(text_without_node([&] { limit_columns(sum(w), make_constant(Tensor(2.5))); }),
            "error: limit_columns: the weights are no matrix\n  expected: rank 2\n  got:      float64[]");
}

TEST(WeightAverage, SwapsInForEvaluation) {
  Shared w(Tensor::vector({1.0, 2.0}), "w");
  WeightAverage average({}, {{"w", w}});
  Expr next = w + 2;
  std::vector<Update> updates = {{w, next}};
  for (const Update& update : average.updates(updates)) updates.push_back(update);
  Function step = function({}, {}, updates, {.mode = Mode::kReference});
  step(kNoArguments), step(kNoArguments);
  EXPECT_EQ(w.get_value().text(), "[5, 6]");
  {
    AveragedWeights averaged(average);
    EXPECT_EQ(w.get_value().text(), "[4, 5]");  // the mean of 3, 4 and 5, 6
  }
  EXPECT_EQ(w.get_value().text(), "[5, 6]");
  // A function of the averages, without a swap.
  Function first = function({}, {w.expr() * 1.0}, {}, {.mode = Mode::kReference});
  EXPECT_EQ(first.copy(average.pairs())(kNoArguments)[0].text(), "[4, 5]");
  EXPECT_EQ(text_without_node([&] {
              WeightAverage({.decay = 1}, {{"w", w}});
            }),
            "error: average: decay is out of range\n  expected: a number at least 0 and below 1\n  got:      1");
  EXPECT_EQ(text_without_node([&] {
              WeightAverage({.start = -1}, {{"w", w}});
            }),
            "error: average: start is out of range\n  expected: an integer, at least 0 (steps)\n  got:      -1");
}

TEST(GradientAccumulation, NeedsAtLeastOneMinibatch) {
  EXPECT_EQ(text_without_node([] { GradientAccumulation(0, {}); }),
            "error: accumulate: the number of minibatches is out of range\n  expected: an integer, at least 1 "
            "(minibatches)\n  got:      0");
}

}  // namespace
}  // namespace thtrain
