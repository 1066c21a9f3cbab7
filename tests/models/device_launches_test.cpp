// How many kernels and nodes of a graph a training step is on a device. A step that needs more is seen here.
#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <utility>

#include "compiler/codegen/emit.h"
#include "tests/support/lab_support.h"
#include "trainers/inspect.h"

namespace thtrain::device_launches_test {
namespace {

Explanation explained(const std::string& file, std::vector<std::string> overrides) {
  overrides.emplace_back("compiler.device=emulated");
  const Experiment experiment = lab("configs/labs/" + file, overrides);
  return explain_training(experiment, load_data(experiment, "configs/labs"), "configs/labs");
}

std::vector<std::string> graphs_of(const std::string& file, const std::vector<std::string>& overrides) {
  std::vector<std::string> out;
  for (const GraphPart& part : emit_cpp(*explained(file, overrides).plan).graphs) out.push_back(text_of(part));
  return out;
}

// Launches that change variables, and do nothing else.
std::vector<std::string> updates_of(const std::string& file, const std::vector<std::string>& overrides) {
  const Explanation e = explained(file, overrides);
  std::vector<std::string> out;
  for_each_step(e.plan->body, [&](const Step& step) {
    const auto results = std::span(step.operands).subspan(step.inputs, step.outputs);
    if (std::ranges::all_of(results, [&](const BufferView& view) {
          return view.buffer >= 0 && e.plan->buffers[static_cast<size_t>(view.buffer)].kind == BufferKind::kShared;
        }))
      out.push_back(step.comment);
  });
  return out;
}

using Texts = std::vector<std::string>;

// Convolutions by kernels alone.
const Texts kByKernels{R"(compiler.only_candidates=["conv*:loops"])"};

TEST(DeviceLaunches, OfThePapersNetwork) {
  EXPECT_EQ(
      graphs_of("mlp_digits.toml", {"model.layers.0.units=500", "trainer.batch_size=60", "trainer.momentum=0",
                                    "loss.l2=0", "trainer.shuffle=false"}),
      Texts{"10 nodes (8 kernels, 1 copy, the word of failure), up to the end of the call, for which nobody waits"});
}

TEST(DeviceLaunches, OfALeNet) {
  EXPECT_EQ(
      graphs_of("lenet_digits.toml", kByKernels),
      Texts{"24 nodes (22 kernels, 1 copy, the word of failure), up to the end of the call, for which nobody waits"});
}

// Two forwards, two gradients to filters, and one to images.
TEST(DeviceLaunches, OfALeNetByCudnn) {
  const Texts graphs = graphs_of("lenet_digits.toml", {});
  ASSERT_EQ(graphs.size(), 1U) << join(graphs, "\n");
  EXPECT_NE(graphs[0].find("5 calls of libraries"), std::string::npos) << graphs[0];
}

// The steps of both loops are nodes of the graph: a product, and what the gates make of it.
TEST(DeviceLaunches, OfARecurrentNetworkOfAHundredSteps) {
  EXPECT_EQ(
      graphs_of("lstm_adding.toml", {"data.steps=100"}),
      Texts{"416 nodes (414 kernels, 1 copy, the word of failure), up to the end of the call, for which nobody waits"});
}

TEST(DeviceLaunches, OfContrastiveDivergence) {
  EXPECT_EQ(
      graphs_of("rbm_digits.toml", {"loss.k=1", "loss.persistent=false"}),
      Texts{"11 nodes (9 kernels, 1 copy, the word of failure), up to the end of the call, for which nobody waits"});
}

// However many parameters there are, where kernels compute their gradients; averages of normalized layers are updated
// with them.
TEST(DeviceLaunches, TheOptimizerAddsAtMostOne) {
  for (const auto& [file, overrides] :
       {std::pair("lenet_digits.toml", kByKernels), std::pair("resnet_digits.toml", kByKernels),
        std::pair("logistic_digits.toml", Texts{"trainer.optimizer=adam"})}) {
    const Texts updates = updates_of(file, overrides);
    EXPECT_LE(updates.size(), 1U) << file << ": " << join(updates, "\n");
  }
}

}  // namespace
}  // namespace thtrain::device_launches_test
