// Convolutions of programs on a device by cuDNN: its algorithms and its first pick against the definition, in all
// passes, dtypes and forms, where they are chosen, and what is said where it has no such algorithm.
#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/api.h"
#include "compiler/cpu/conv/cudnn_algorithms.h"
#include "compiler/ir/compare.h"
#include "compiler/libraries/library_functions.h"
#include "compiler/ops/candidates.h"
#include "compiler/tuning/candidate_trials.h"
#include "compiler/tuning/tuner.h"
#include "tests/support/conv_shapes.h"
#include "tests/support/datasets_support.h"
#include "tests/support/device_under_test.h"
#include "tests/support/error_text.h"
#include "tests/support/library_calls.h"
#include "tests/support/numbers.h"

namespace thtrain::device_convolutions_test {
namespace {

using kernel::ChoiceKey;

constexpr ConvPass kPasses[] = {ConvPass::kForward, ConvPass::kInputGradient, ConvPass::kWeightGradient};

FunctionOptions taking(const std::string& computation, const std::string& name) {
  FunctionOptions out{.target = device_under_test()};
  out.candidates = {{computation, name}};
  return out;
}

// The node of a key, by a candidate and by the reference.
void expect_by(const ChoiceKey& key, const std::string& candidate, double ulps) {
  const Graph graph = find_computation(key.computation)->example(key.properties).value();
  std::vector<In> inputs;
  std::vector<Tensor> values;
  for (const Expr& input : graph.inputs) {
    inputs.emplace_back(input);
    values.push_back(numbers(input.type(), values.size() + 1));
  }
  const Expr& y = graph.outputs[0];
  Function f = function(inputs, {y}, {}, taking(key.computation, candidate));
  EXPECT_EQ(called_libraries(f), name_on_device(y.dtype() == DType::kFloat64 ? "cudnn_conv_f64" : "cudnn_conv_f32"));
  const Tensor expected = function(inputs, {y}, {}, {.mode = Mode::kReference})(values)[0];
  EXPECT_EQ(difference(f(values)[0], expected, ulps).value_or(""), "") << key.text() << ": " << candidate;
}

// Small ones of each form: strides, paddings, dilations, groups, one to three axes, one position, one tap.
constexpr const char* kForms[] = {"b2 i3x5x7 k4x3x2",
                                  "b2 i2x7x8 k3x3x3 p1:1x1:1",
                                  "b1 i3x8x9 k4x3x2 s2x3",
                                  "b1 i2x9x7 k2x2x3 d3x2",
                                  "b2 i4x5x6 k6x3x2 g2",
                                  "b2 i3x4x6 k3x3x3 p1:1x1:1 g3",
                                  "b2 i3x9 k4x4 s2 p1:1",
                                  "b1 i2x4x5x4 k3x2x3x2",
                                  "b2 i1x3x4x5 k2x3x1x2 s1x2x1 p1:1x0:0x1:1",
                                  "b1 i1x1x1 k1x1x1",
                                  "b3 i4x5x6 k6x1x1",
                                  "b2 i3x3x4 k2x3x4",
                                  "b1 i2x5x9 k2x5x5 p2:2x2:2",
                                  "b2 i3x9x19 k4x3x3 s2x2 p1:1x1:1"};

TEST(DeviceConvolutions, TheFirstPickIsTheDefinition) {
  for (const char* form : kForms)
    for (const ConvPass pass : kPasses)
      for (const char* dtype : {"float32 ", "float64 "}) expect_by({name_of(pass), str(dtype, form)}, "cuDNN", 64);
}

// The emulated ones add products as they are: what is tested is the call.
TEST(DeviceConvolutions, EachAlgorithmIsTheDefinition) {
  std::vector<std::string> met;
  for (const char* form : {"b2 i2x7x8 k3x3x3 p1:1x1:1", "b1 i2x5x9 k2x5x5 p2:2x2:2", "b1 i2x4x5x4 k3x2x3x2"})
    for (const ConvPass pass : kPasses) {
      const ChoiceKey key{name_of(pass), str("float32 ", form)};
      for (const CudnnAlgorithm& algorithm : cudnn_algorithms()) {
        if (algorithm.pass != pass || !is_documented(algorithm, *convolution_of(key))) continue;
        expect_by(key, str("cuDNN ", algorithm.name), 4096);
        met.push_back(str(name_of(pass), algorithm.number));
      }
    }
  std::ranges::sort(met);
  met.erase(std::ranges::unique(met).begin(), met.end());
  EXPECT_EQ(met.size(), cudnn_algorithms().size());
}

// Filters of conv() are turned round: cuDNN reads them so, and nothing copies them.
TEST(DeviceConvolutions, FiltersThatAreTurnedRoundAreNotCopied) {
  const Expr x = tensor("x", {2, 3, 6, 7}, DType::kFloat32), w = tensor("w", {4, 3, 2, 3}, DType::kFloat32),
             y = conv2d(x, w), dy = tensor("dy", {2, 4, 5, 5}, DType::kFloat32);
  const std::vector<Tensor> values{numbers(x.type(), 1), numbers(w.type(), 2), numbers(dy.type(), 3)};
  const std::vector<Out> outputs{y, conv_transposed(dy, w)};
  Function f = function({x, w, dy}, outputs, {}, {.target = device_under_test()});
  const std::string name = name_on_device("cudnn_conv_f32");
  EXPECT_EQ(called_libraries(f), str(name, ", ", name));
  EXPECT_EQ(f.explain().cpp.find("conv_filters"), std::string::npos) << f.explain().cpp;
  const std::vector<Tensor> got = f(values),
                            expected = function({x, w, dy}, outputs, {}, {.mode = Mode::kReference})(values);
  for (size_t k = 0; k < 2; ++k) EXPECT_EQ(difference(got[k], expected[k], 64).value_or(""), "") << k;
  // In another order of their axes they are copied.
  const Expr other = tensor("v", {2, 3, 3, 4}, DType::kFloat32), z = conv2d(x, transpose(other, {3, 2, 0, 1}));
  Function g = function({x, other}, {z}, {}, {.target = device_under_test()});
  const std::vector<Tensor> of_g{values[0], numbers(other.type(), 4)};
  EXPECT_NE(g.explain().cpp.find("conv_filters"), std::string::npos) << g.explain().cpp;
  EXPECT_EQ(difference(g(of_g)[0], function({x, other}, {z}, {}, {.mode = Mode::kReference})(of_g)[0], 64).value_or(""),
            "");
}

TEST(DeviceConvolutions, GradientsOfALayerAreByCudnn) {
  const Shared w(numbers({.dtype = DType::kFloat32, .dims = {4, 3, 3, 3}}, 1), "w");
  const Expr x = tensor("x", {2, 3, 6, 6}, DType::kFloat32),
             loss = sum(sqr(conv2d(x, w, {.padding = ConvPadding::half()})));
  const Tensor before = w.get_value(), value = numbers(x.type(), 2);
  Function step = function({x}, {loss}, {{w, w - 0.01F * grad(loss, w)}}, {.target = device_under_test()});
  const std::string name = name_on_device("cudnn_conv_f32");
  EXPECT_EQ(called_libraries(step), str(name, ", ", name));
  const Tensor of_loss = step({value})[0], after = w.get_value();
  w.set_value(before);
  Function reference = function({x}, {loss}, {{w, w - 0.01F * grad(loss, w)}}, {.mode = Mode::kReference});
  EXPECT_EQ(difference(of_loss, reference({value})[0], 256).value_or(""), "");
  EXPECT_EQ(difference(after, w.get_value(), 256).value_or(""), "");
}

// Calls are nodes of the graph, which is made at the second call; with it the bits are those of single launches,
// whatever changes from call to call.
TEST(DeviceConvolutions, CallsAreNodesOfAGraph) {
  const auto trained = [](bool with_graphs) {
    const EnvironmentVariable variable("THTRAIN_DEVICE_GRAPHS", with_graphs ? nullptr : "0");
    const Shared w(numbers({.dtype = DType::kFloat32, .dims = {4, 3, 3, 3}}, 1), "w");
    const Expr x = tensor("x", {2, 3, 6, 7}, DType::kFloat32), rate = tensor("rate", {}, DType::kFloat32),
               loss = sum(sqr(conv2d(tanh(x), w)));
    Function step = function({x, rate}, {loss}, {{w, w - rate * grad(loss, w)}}, {.target = device_under_test()});
    Tensor losses = Tensor::empty(DType::kFloat32, {6});
    for (int i = 0; i < 6; ++i) {
      const Tensor images = numbers(x.type(), static_cast<uint64_t>(i) + 2);
      losses.data<float>()[i] = step({images, Tensor(0.01F / static_cast<float>(1 + i))})[0].data<float>()[0];
    }
    if (with_graphs) {
      const std::vector<GraphInfo> graphs = step.info().graphs;
      EXPECT_EQ(graphs.size(), 1U) << step.explain().device;
      EXPECT_EQ(graphs[0].builds, 1);
      EXPECT_EQ(graphs[0].launches, 5);
      EXPECT_NE(step.explain().device.find("2 calls of libraries"), std::string::npos) << step.explain().device;
    }
    return std::pair(losses, w.get_value());
  };
  const auto [losses, w] = trained(true);
  const auto [losses_apart, w_apart] = trained(false);
  EXPECT_TRUE(same_bits(losses, losses_apart));
  EXPECT_TRUE(same_bits(w, w_apart));
}

// ---- choices

std::vector<Candidate> usable_of_cudnn(const ChoiceKey& key, double tolerance = 0) {
  std::vector<Candidate> out = usable_candidates(key, tolerance, {}, device_under_test());
  std::erase_if(out, [](const Candidate& candidate) { return !candidate.is_of_device; });
  return out;
}

std::vector<std::string> names_of(const std::vector<Candidate>& all) {
  std::vector<std::string> out;
  for (const Candidate& candidate : all) out.push_back(candidate.name);
  return out;
}

TEST(DeviceConvolutions, DeterministicAlgorithmsAreTried) {
  const ChoiceKey forward{"conv", "float32 b2 i2x9x9 k3x3x3 p1:1x1:1"}, data{"conv_input_gradient", forward.properties},
      filter{"conv_weight_gradient", forward.properties};
  const std::vector<std::string> products{"cuDNN implicit_gemm", "cuDNN implicit_precomp_gemm", "cuDNN gemm"};
  EXPECT_EQ(names_of(usable_of_cudnn(forward)), products);
  EXPECT_EQ(names_of(usable_of_cudnn(data)), std::vector<std::string>{"cuDNN algo_1"});
  EXPECT_EQ(names_of(usable_of_cudnn(filter)), std::vector<std::string>{"cuDNN algo_1"});
  // A tolerance lets those in that transform.
  EXPECT_EQ(names_of(usable_of_cudnn(data, 1e-2)),
            (std::vector<std::string>{"cuDNN algo_1", "cuDNN fft", "cuDNN fft_tiling", "cuDNN winograd",
                                      "cuDNN winograd_nonfused"}));
  for (const char* no : {"float32 b2 i2x9x9 k3x3x3 p1:0x1:1", "float64 b1 i2x9 k2x3 p2:0"})
    EXPECT_TRUE(usable_of_cudnn({"conv", no}).empty()) << no << ": zeros at one side";
  for (const Candidate& candidate : candidates_of(forward, machine())) EXPECT_FALSE(candidate.is_of_device);
}

TEST(DeviceConvolutions, WithoutMeasurementsThePickIsTakenWhereCudnnHasTheZeros) {
  const auto chosen = [](const char* properties) {
    return Tuner({.target = device_under_test(), .policy = Tune::kNever}).choose({"conv", properties});
  };
  EXPECT_EQ(chosen("float32 b2 i2x9x9 k3x3x3 p1:1x1:1"), "cuDNN");
  EXPECT_EQ(chosen("float32 b2 i2x8x9 k3x3x3 s2x2 p1:0x1:1"), "cuDNN") << "no tap reads what is missing";
  EXPECT_EQ(chosen("float32 b2 i2x9x9 k3x3x3 p1:0x1:1"), "direct 4x2");
}

TEST(DeviceConvolutions, Tf32IsTakenByNameAlone) {
  const Expr x = tensor("x", {1, 3, 6, 6}, DType::kFloat32), w = tensor("w", {2, 3, 3, 3}, DType::kFloat32),
             y = conv2d(x, w);
  Function f = function({x, w}, {y}, {}, taking("conv", "cuDNN TF32"));
  EXPECT_EQ(called_libraries(f), name_on_device("cudnn_conv_tf32"));
  const std::vector<Tensor> values{numbers(x.type(), 1), numbers(w.type(), 2)};
  const Tensor exact = function({x, w}, {y}, {}, {.mode = Mode::kReference})(values)[0];
  EXPECT_TRUE(difference(f(values)[0], exact, 64)) << "ten bits behind the point";
  EXPECT_FALSE(difference(f(values)[0], exact, 64 << 13));
}

// An algorithm that the library refuses for a form is remembered as refused: it is not tried again.
TEST(DeviceConvolutions, WhatTheLibraryRefusesIsRemembered) {
  if (!device_under_test().is_emulated()) GTEST_SKIP() << "which forms a real library refuses is its own";
  const kernel::Target device = device_under_test();
  const ChoiceKey key{"conv", "float32 b1 i2x9x9 k3x3x3 d2x1"};
  const std::vector<Candidate> usable = usable_of_cudnn(key);
  ASSERT_EQ(names_of(usable), (std::vector<std::string>{"cuDNN implicit_gemm", "cuDNN implicit_precomp_gemm"}));
  const std::vector<CandidateTrial> trials = time_candidates(key, usable, 1, device);
  ASSERT_EQ(trials.size(), 2U);
  EXPECT_GT(trials[0].seconds, 0);
  EXPECT_EQ(trials[1].refusal, "cudnnGetConvolutionForwardWorkspaceSize: status 3000");
  const TuningTable table = tuning_of(key, trials);
  ASSERT_EQ(table.refused_of(key.text()).size(), 1U);
  EXPECT_EQ(table.refused_of(key.text())[0].candidate, "cuDNN implicit_precomp_gemm");
  const Expr x = tensor("x", {1, 2, 9, 9}, DType::kFloat32), w = tensor("w", {3, 2, 3, 3}, DType::kFloat32),
             y = conv2d(x, w, {.dilation = {2, 1}});
  Function f = function({x, w}, {y}, {}, taking("conv", "cuDNN implicit_precomp_gemm"));
  EXPECT_THROW(f({numbers(x.type(), 1), numbers(w.type(), 2)}), InternalError);
}

}  // namespace
}  // namespace thtrain::device_convolutions_test
