// Every schedule compared with PyTorch's, by its configuration; warm-up, plateau, and what they are told wrongly.
#include "nn/schedule.h"

#include <gtest/gtest.h>

#include <sstream>

#include "nn/optimizers/sgd.h"
#include "nn/schedules/constant.h"
#include "nn/schedules/cosine.h"
#include "nn/schedules/exponential.h"
#include "nn/schedules/linear_warm_up.h"
#include "nn/schedules/multistep.h"
#include "nn/schedules/one_cycle.h"
#include "nn/schedules/one_over_epoch.h"
#include "nn/schedules/plateau.h"
#include "nn/schedules/polynomial.h"
#include "nn/schedules/step.h"
#include "tests/support/error_text.h"
#include "tests/support/optimizer_golden.h"

namespace thtrain {
namespace {

using Options = std::map<std::string, double>;

template <class S>
std::shared_ptr<Schedule> schedule_of(const Options& options) {
  return kind_of<ScheduleKind<S>>(options).make();
}
const std::map<std::string, std::shared_ptr<Schedule> (*)(const Options&)> kMake = {
    {"constant", schedule_of<ConstantSchedule>},       {"step", schedule_of<StepSchedule>},
    {"exponential", schedule_of<ExponentialSchedule>}, {"polynomial", schedule_of<PolynomialSchedule>},
    {"cosine", schedule_of<CosineSchedule>},           {"one_over_epoch", schedule_of<OneOverEpochSchedule>},
    {"one_cycle", schedule_of<OneCycleSchedule>}};

std::vector<double> numbers(const GoldenLine& line) {
  std::vector<double> out;
  for (const std::string& value : line.values) out.push_back(std::stod(value));
  return out;
}

TEST(Schedules, GivePyTorchsFactors) {
  size_t seen = 0;
  for (const GoldenLine& line : golden_lines("optimizers.txt")) {
    if (line.name != "schedule" || line.arguments[0] == "plateau" || line.arguments[0] == "multistep") continue;
    Options options;
    for (size_t i = 1; i < line.arguments.size(); ++i) {
      auto [key, value] = key_and_value(line.arguments[i]);
      options[key] = std::stod(value);
    }
    std::shared_ptr<Schedule> schedule = kMake.at(line.arguments[0])(options);
    std::vector<double> factors = numbers(line);
    ASSERT_EQ(factors.size(), 40u);
    for (size_t t = 0; t < factors.size(); ++t)
      EXPECT_NEAR(schedule->factor(static_cast<int64_t>(t)), factors[t], 1e-12) << line.text << " " << t;
    EXPECT_FALSE(schedule->observes());
    EXPECT_TRUE(schedule->state().empty());
    ++seen;
  }
  EXPECT_EQ(seen, 12u);
}

TEST(Schedules, MultiStepFallsAtItsMilestones) {
  MultiStepSchedule schedule({.milestones = {3, 4, 20}, .decay = 0.5});
  for (const GoldenLine& line : golden_lines("optimizers.txt")) {
    if (line.name != "schedule" || line.arguments[0] != "multistep") continue;
    std::vector<double> factors = numbers(line);
    ASSERT_EQ(factors.size(), 40u);
    for (size_t t = 0; t < factors.size(); ++t)
      EXPECT_NEAR(schedule.factor(static_cast<int64_t>(t)), factors[t], 1e-12) << t;
  }
}

TEST(Schedules, PlateauFallsWherePyTorchsDoes) {
  std::vector<double> observed;
  size_t seen = 0;
  for (const GoldenLine& line : golden_lines("optimizers.txt")) {
    if (line.name == "observed") observed = numbers(line);
    if (line.name != "schedule" || line.arguments[0] != "plateau") continue;
    PlateauSchedule::Options options;
    bool larger = false;
    for (size_t i = 1; i < line.arguments.size(); ++i) {
      auto [key, text] = key_and_value(line.arguments[i]);
      double value = std::stod(text);
      if (key == "decay") options.decay = value;
      if (key == "patience") options.patience = static_cast<int64_t>(value);
      if (key == "threshold") options.threshold = value;
      if (key == "cooldown") options.cooldown = static_cast<int64_t>(value);
      if (key == "last") options.last = value;
      if (key == "abs") options.threshold_mode = PlateauSchedule::Threshold::kAbsolute;
      if (key == "larger") larger = true;
    }
    PlateauSchedule schedule(options);
    EXPECT_TRUE(schedule.observes());
    EXPECT_EQ(schedule.factor(0), 1);
    std::vector<double> factors = numbers(line);
    for (size_t t = 0; t < factors.size(); ++t) {
      schedule.observe(observed[t], larger);
      ASSERT_NEAR(schedule.factor(static_cast<int64_t>(t)), factors[t], 1e-15) << line.text << " " << t;
    }
    EXPECT_LT(factors.back(), 1);
    ++seen;
  }
  EXPECT_EQ(seen, 4u);
}

TEST(Schedules, PlateauGoesOnFromItsState) {
  PlateauSchedule::Options options{.decay = 0.5, .patience = 1, .cooldown = 2};
  PlateauSchedule whole(options), first(options), second(options);
  std::vector<double> values = {3, 2, 2, 2, 2, 2, 1, std::nan(""), 1, 1, 1, 1};
  EXPECT_EQ(join(first.state(), " ", [](const auto& entry) { return entry.first; }),
            "plateau/best plateau/waited plateau/cooldown plateau/factor");
  for (size_t t = 0; t < values.size(); ++t) {
    whole.observe(values[t], false);
    (t < 5 ? first : second).observe(values[t], false);
    if (t == 4) {
      NamedState from = first.state(), to = second.state();
      for (size_t i = 0; i < from.size(); ++i) to[i].second.set_value(from[i].second.get_value());
    }
    EXPECT_EQ((t < 5 ? first : second).factor(0), whole.factor(0)) << t;
  }
  EXPECT_EQ(whole.factor(0), 0.25);
}

TEST(Schedules, CountEpochsOrSteps) {
  ScheduleTime done{.step = 1000, .epoch = 2};
  EXPECT_EQ(ExponentialSchedule({.decay = 0.5}).at(done), 0.25);
  EXPECT_EQ(StepSchedule({.every = 500, .decay = 0.5, .per = ScheduleUnit::kStep}).at(done), 0.25);
}

// With a warm-up, what follows has the rest of the run.
TEST(Schedules, WithoutALengthTakeTheWholeRun) {
  RunLength run{.steps = 1000, .epochs = 20};
  ScheduleKind<CosineSchedule> cosine;
  EXPECT_NEAR(cosine.make(run)->factor(10), 0.5, 1e-15);
  EXPECT_NEAR(cosine.make(run)->factor(20), 0, 1e-15);
  EXPECT_NEAR(cosine.make(run)->factor(30), 0, 1e-15);
  cosine.warmup = 4;
  EXPECT_NEAR(cosine.make(run)->factor(0), 0.1, 1e-15);
  EXPECT_NEAR(cosine.make(run)->factor(2), 0.55, 1e-15);
  EXPECT_NEAR(cosine.make(run)->factor(12), 0.5, 1e-15);
  EXPECT_NEAR(cosine.make(run)->factor(20), 0, 1e-15);
  ScheduleKind<PolynomialSchedule> polynomial;
  polynomial.per = ScheduleUnit::kStep;
  EXPECT_EQ(polynomial.make(run)->factor(250), 0.75);
}

TEST(Schedules, WarmUpPassesOnValidationValues) {
  ScheduleKind<PlateauSchedule> plateau;
  plateau.patience = 0, plateau.warmup = 2;
  std::shared_ptr<Schedule> schedule = plateau.make();
  EXPECT_TRUE(schedule->observes());
  EXPECT_EQ(schedule->state().size(), 4u);
  schedule->observe(1, false), schedule->observe(1, false);
  EXPECT_NEAR(schedule->factor(1), 0.055, 1e-15);
  EXPECT_EQ(schedule->factor(2), 0.1);
}

// The momentum over epochs: a schedule gives the number itself.
TEST(Schedules, ChangeTheMomentumOverEpochs) {
  Shared w(Tensor::vector({1.0}), "w");
  Sgd sgd({.learning_rate = 0.5, .momentum = 0.5}, {{"w", w}});
  PolynomialSchedule momentum({.length = 4, .first = 0.5, .last = 0.9});
  ExponentialSchedule rate({.decay = 0.5});
  for (int64_t epoch : {0, 2, 4, 6}) {
    sgd.set_number("momentum", momentum.at({.epoch = epoch}));
    sgd.scale_number("learning_rate", rate.at({.epoch = epoch}));
    EXPECT_NEAR(sgd.numbers()[1].variable.get_value().as_double(),
                std::min(0.5 + 0.1 * static_cast<double>(epoch), 0.9), 1e-15);
    EXPECT_NEAR(sgd.learning_rate().get_value().as_double(), 0.5 * std::pow(0.5, static_cast<double>(epoch)), 1e-15);
  }
}

TEST(Schedules, BadOptionsGiveOneMessage) {
  EXPECT_EQ(text_without_node([] { StepSchedule schedule({.every = 0}); }),
            "error: step: every is out of range\n  expected: an integer, at least 1 (epochs or steps)\n  got:      0\n "
            " hint:     every: from one change to the next");
  EXPECT_EQ(text_without_node([] {
              MultiStepSchedule schedule({.milestones = {4, 4}});
            }),
            "error: multistep: milestones are not in ascending order\n  expected: each above the one before\n  got:    "
            "  [4, 4]");
  EXPECT_EQ(text_without_node([] { MultiStepSchedule schedule({}); }),
            "error: multistep: milestones is empty\n  expected: at least one element\n  got:      an array of 0\n  "
            "hint:     milestones: where it changes, in ascending order");
  EXPECT_EQ(text_without_node([] { ExponentialSchedule schedule({.decay = 0}); }),
            "error: exponential: decay is out of range\n  expected: a number above 0\n  got:      0.0\n  hint:     "
            "decay: factor of each epoch or step");
  EXPECT_EQ(text_without_node([] { PolynomialSchedule schedule({.length = 3, .power = -1}); }),
            "error: polynomial: power is out of range\n  expected: a number above 0\n  got:      -1.0\n  hint:     "
            "power: power of the part of the time that is left");
  EXPECT_EQ(text_without_node([] { CosineSchedule schedule({}); }),
            "error: cosine: the length is not given, and that of the run is not known\n  expected: length, at least 1 "
            "(epochs)");
  EXPECT_EQ(text_without_node([] { CosineSchedule schedule({.length = 3, .growth = 2}); }),
            "error: cosine: growth has no effect\n  expected: restarts = true");
  EXPECT_EQ(text_without_node([] { CosineSchedule schedule({.restarts = true}, {.epochs = 10}); }),
            "error: cosine: restarts has no effect\n  expected: length, shorter than the run");
  EXPECT_EQ(text_without_node([] { OneOverEpochSchedule schedule({.decay = -1}); }),
            "error: one_over_epoch: decay is out of range\n  expected: a number above 0\n  got:      -1.0\n  hint:     "
            "decay: one over the number of epochs or steps after which half is left");
  EXPECT_EQ(text_without_node([] { PlateauSchedule schedule({.decay = 1}); }),
            "error: plateau: decay is out of range\n  expected: a number above 0 and below 1\n  got:      1.0\n  hint: "
            "    decay: factor at each change");
  auto constant = std::make_shared<ConstantSchedule>(ConstantSchedule::Options{});
  EXPECT_EQ(text_without_node([&] { LinearWarmUp schedule({.length = 0}, constant); }),
            "error: warm-up: length is out of range\n  expected: an integer, at least 1 (epochs or steps)\n  got:      "
            "0");
  EXPECT_EQ(text_without_node([&] { LinearWarmUp schedule({.start = 2}, constant); }),
            "error: warm-up: start is out of range\n  expected: a number from 0 to 1\n  got:      2");
}

}  // namespace
}  // namespace thtrain
