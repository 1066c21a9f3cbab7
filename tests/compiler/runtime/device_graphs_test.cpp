// A step of training as one graph: 50 launches of it have the bits of 50 separate ones, and what changes between calls
// is not frozen.
#include <gtest/gtest.h>

#include <cmath>
#include <optional>

#include "compiler/api.h"
#include "tests/support/datasets_support.h"
#include "tests/support/device_under_test.h"
#include "tests/support/host_sort.h"
#include "tests/support/target_calls.h"

namespace thtrain::device_graphs_test {
namespace {

constexpr int64_t kExamples = 60, kBatch = 8;

/// What a step would have kept of its first call, if it were passed by value.
enum class Frozen : uint8_t { kNothing, kRate, kCount, kDropout, kStart };

Tensor waves(const Shape& shape, double by) {
  Tensor out = Tensor::empty(DType::kFloat64, shape);
  for (int64_t i = 0; i < out.size(); ++i) out.data<double>()[i] = std::sin(by * static_cast<double>(i + 1));
  return out.cast(DType::kFloat32);
}

/// Adam with a schedule, dropout and minibatches of examples in the device's memory.
class Trained {
 public:
  explicit Trained(Frozen frozen) : frozen_(frozen) {
    const Expr start = iscalar("start");
    const auto part = [&](const Shared& all) { return rows(all, start, kBatch); };
    const Expr is_kept = cast(lt(streams_.uniform({kBatch, 16}), 0.5), DType::kFloat32);
    const Expr kept = is_kept * tanh(dot(part(x_), weights_[0]));
    const Expr cost = sum(sqr(dot(kept, weights_[1]) - part(y_)));
    const std::vector<Expr> gradients = grad(cost, std::vector<Expr>{weights_[0], weights_[1]});
    const Expr now = count_ + 1.0F, factor = rate_ * sqrt(1.0F - pow(0.999F, now)) / (1.0F - pow(0.9F, now));
    std::vector<Update> updates = {{total_, total_ + cast(cost, DType::kFloat64)}};
    if (frozen != Frozen::kCount) updates.push_back({count_, now});
    for (size_t i = 0; i < 2; ++i) {
      const Expr mean = means_[i] * 0.9F + gradients[i] * 0.1F,
                 square = squares_[i] * 0.999F + sqr(gradients[i]) * 0.001F;
      updates.push_back({means_[i], mean});
      updates.push_back({squares_[i], square});
      updates.push_back({weights_[i], weights_[i] - factor * mean / (sqrt(square) + 1e-8F)});
    }
    step_.emplace(function({start}, {cost}, updates, {.target = device_under_test(), .name = "step"}));
  }

  /// The cost of each of so many steps, and what was trained.
  std::vector<Tensor> run(int steps) {
    std::vector<Tensor> out;
    for (int64_t i = 0; i < steps; ++i) {
      if (frozen_ != Frozen::kRate) rate_.set_value(Tensor(0.05F / (1.0F + 0.1F * static_cast<float>(i))));
      if (frozen_ == Frozen::kDropout) streams_.seed(7);
      const int64_t start = frozen_ == Frozen::kStart ? 0 : i * 7 % (kExamples - kBatch);
      out.push_back((*step_)({start})[0]);
    }
    for (const Shared& last : {weights_[0], weights_[1], total_}) out.push_back(last.get_value());
    return out;
  }
  const Function& step() const { return *step_; }

 private:
  static std::vector<Shared> zeros(const char* name) {
    return {Shared(Tensor::zeros(DType::kFloat32, {24, 16}), str(name, 0)),
            Shared(Tensor::zeros(DType::kFloat32, {16, 3}), str(name, 1))};
  }

