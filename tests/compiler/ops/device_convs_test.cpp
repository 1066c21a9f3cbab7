// Every candidate of thtrain's own for convolutions on a device against the definition, in all passes and odd shapes,
// on a device that checks each load and store.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "compiler/api.h"
#include "compiler/host/host_compiler.h"
#include "compiler/ir/compare.h"
#include "compiler/ops/candidates.h"
#include "compiler/ops/conv/convolution.h"
#include "tests/support/datasets_support.h"
#include "tests/support/device_under_test.h"
#include "tests/support/numbers.h"

namespace thtrain::device_convs_test {
namespace {

using kernel::ChoiceKey;

// Strides, paddings at one side, dilations, groups, one to three axes, one position, sums on two levels (81 terms), and
// a gradient to filters of two parts: as few products as these need, since each access is checked.
const char* const kShapes[] = {"b2 i3x5x6 k5x2x3 s2x1 p1:0x2:1 d1x2",
                               "b3 i4x4x5 k6x3x2 p1:1x0:1 g2",
                               "b2 i3x9 k4x4 s2",
                               "b1 i2x3x4x3 k3x2x2x2 p1:0x0:0x1:1",
                               "b1 i1x1x1 k1x1x1",
                               "b2 i9x4x3 k17x3x3 p1:1x1:1",
                               "b9 i1x9x9 k2x2x2"};

constexpr ConvPass kPasses[] = {ConvPass::kForward, ConvPass::kInputGradient, ConvPass::kWeightGradient};

class DeviceConvs : public testing::TestWithParam<ConvPass> {
 protected:
  // Before the device is opened. A sanitizer has the functions that tell of accesses.
  static void SetUpTestSuite() {
    if (generated_flags().empty()) ::setenv("THTRAIN_EMULATED_CHECKS", "1", 1);
  }
};

// The convolutions of one pass, as one function.
struct Convs {
  std::vector<In> inputs;
  std::vector<Out> outputs;
  std::vector<Tensor> values;
  std::vector<std::string> keys;

