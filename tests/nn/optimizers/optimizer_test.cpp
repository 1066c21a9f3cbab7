// What all optimizers have: state, numbers, given gradients, factors of layers, messages.
#include "nn/optimizer.h"

#include <gtest/gtest.h>

#include "nn/optimizers/adadelta.h"
#include "nn/optimizers/adagrad.h"
#include "nn/optimizers/adam.h"
#include "nn/optimizers/adamax.h"
#include "nn/optimizers/adamw.h"
#include "nn/optimizers/rmsprop.h"
#include "nn/optimizers/sgd.h"
#include "tests/support/error_text.h"
#include "tests/support/optimizer_golden.h"

namespace thtrain {
namespace {

const std::vector<Tensor> kNoArguments;

std::vector<Param> two_params(DType dtype = DType::kFloat64) {
  return {{"a/W", Shared(Tensor::vector({1.0, -2.0}).cast(dtype), "a/W"), true},
          {"a/b", Shared(Tensor::vector({0.5}).cast(dtype), "a/b")}};
}

std::string names_of(const Optimizer& optimizer) {
  return join(optimizer.state(), " ", [](const auto& entry) {
    EXPECT_EQ(entry.first, entry.second.name());
    return entry.first;
  });
}
std::string numbers_of(const Optimizer& optimizer) {
  return join(optimizer.numbers(), " ", [](const OptimizerNumber& n) { return str(n.name, "=", n.value); });
}

TEST(Optimizer, StateHasTheNamesOfCheckpoints) {
  std::vector<Param> p = two_params();
  EXPECT_EQ(names_of(Sgd({}, p)), "");
  EXPECT_EQ(names_of(Sgd({.momentum = 0.9}, p)), "velocity/a/W velocity/a/b");
  EXPECT_EQ(names_of(Adagrad({}, p)), "square/a/W square/a/b");
  EXPECT_EQ(names_of(RmsProp({}, p)), "square/a/W square/a/b");
  EXPECT_EQ(names_of(RmsProp({.momentum = 0.5, .centered = true}, p)),
            "square/a/W square/a/b mean/a/W mean/a/b velocity/a/W velocity/a/b");
  EXPECT_EQ(names_of(AdaDelta({}, p)), "square/a/W square/a/b step_square/a/W step_square/a/b");
  EXPECT_EQ(names_of(Adam({}, p)), "step mean/a/W mean/a/b square/a/W square/a/b");
  EXPECT_EQ(names_of(AdamW({.amsgrad = true}, p)),
            "step mean/a/W mean/a/b square/a/W square/a/b largest_square/a/W largest_square/a/b");
  EXPECT_EQ(names_of(AdaMax({}, p)), "step mean/a/W mean/a/b largest/a/W largest/a/b");
}

TEST(Optimizer, NumbersAreSharedScalarsOfTheParametersDType) {
  std::vector<Param> p = two_params(DType::kFloat32);
  EXPECT_EQ(numbers_of(Sgd({.momentum = 0.5}, p)), "learning_rate=0.01 momentum=0.5");
  EXPECT_EQ(numbers_of(AdamW({}, p)), "learning_rate=0.001 weight_decay=0.01 beta1=0.9 beta2=0.999 epsilon=1e-08");
  AdaMax adamax({}, p);
  for (const OptimizerNumber& number : adamax.numbers()) EXPECT_EQ(number.variable.type().text(), "float32[]");
  EXPECT_TRUE(adamax.learning_rate().expr().same(adamax.numbers()[0].variable.expr()));
}

TEST(Optimizer, AnotherNumberNeedsNoOtherProgram) {
  std::vector<Param> p = two_params();
  Sgd sgd({.learning_rate = 0.5}, p);
  Function step =
      function({}, {}, sgd.updates(sum(sqr(p[0].variable)) / 2 + sum(p[1].variable)), {.mode = Mode::kReference});
  step(kNoArguments);
  EXPECT_EQ(p[0].variable.get_value().text(), "[0.5, -1]");
  sgd.set_number("learning_rate", 1);
  step(kNoArguments);
  EXPECT_EQ(p[0].variable.get_value().text(), "[0, 0]");
  EXPECT_EQ(p[1].variable.get_value().text(), "[-1]");
  sgd.scale_number("learning_rate", 0.5);  // of what the options gave
  step(kNoArguments);
  EXPECT_EQ(p[1].variable.get_value().text(), "[-1.25]");
}

// A momentum that changes changes the steps as the formula says, without another program.
TEST(Optimizer, MomentumChangesWhileTraining) {
  std::vector<Param> p = two_params();
  Sgd sgd({.learning_rate = 0.1, .momentum = 0.5}, p);
  Function step = function({}, {}, sgd.updates(sum(p[0].variable) + sum(p[1].variable)), {.mode = Mode::kReference});
  double b = 0.5, v = 0;
  for (double momentum : {0.5, 0.75, 0.9}) {
    sgd.set_number("momentum", momentum);
    step(kNoArguments);
    v = momentum * v - 0.1;
    b += v;
    EXPECT_NEAR(p[1].variable.get_value().as_double(), b, 1e-15);
  }
}

TEST(Optimizer, TakesGivenGradients) {
  std::vector<Param> p = two_params();
  Sgd sgd({.learning_rate = 0.5}, p);
  std::vector<Expr> gradients = {make_constant(Tensor::vector({2.0, 4.0})), make_constant(Tensor::vector({-1.0}))};
  function({}, {}, sgd.updates(gradients), {.mode = Mode::kReference})(kNoArguments);
  EXPECT_EQ(p[0].variable.get_value().text(), "[0, -4]");
  EXPECT_EQ(p[1].variable.get_value().text(), "[1]");
  EXPECT_EQ(text_without_node([&] { sgd.updates(std::vector<Expr>{gradients[0]}); }),
            "error: sgd: there is not one gradient for each parameter\n  expected: 2 gradients\n  got:      1");
}

TEST(Optimizer, NodesCarryTheNamesOfOptimizerAndParameter) {
  std::vector<Param> p = two_params();
  std::vector<Update> updates = Adam({}, p).updates(sum(sqr(p[0].variable)) + sum(p[1].variable));
  ASSERT_EQ(updates.size(), 7u);  // step, then mean, square and weights of each
  EXPECT_EQ(updates[3].value.node().origin.scope->path, "adam/a/W");
  EXPECT_TRUE(updates[3].variable.same(p[0].expr()));
}

void run_around(const std::string& name, const std::function<std::unique_ptr<Optimizer>(std::vector<Param>)>& make) {
  for (const GoldenSteps& golden : golden_steps("around")) {
    if (golden.name != name) continue;
    GoldenNetwork network;
    auto optimizer = make(network.params);
    network.expect_steps(golden, network.step_function(optimizer->updates(network.cost)));
    return;
  }
  FAIL() << "no golden run " << name;
}

TEST(Optimizer, LearningRateHasAFactorForEachParameter) {
  run_around("rate_factors", [](std::vector<Param> p) {
    p[2].rate_factor = 0.25, p[3].rate_factor = 2;
    return std::make_unique<Sgd>(Sgd::Options{.learning_rate = 0.1, .momentum = 0.9}, p);
  });
}
TEST(Optimizer, WeightDecayIsThatOfTheLayer) {
  run_around("layer_decays", [](std::vector<Param> p) {
    p[2].weight_decay = 0.1, p[3].weight_decay = 0.05;
    return std::make_unique<Sgd>(Sgd::Options{.learning_rate = 0.1, .momentum = 0.9, .weight_decay = 0.02}, p);
  });
  run_around("layer_decays", [](std::vector<Param> p) {
    p[0].weight_decay = 0.02, p[2].weight_decay = 0.1, p[3].weight_decay = 0.05;
    return std::make_unique<Sgd>(Sgd::Options{.learning_rate = 0.1, .momentum = 0.9}, p);
  });
}
TEST(Optimizer, WeightDecayMayBeDecoupled) {
  run_around("decoupled_adam", [](std::vector<Param> p) {
    return std::make_unique<Adam>(
        Adam::Options{.learning_rate = 0.02, .weight_decay = 0.1, .decoupled_weight_decay = true}, p);
  });
  run_around("decoupled_adam", [](std::vector<Param> p) {
    return std::make_unique<AdamW>(AdamW::Options{.learning_rate = 0.02, .weight_decay = 0.1}, p);
  });
}

TEST(Optimizer, ALayersDecayOfZeroIsNone) {
  std::vector<Param> p = two_params();
  p[0].weight_decay = 0;
  Sgd sgd({.learning_rate = 0.5, .weight_decay = 0.5}, p);
  Expr zero = make_constant(Tensor::vector({0.0, 0.0})), one = make_constant(Tensor::vector({0.0}));
  function({}, {}, sgd.updates(std::vector<Expr>{zero, one}), {.mode = Mode::kReference})(kNoArguments);
  EXPECT_EQ(p[0].variable.get_value().text(), "[1, -2]");
}

template <class O>
std::string message_of(typename O::Options options) {
  return text_without_node([&] { O optimizer(options, two_params()); });
}

TEST(Optimizer, BadOptionsGiveOneMessage) {
  EXPECT_EQ(message_of<Sgd>({.learning_rate = -1}),
            "error: sgd: learning_rate is out of range\n  expected: a number above 0\n  got:      -1.0\n  hint:     "
            "learning_rate: factor of the gradient in each step");
  EXPECT_EQ(message_of<Sgd>({.nesterov = true}),
            "error: sgd: nesterov has no effect\n  expected: momentum above 0\n  got:      0\n  hint:     give a "
            "momentum such as 0.9, or leave nesterov out");
  EXPECT_EQ(message_of<Adagrad>({.initial_square = -0.5}),
            "error: adagrad: initial_square is out of range\n  expected: a number, at least 0\n  got:      -0.5\n  "
            "hint:     initial_square: where the sums of squares start");
  EXPECT_EQ(message_of<RmsProp>({.rho = 1}),
            "error: rmsprop: rho is out of range\n  expected: a number, at least 0 and below 1\n  got:      1.0\n  "
            "hint:     rho: decay rate of the running means: the part that a step keeps");
  EXPECT_EQ(message_of<AdaDelta>({.epsilon = 0}),
            "error: adadelta: epsilon is out of range\n  expected: a number above 0\n  got:      0.0\n  hint:     "
            "epsilon: added to both means below their roots; the first steps are about its root");
  EXPECT_EQ(message_of<Adam>({.beta1 = 0.9, .beta2 = 2}),
            "error: adam: beta2 is out of range\n  expected: a number, at least 0 and below 1\n  got:      2.0\n  "
            "hint:     beta2: decay rate of the running mean of their squares");
  EXPECT_EQ(message_of<AdamW>({.weight_decay = -1}),
            "error: adamw: weight_decay is out of range\n  expected: a number, at least 0\n  got:      -1.0\n  hint:   "
            "  weight_decay: factor of the weights in the weight decay; biases have none");
  EXPECT_EQ(message_of<AdaMax>({.beta1 = 1}),
            "error: adamax: beta1 is out of range\n  expected: a number, at least 0 and below 1\n  got:      1.0\n  "
            "hint:     beta1: decay rate of the running mean of the gradients");
}

TEST(Optimizer, BadNumbersAndFactorsGiveOneMessage) {
  std::vector<Param> p = two_params(DType::kFloat32);
  EXPECT_EQ(text_without_node([&] { Sgd sgd({.learning_rate = 1e39}, p); }),
            "error: sgd: learning_rate is not finite\n  expected: a number that is finite in float32\n  got:      "
            "1e+39");
  Adam adam({}, p);
  EXPECT_EQ(text_without_node([&] { adam.set_number("momentum", 0.5); }),
            "error: adam has no number momentum\n  expected: one of learning_rate, beta1, beta2, epsilon\n  got:      "
            "momentum\n  hint:     a number that the options set to 0 is left out of the program");
  EXPECT_EQ(text_without_node([&] { adam.set_number("beta1", std::nan("")); }),
            "error: adam: beta1 is not finite\n  expected: a number that is finite in float32\n  got:      nan");
  p[0].rate_factor = -1;
  EXPECT_EQ(text_without_node([&] { Adam({}, p); }),
            "error: a/W: the factor of the learning rate is out of range\n  expected: a finite number, at least 0\n  "
            "got:      -1");
  p[0].rate_factor = 1, p[1].weight_decay = -0.5;
  EXPECT_EQ(text_without_node([&] { Adam({}, p); }),
            "error: a/b: the weight decay is out of range\n  expected: a finite number, at least 0\n  got:      -0.5");
}

TEST(Optimizer, OptionsOfAConfigurationMakeIt) {
  OptimizerKind<RmsProp> kind = kind_of<OptimizerKind<RmsProp>>({{"momentum", 0.5}, {"centered", 1}});
  const OptimizerOptions& options = kind;
  EXPECT_EQ(options.rate(), 0.01);
  EXPECT_EQ(names_of(*options.make(two_params())), "square/a/W square/a/b mean/a/W mean/a/b velocity/a/W velocity/a/b");
}

}  // namespace
}  // namespace thtrain
