// Kernels that are launched together compute what they compute apart, to the bit; their checks are told as before.
#include <gtest/gtest.h>

#include <cmath>

#include "compiler/api.h"
#include "compiler/plan/program.h"
#include "tests/support/datasets_support.h"
#include "tests/support/error_text.h"
#include "tests/support/target_calls.h"

namespace thtrain::merged_launches_test {
namespace {

constexpr int64_t kExamples = 40, kBatch = 8;

Tensor waves(const Shape& shape, double by) {
  Tensor out = Tensor::empty(DType::kFloat64, shape);
  for (int64_t i = 0; i < out.size(); ++i) out.data<double>()[i] = std::sin(by * static_cast<double>(i + 1));
  return out.cast(DType::kFloat32);
}

enum class Rule : uint8_t { kSgd, kMomentum, kAdam };

struct Parameters {
  std::vector<Shared> all;
  Expr make(const Shape& shape) {
    all.emplace_back(waves(shape, 1.3 + static_cast<double>(all.size())), str("w", all.size()));
    return all.back().expr() * 0.3F;
  }
};

std::vector<Update> updates_of(Rule rule, const Expr& cost, const Parameters& parameters, bool clips) {
  const std::vector<Expr> leaves(parameters.all.begin(), parameters.all.end());
  std::vector<Expr> gradients = grad(cost, leaves);
  if (clips) {
    Expr square = sum(sqr(gradients[0]));
    for (size_t i = 1; i < gradients.size(); ++i) square = square + sum(sqr(gradients[i]));
    for (Expr& gradient : gradients) gradient = gradient * (0.1F / maximum(sqrt(square), 0.1F));
  }
  std::vector<Update> out;
  const Shared count(Tensor(0.0F), "count");
  const Expr now = count + 1.0F;
  if (rule == Rule::kAdam) out.push_back({count, now});
  for (size_t i = 0; i < leaves.size(); ++i) {
    auto state = [&](const char* name) {
      return Shared(Tensor::zeros(DType::kFloat32, parameters.all[i].get_value().shape()), str(name, i));
    };
    if (rule == Rule::kSgd) {
      out.push_back({parameters.all[i], leaves[i] - gradients[i] * 0.05F});
    } else if (rule == Rule::kMomentum) {
      const Shared speed = state("speed");
      const Expr next = speed * 0.9F - gradients[i] * 0.05F;
      out.push_back({speed, next});
      out.push_back({parameters.all[i], leaves[i] + next});
    } else {
      const Shared mean = state("mean"), square = state("square");
      const Expr m = mean * 0.9F + gradients[i] * 0.1F, v = square * 0.999F + sqr(gradients[i]) * 0.001F;
      out.push_back({mean, m});
      out.push_back({square, v});
      out.push_back({parameters.all[i], leaves[i] - 0.01F * sqrt(1.0F - pow(0.999F, now)) / (1.0F - pow(0.9F, now)) *
                                                        m / (sqrt(v) + 1e-8F)});
    }
  }
  return out;
}

struct Network {
  Rule rule;
  bool clips = false;
  std::function<Expr(const Expr& x, Parameters& parameters)> outputs;
  Shape example = {24};
};

struct Run {
  std::vector<Tensor> values;  // the cost of each step, then what was trained
  size_t launches = 0;
};

Run run_of(const Network& network, const char* graphs) {
  const EnvironmentVariable variable("THTRAIN_DEVICE_GRAPHS", graphs);
  Shape shape = network.example;
  shape.insert(shape.begin(), kExamples);
  Tensor labels = Tensor::empty(DType::kInt64, {kExamples});
  for (int64_t i = 0; i < kExamples; ++i) labels.data<int64_t>()[i] = i * 5 % 3;
  const Shared x(waves(shape, 0.7), "x"), y(labels, "y");
  const Expr start = iscalar("start");
  Parameters parameters;
  const Expr cost = mean(
      categorical_crossentropy_logits(network.outputs(rows(x, start, kBatch), parameters), rows(y, start, kBatch)));
  Function step = function({start}, {cost}, updates_of(network.rule, cost, parameters, network.clips),
                           {.target = kernel::emulated_cuda_target()});
  Run out;
  for (int64_t i = 0; i < 4; ++i) out.values.push_back(step({i * kBatch})[0]);
  for (const Shared& trained : parameters.all) out.values.push_back(trained.get_value());
  const std::string text = step.explain().program;
  for (size_t at = text.find("-- kernel "); at != std::string::npos; at = text.find("-- kernel ", at + 1))
    ++out.launches;
  return out;
}

void expect_same_bits(const Network& network) {
  const Run merged = run_of(network, "1"), apart = run_of(network, "0");
  EXPECT_LT(merged.launches, apart.launches);
  ASSERT_EQ(merged.values.size(), apart.values.size());
  for (size_t i = 0; i < merged.values.size(); ++i) {
    EXPECT_TRUE(same_bits(merged.values[i], apart.values[i])) << "value " << i;
  }
}

Expr mlp(const Expr& x, Parameters& parameters) {
  const Expr hidden = tanh(dot(x, parameters.make({24, 16})) + parameters.make({16}));
  return dot(hidden, parameters.make({16, 3})) + parameters.make({3});
}

Expr dropped(const Expr& x, Parameters& parameters) {
  RandomStreams streams(7);
  auto drop = [&](const Expr& of, int64_t length) {
    return of * cast(lt(streams.uniform({kBatch, length}), 0.5), DType::kFloat32);
  };
  const Expr hidden = maximum(dot(drop(x, 24), parameters.make({24, 16})) + parameters.make({16}), 0.0F);
  return dot(drop(hidden, 16), parameters.make({16, 3})) + parameters.make({3});
}

Expr convnet(const Expr& x, Parameters& parameters) {
  const Expr images = reshape(x, {kBatch, 1, 8, 8});
  const Expr first = maximum(pool(conv2d(images, parameters.make({4, 1, 3, 3})), {.window = {2, 2}}), 0.0F);
  const Expr flat = reshape(first, {kBatch, 36});
  return dot(flat, parameters.make({36, 3})) + parameters.make({3});
}

Expr rnn(const Expr& x, Parameters& parameters) {
  const Expr sequence = transpose(reshape(x, {kBatch, 6, 4}), {1, 0, 2});
  const Expr w = parameters.make({4, 5}), u = parameters.make({5, 5});
  const Expr last = scan([&](const Expr& now, const Expr& h) { return tanh(dot(now, w) + dot(h, u)); },
                         {.sequences = {sequence}, .outputs_info = {zeros({kBatch, 5}, DType::kFloat32)}})
                        .outputs[-1];
  return dot(last, parameters.make({5, 3})) + parameters.make({3});
}

TEST(MergedLaunches, TrainToTheSameBits) {
  for (const Rule rule : {Rule::kSgd, Rule::kMomentum, Rule::kAdam}) {
    SCOPED_TRACE(static_cast<int>(rule));
    expect_same_bits({.rule = rule, .outputs = mlp});
  }
  expect_same_bits({.rule = Rule::kAdam, .clips = true, .outputs = mlp});
  expect_same_bits({.rule = Rule::kMomentum, .outputs = dropped});
}

TEST(MergedLaunches, OfConvolutionsAndLoopsToo) {
  expect_same_bits({.rule = Rule::kMomentum, .outputs = convnet, .example = {64}});
  expect_same_bits({.rule = Rule::kAdam, .clips = true, .outputs = rnn});
}

size_t kernels_of(const Function& f) {
  size_t out = 0;
  for_each_step(f.explain().plan->body,
                [&](const Step& step) { out += std::holds_alternative<kernel::KernelCall>(step.code); });
  return out;
}

// However many parameters there are: against a function that gives the gradients to its caller.
TEST(MergedLaunches, AnOptimizerAddsAtMostOne) {
  for (const size_t layers : {2U, 12U})
    for (const Rule rule : {Rule::kSgd, Rule::kMomentum, Rule::kAdam}) {
      Parameters parameters;
      const Expr x = tensor("x", {kBatch, 16}, DType::kFloat32);
      Expr hidden = x;
      for (size_t i = 0; i < layers; ++i) hidden = tanh(dot(hidden, parameters.make({16, 16})) + parameters.make({16}));
      const Expr cost = mean(sqr(hidden));
      const FunctionOptions options = {.target = kernel::emulated_cuda_target(), .background = true};
      const std::vector<Expr> gradients = grad(cost, std::vector<Expr>(parameters.all.begin(), parameters.all.end()));
      const size_t without = kernels_of(function({x}, {gradients.begin(), gradients.end()}, {}, options));
      EXPECT_LE(kernels_of(function({x}, {}, updates_of(rule, cost, parameters, false), options)), without + 1)
          << layers << " layers, rule " << static_cast<int>(rule);
    }
}

// As on a processor, before a variable has changed.
TEST(MergedLaunches, AFailedCheckHasStepLayerAndValue) {
  std::string texts[2];
  for (const bool on_device : {false, true}) {
    const Shared w(Tensor::vector({1.0, 2.0, 3.0}), "w");
    const Expr at = tensor("at", {2}, DType::kInt64), other = tensor("other", {2}, DType::kInt64);
    Expr taken, told;
    {
      const Scope scope("embedding1");
      taken = take(w, at);
    }
    {
      const Scope scope("embedding2");
      told = take(w, other);
    }
    Function f = function({at, other}, {taken, told}, {{w, w * 2.0}},
                          on_device ? FunctionOptions{.target = kernel::emulated_cuda_target()} : FunctionOptions{});
    if (on_device) {
      EXPECT_NE(f.explain().program.find("2 kernels in one launch"), std::string::npos);
    }
    try {
      f({Tensor::vector({int64_t{0}, int64_t{2}}), Tensor::vector({int64_t{0}, int64_t{7}})});
    } catch (const UserError& error) {
      texts[on_device] = without_call(error.what());
    }
    EXPECT_EQ(w.get_value().text(), "[1, 2, 3]");
    EXPECT_EQ(f({Tensor::vector({int64_t{0}, int64_t{2}}), Tensor::vector({int64_t{0}, int64_t{1}})})[1].text(),
              "[1, 2]");
  }
  EXPECT_EQ(texts[1], texts[0]);
  EXPECT_NE(texts[0].find("the index 7 is outside axis 0"), std::string::npos) << texts[0];
  EXPECT_NE(texts[0].find("embedding2"), std::string::npos) << texts[0];
}

}  // namespace
}  // namespace thtrain::merged_launches_test