  void add(ConvPass pass, const std::string& properties) {
    const Graph graph = find_computation(name_of(pass))->example(properties).value();
    for (const Expr& input : graph.inputs) {
      inputs.emplace_back(input);
      values.push_back(numbers(input.type(), values.size() + 1));
    }
    outputs.emplace_back(graph.outputs[0]);
    keys.push_back(properties);
  }
};

void expect_definition(const Convs& convs, ConvPass pass, const std::string& candidate, const std::string& kernel,
                       double bound = 256) {
  SCOPED_TRACE(str(name_of(pass), " by ", candidate));
  Function f = function(convs.inputs, convs.outputs, {},
                        {.target = device_under_test(), .candidates = {{name_of(pass), candidate}}});
  const std::string program = f.explain().program;
  EXPECT_NE(program.find(kernel), std::string::npos) << program;
  EXPECT_EQ(program.find("conv_loops"), std::string::npos) << program;
  const std::vector<Tensor> got = f(convs.values), expected = function(convs.inputs, convs.outputs, {},
                                                                       {.mode = Mode::kReference})(convs.values);
  for (size_t i = 0; i < got.size(); ++i)
    EXPECT_EQ(difference(got[i], expected[i], bound).value_or(""), "") << convs.keys[i];
}

// Tiles that are larger and smaller than the product.
TEST_P(DeviceConvs, ByPatchesAreTheDefinition) {
  for (const auto& [dtype, tiling] : {std::pair{"float32", "tile 16x32"}, {"float64", "tile 32x16"}}) {
    Convs convs;
    for (const char* shape : kShapes) convs.add(GetParam(), str(dtype, " ", shape));
    expect_definition(convs, GetParam(), str("patches ", tiling), str(name_of(GetParam()), "_patches"));
  }
  Convs large;
  large.add(GetParam(), "float32 b2 i3x6x7 k4x3x3 p1:1x1:1");
  expect_definition(large, GetParam(), "patches tile 64x128", "tiles of 64 x 128");
}

// Of few channels; rows and positions that fill no thread, and several threads.
TEST_P(DeviceConvs, ByTheDirectKernelAreTheDefinition) {
  if (GetParam() == ConvPass::kWeightGradient) GTEST_SKIP() << "it has none";
  for (const auto& [dtype, kernel] : {std::pair{"float32", "direct 4x2"}, {"float64", "direct 8x1"}}) {
    Convs convs;
    for (const char* shape : kShapes) convs.add(GetParam(), str(dtype, " ", shape));
    expect_definition(convs, GetParam(), kernel, str(name_of(GetParam()), "_direct"));
  }
}

// Tiles that end beyond the image, zeros on both sides, sums on two levels, parts of terms. Of numbers near 1 tile 4
// loses three digits more than others.
TEST_P(DeviceConvs, ByWinogradAreTheDefinition) {
  for (const auto& [dtype, candidate] :
       {std::pair{"float32", "winograd 2"}, {"float64", "winograd 4"}, {"float32", "winograd 4"}}) {
    Convs convs;
    for (const char* shape : {"b2 i5x4x5 k3x3x3 p2:2x0:1", "b1 i1x3x3 k1x3x3"})
      convs.add(GetParam(), str(dtype, " ", shape));
    if (GetParam() == ConvPass::kWeightGradient && candidate[9] == '2')
      convs.add(GetParam(), "float32 b9 i1x16x16 k2x3x3 p1:1x1:1");
    expect_definition(convs, GetParam(), candidate, "winograd", 1 << 14);
  }
}

// Zeros at one side, groups, several images, one to three axes, one position; by thtrain's transforms and by cuFFT.
TEST_P(DeviceConvs, ByTransformsOfFourierAreTheDefinition) {
  for (const char* candidate : {"FFT", "cuFFT"})
    for (const char* dtype : {"float32", "float64"}) {
      Convs convs;
      for (const char* shape : {"b3 i4x4x5 k6x3x2 p1:1x0:2 g2", "b2 i3x9 k4x4", "b1 i2x3x4x3 k3x2x3x2 p1:0x0:0x1:1",
                                "b1 i1x1x1 k1x1x1", "b2 i9x4x3 k5x3x3 p1:1x1:1"})
        convs.add(GetParam(), str(dtype, " ", shape));
      expect_definition(convs, GetParam(), candidate, "fft_products", 1 << 10);
    }
}

TEST_P(DeviceConvs, AreOfferedAndFoundWhereTheyApply) {
  const auto names = [](const std::string& properties) {
    std::vector<std::string> out;
    for (const Candidate& one : candidates_of({name_of(GetParam()), properties}, device_under_test())) {
      if (!one.functions.empty()) continue;
      EXPECT_TRUE(is_own_candidate_name(name_of(GetParam()), one.name)) << one.name;
      EXPECT_TRUE(find_candidate({name_of(GetParam()), properties}, one.name, device_under_test())) << one.name;
      out.push_back(one.name);
    }
    return out;
  };
  const auto has = [](const std::vector<std::string>& all, const std::string& name) {
    return std::find(all.begin(), all.end(), name) != all.end();
  };
  const bool is_weight = GetParam() == ConvPass::kWeightGradient;
  const std::vector<std::string> square = names("float32 b16 i64x56x56 k64x3x3 p1:1x1:1"),
                                 few = names("float32 b16 i3x32x32 k20x5x5 s2x2"),
                                 doubles = names("float64 b64 i256x56x56 k256x1x1");
  EXPECT_TRUE(has(square, "winograd 2") && has(square, "winograd 4"));
  EXPECT_FALSE(has(few, "winograd 2"));
  EXPECT_FALSE(has(square, "FFT")) << "9 taps";
  EXPECT_FALSE(has(few, "FFT")) << "strides";
  EXPECT_TRUE(has(names("float64 b2 i3x32x32 k20x5x5"), "FFT"));
  EXPECT_FALSE(has(names("float32 b64 i64x256x256 k64x5x5"), "FFT")) << "more than a gigabyte";
  EXPECT_TRUE(find_candidate({name_of(GetParam()), "float32 b64 i64x256x256 k64x5x5"}, "cuFFT", device_under_test()));
  EXPECT_EQ(few[0].starts_with("direct "), !is_weight) << few[0];
  EXPECT_TRUE(square[0].starts_with("patches tile ")) << square[0];
  EXPECT_FALSE(has(doubles, "patches tile 128x128")) << "its sums and totals are more than the registers";
  for (const char* name :
       {"patches tile 128x127", "patches tile 128", "direct 5x2", "winograd 3", "filters 6x4", "rows 6x4"})
    EXPECT_FALSE(find_candidate({name_of(GetParam()), "float32 b2 i3x8x8 k4x3x3"}, name, device_under_test())) << name;
}

// The forward pass makes the spectra of images and filters, the first gradient that of the results' gradient, and the
// second one none; filters are read backwards, in two groups.
TEST(DeviceConvsByFft, PassesOfAStepShareSpectra) {
  const EnvironmentVariable apart("THTRAIN_DEVICE_GRAPHS", "0");  // no kernels of several steps
  const Expr x = tensor("x", {3, 4, 9, 10}, DType::kFloat32), w = tensor("w", {6, 2, 5, 3}, DType::kFloat32),
             dy = tensor("dy", {3, 6, 7, 8}, DType::kFloat32),
             y = conv2d(x, w, {.padding = ConvPadding::zeros({{0, 2}, {0, 0}}), .groups = 2}), cost = sum(y * dy);
  const std::vector<Out> outputs{y, grad(cost, x), grad(cost, w)};
  const std::vector<Tensor> values{numbers(x.type(), 1), numbers(w.type(), 2), numbers(dy.type(), 3)};
  const std::vector<Tensor> expected = function({x, w, dy}, outputs, {}, {.mode = Mode::kReference})(values);
  for (const char* name : {"FFT", "cuFFT"}) {
    FunctionOptions options{.target = device_under_test()};
    for (const ConvPass pass : kPasses) options.candidates.emplace_back(name_of(pass), name);
    Function f = function({x, w, dy}, outputs, {}, options);
    const std::string program = f.explain().program;
    const auto times = [&](const std::string& what) {
      int out = 0;
      for (size_t at = program.find(what); at != std::string::npos; at = program.find(what, at + 1)) ++out;
      return out;
    };
    EXPECT_EQ(times("kernel fft_planes,"), 3) << program;
    EXPECT_EQ(times("kernel fft_products,"), 3) << program;
    const std::vector<Tensor> got = f(values);
    for (size_t k = 0; k < got.size(); ++k)
      EXPECT_EQ(difference(got[k], expected[k], 1 << 10).value_or(""), "") << name << ", result " << k;
  }
}

// Of lengths with the radices 4, 5 and 7; the norm is the largest |image| times the largest sum of a filter's |w|.
TEST(DeviceConvsByFft, ErrorsAreWithinTheStatedBound) {
  const ChoiceKey key{"conv", "float32 b1 i3x35x27 k2x5x5"};
  const Graph graph = find_computation(key.computation)->example(key.properties).value();
  const Tensor x = numbers(graph.inputs[0].type(), 1), w = numbers(graph.inputs[1].type(), 2);
  const auto largest = [](const Tensor& of, int64_t terms) {
    double out = 0;
    for (int64_t i = 0; i < of.size(); i += terms) {
      double sum = 0;
      for (int64_t k = 0; k < terms; ++k) sum += std::fabs(of.as_double(i + k));
      out = std::max(out, sum);
    }
    return out;
  };
  const double norm = largest(x, 1) * largest(w, w.size() / 2);
  const Expr wide_x = tensor("x", graph.inputs[0].dims(), DType::kFloat64),
             wide_w = tensor("w", graph.inputs[1].dims(), DType::kFloat64);
  const Tensor expected = function({wide_x, wide_w}, {conv2d(wide_x, wide_w, {.flip = false})}, {},
                                   {.mode = Mode::kReference})({x.cast(DType::kFloat64), w.cast(DType::kFloat64)})[0];
  for (const char* name : {"FFT", "cuFFT"}) {
    const double bound = find_candidate(key, name, device_under_test())->error_bound;
    EXPECT_LT(bound, 1e-3);
    const Tensor got = function({graph.inputs[0], graph.inputs[1]}, {graph.outputs[0]}, {},
                                {.target = device_under_test(), .candidates = {{"conv", name}}})({x, w})[0];
    double most = 0;
    for (int64_t i = 0; i < got.size(); ++i) most = std::max(most, std::fabs(got.as_double(i) - expected.as_double(i)));
    EXPECT_LE(most, bound * norm) << name;
    EXPECT_GT(most, 0) << name;
  }
}

// By the rule where cuDNN is missing; a processor's kernel of the same name would end with the expressions behind it.
TEST(DeviceConvsByRule, AreTakenByChannelsAndTolerance) {
  const auto kernel_of = [](int64_t channels, double tolerance) {
    const Expr x = tensor("x", {1, channels, 5, 6}, DType::kFloat32),
               w = tensor("w", {33, channels, 3, 3}, DType::kFloat32);
    const Expr y = tanh(conv(x, w, {.padding = ConvPadding::half()}) + 1.0F);
    kernel::Target target = device_under_test();
    target.device.has_libraries = false;
    FunctionOptions options{.target = target, .tune = Tune::kNever};
    options.conv_tolerance = tolerance;
    Function f = function({x, w}, {y}, {}, options);
    const std::vector<Tensor> values{numbers(x.type(), 1), numbers(w.type(), 2)};
    const Tensor expected = function({x, w}, {y}, {}, {.mode = Mode::kReference})(values)[0];
    EXPECT_EQ(difference(f(values)[0], expected, 1 << 14).value_or(""), "") << channels;
    const std::string program = f.explain().program;
    for (const char* name : {"conv_direct", "conv_patches", "winograd4_products"})
      if (program.find(name) != std::string::npos) return std::string(name);
    return program;
  };
  EXPECT_EQ(kernel_of(3, 1), "conv_direct");
  EXPECT_EQ(kernel_of(32, 0), "conv_patches");
  EXPECT_EQ(kernel_of(31, 1), "conv_patches");
  EXPECT_EQ(kernel_of(32, 1), "winograd4_products");
}

INSTANTIATE_TEST_SUITE_P(Passes, DeviceConvs, testing::ValuesIn(kPasses),
                         [](const auto& info) { return std::string(name_of(info.param)); });

}  // namespace
}  // namespace thtrain::device_convs_test