  Frozen frozen_;
  Shared x_{waves({kExamples, 24}, 0.7), "x"}, y_{waves({kExamples, 3}, 0.3), "y"}, rate_{Tensor(0.05F), "rate"},
      count_{Tensor(0.0F), "count"}, total_{Tensor(0.0), "total"};
  std::vector<Shared> weights_{Shared(waves({24, 16}, 1.3), "w"), Shared(waves({16, 3}, 2.1), "v")},
      means_ = zeros("mean"), squares_ = zeros("square");
  RandomStreams streams_{7};
  std::optional<Function> step_;
};

std::vector<Tensor> run_of(Frozen frozen, const char* graphs) {
  const EnvironmentVariable variable("THTRAIN_DEVICE_GRAPHS", graphs);
  return Trained(frozen).run(50);
}

bool are_same(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  for (size_t i = 0; i < a.size(); ++i)
    if (!same_bits(a[i], b[i])) return false;
  return true;
}

TEST(DeviceGraphs, FiftyStepsHaveTheBitsOfSeparateLaunches) {
  const std::vector<Tensor> separate = run_of(Frozen::kNothing, "0");
  EXPECT_TRUE(are_same(run_of(Frozen::kNothing, "1"), separate));
  for (const Frozen frozen : {Frozen::kRate, Frozen::kCount, Frozen::kDropout, Frozen::kStart})
    EXPECT_FALSE(are_same(run_of(frozen, "1"), separate)) << "the steps do not depend on " << static_cast<int>(frozen);
}

TEST(DeviceGraphs, AStepIsMadeAGraphOnce) {
  Trained trained(Frozen::kNothing);
  trained.run(20);
  const std::vector<GraphInfo> graphs = trained.step().info().graphs;
  ASSERT_FALSE(graphs.empty());
  for (const GraphInfo& graph : graphs) {
    EXPECT_EQ(graph.launches, 20);
    EXPECT_EQ(graph.builds, 1);
    EXPECT_LE(graph.changes, graph.launches) << "more than where the output goes";
  }
}

// Host steps split a program; other shapes need no other graph.
TEST(DeviceGraphs, HostStepsSplitAProgram) {
  const Expr x = f64("x", {"n"});
  Function f = function({x}, {sum(host_sort(tanh(x) * 2.0) * 3.0), sum(x)}, {}, {.target = device_under_test()});
  for (const int64_t n : {300, 300, 70, 300}) f({numbers({n})});
  const std::vector<GraphInfo> graphs = f.info().graphs;
  ASSERT_EQ(graphs.size(), 2U);
  EXPECT_EQ(graphs[0].builds, 1);
  EXPECT_GT(graphs[0].changes, 0);
  EXPECT_EQ(graphs[0].launches, 4);
}

// Kernels that are launched together are one step of a profile, which does the work of all.
TEST(DeviceGraphs, AProfileHasTheLaunchesAsTheyRun) {
  const Expr x = f64("x", {40}), y = f64("y", {30});
  const Shared w(numbers({30}), "w");
  std::vector<Profile> profiles;
  for (const char* graphs : {"1", "0"}) {
    const EnvironmentVariable variable("THTRAIN_DEVICE_GRAPHS", graphs);
    Function f = function({x, y}, {tanh(x), exp(y)}, {{w, w + y}}, {.target = device_under_test()});
    f.start_profile();
    for (int i = 0; i < 3; ++i) f({numbers({40}), numbers({30})});
    profiles.push_back(f.profile());
  }
  const auto kernels_of = [](const Profile& profile) {
    std::vector<StepProfile> out;
    for (const StepProfile& step : profile.steps)
      if (step.code != "transfer") out.push_back(step);
    return out;
  };
  const std::vector<StepProfile> joined = kernels_of(profiles[0]), apart = kernels_of(profiles[1]);
  ASSERT_EQ(joined.size(), 1U);
  ASSERT_EQ(apart.size(), 3U);
  EXPECT_EQ(joined[0].step, "3 x fused");
  EXPECT_EQ(joined[0].role, "forward");
  EXPECT_EQ(joined[0].calls, 3);
  EXPECT_GT(joined[0].seconds, 0);
  EXPECT_EQ(joined[0].flops, apart[0].flops + apart[1].flops + apart[2].flops);
  EXPECT_EQ(joined[0].bytes, apart[0].bytes + apart[1].bytes + apart[2].bytes);
  EXPECT_EQ(profiles[0].steps.size(), profiles[1].steps.size() - 2);
}

// Any order that the edges allow gives the same bits.
TEST(DeviceGraphs, TheOrderOfNodesDecidesNothing) {
  const Expr x = f64("x", {12, 12});
  const std::vector<Expr> looped = repeat(20, {x, x * 0.5}, [&](const std::vector<Expr>& s) {
    return std::vector<Expr>{tanh(dot(s[0], x) * 0.1), dot(s[1], s[0]) * 0.2};
  });
  expect_equal({x}, {looped[0], looped[1], sum(looped[0], {1})}, {numbers({12, 12})}, {.target = device_under_test()});
}

}  // namespace
}  // namespace thtrain::device_graphs_test
