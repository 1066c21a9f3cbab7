// Pooling, softmax and batch normalization of programs on a device by cuDNN against their definitions, in all dtypes
// and forms, where they are chosen, and what cuDNN does not have.
#include <gtest/gtest.h>

#include <cmath>

#include "compiler/api.h"
#include "compiler/ir/compare.h"
#include "compiler/ops/candidates.h"
#include "compiler/tuning/tuner.h"
#include "tests/support/device_under_test.h"
#include "tests/support/library_calls.h"
#include "tests/support/numbers.h"

namespace thtrain::device_pooling_test {
namespace {

using kernel::ChoiceKey;

FunctionOptions by_cudnn() {
  FunctionOptions out{.target = device_under_test()};
  out.candidates = {{"pool", "cuDNN"}, {"pool", "cuDNN any maximum"}, {"softmax", "cuDNN"}, {"normalize", "cuDNN"}};
  return out;
}

// By cuDNN's function, and by the reference; where `function_name` is "none", by kernels.
void expect_definition(const std::vector<Expr>& x, const Expr& y, const std::string& function_name,
                       const std::vector<Tensor>& values, double ulps) {
  const std::vector<In> inputs(x.begin(), x.end());
  Function f = function(inputs, {y}, {}, by_cudnn());
  EXPECT_EQ(called_libraries(f), function_name == "none" ? "none" : name_on_device(function_name));
  const Tensor expected = function(inputs, {y}, {}, {.mode = Mode::kReference})(values)[0];
  EXPECT_EQ(difference(f(values)[0], expected, ulps).value_or(""), "");
}

void expect_definition(const std::vector<Expr>& x, const Expr& y, const std::string& function_name, double ulps) {
  std::vector<Tensor> values;
  for (const Expr& input : x) values.push_back(numbers(input.type(), values.size() + 1));
  expect_definition(x, y, function_name, values, ulps);
}

// The node of a key.
void expect_key(const std::string& properties, bool has_library) {
  SCOPED_TRACE(properties);
  const Graph graph = find_computation("pool")->example(properties).value();
  const bool is_gradient = properties.find("gradient") != std::string::npos;
  const std::string ending = graph.outputs[0].dtype() == DType::kFloat64 ? "f64" : "f32";
  expect_definition(graph.inputs, graph.outputs[0],
                    has_library ? str("cudnn_pool_", is_gradient ? "gradient_" : "", ending) : "none", 64);
}

// Images of one to five axes, one to three of them pooled: windows side by side, apart and over each other, with
// padding, behind which zeros are not read, of one element, and of the whole image.
constexpr const char* kForms[] = {"2x3x6x8 w2x2 s2x2 p0:0x0:0",
                                  "2x3x7x9 w3x2 s2x3 p0:0x0:0",
                                  "1x2x5x7 w3x4 s1x2 p1:1x2:2",
                                  "3x4x11 w5x3 s1x2 p2:2x0:0",
                                  "5x9 w2x3 s3x2 p0:0x1:1",
                                  "2x3x19 w4 s3 p1:1",
                                  "17 w3 s1 p2:2",
                                  "1x1x1x1 w1x1 s1x1 p0:0x0:0",
                                  "2x3x5x4 w5x4 s5x4 p0:0x0:0",
                                  "2x1x4x5x6 w2x3x2 s1x2x2 p1:1x1:1x0:0",
                                  "3x1x5x7 w1x2x3 s1x2x2 p0:0x0:0x1:1",
                                  "2x2x3x1x5x4 w2x2 s1x1 p0:0x1:1",
                                  "2x8x9 w3x3 s2x2 p1:0x1:1"};

// f(what a key says behind the op): both dtypes by turns.
template <class F>
void each_form(F f) {
  bool is_float64 = false;
  for (const std::string form : kForms) {
    f(is_float64 ? "float64 " + form : "float32 " + form);
    is_float64 = !is_float64;
  }
}

TEST(DevicePooling, ForwardIsTheDefinition) {
  each_form([](const std::string& form) {
    expect_key("max_pool " + form, true);
    for (const char* divisor : {" inside", " padded"}) expect_key("sum_pool " + form + divisor, true);
  });
}

TEST(DevicePooling, GradientsAreTheDefinition) {
  each_form([](const std::string& form) {
    expect_key("max_pool_gradient " + form, true);
    for (const char* divisor : {" inside", " padded"}) expect_key("sum_pool_gradient " + form + divisor, true);
  });
}

TEST(DevicePooling, WhatCudnnDoesNotHaveIsOfKernels) {
  for (const char* no :
       {"max_pool int32 2x6x8 w2x2 s2x2 p0:0x0:0", "max_pool_pick float32 2x6x8 w2x2 s2x2 p0:0x0:0",
        "sum_pool float32 2x6x8 w2x2 s2x2 p0:0x0:0 one", "sum_pool_gradient float64 2x6x8 w2x2 s2x2 p0:0x0:0 one",
        "max_pool float32 2x7x8 w3x3 s2x2 p1:0x0:1", "max_pool float32 2x5x7 w2x2 s2x2 p0:0x0:0 border",
        "sum_pool float32 1x8 w4 s2 p1:3 inside",
        // The last window is as long as others, and one element of it is outside of our padding.
        "sum_pool float32 1x7 w3 s2 p1:0 border padded"})
    expect_key(no, false);
  expect_key("sum_pool float32 1x7 w3 s2 p1:0 border inside", true);
  const Expr none = tensor("none", {0, 3, 4, 6}, DType::kFloat32), any = tensor("any", {"n", 4, 6}, DType::kFloat32);
  expect_definition({none}, pool(none, {.window = {2, 2}}), "none", 0);
  expect_definition({any}, pool(any, {.window = {2, 2}}), "none",
                    {numbers({.dtype = DType::kFloat32, .dims = {3, 4, 6}}, 1)}, 0);
}

// Padding never is the maximum, and a NaN always is.
TEST(DevicePooling, NumbersBelowZeroAndNaN) {
  const Expr x = tensor("x", {2, 3, 5}, DType::kFloat32);
  Tensor value = numbers(x.type(), 1);
  for (int64_t i = 0; i < value.size(); ++i) value.data<float>()[i] -= 9;
  value.data<float>()[7] = NAN;
  value.data<float>()[22] = -INFINITY;
  const PoolOptions windows{.window = {2, 2}, .stride = {1, 2}, .padding = {{1, 1}, {1, 1}}};
  expect_definition({x}, pool(x, windows), "cudnn_pool_f32", {value}, 0);
}

// Which of equal maxima has the derivative is cuDNN's choice, and another derivative than the op's: by its name alone.
TEST(DevicePooling, GradientsOfMaximaAreTakenByNameAlone) {
  const auto names = [](const char* properties) {
    std::string out;
    for (const Candidate& one : usable_candidates({"pool", properties}, 1e9, {}, device_under_test()))
      out += one.name + ";";
    return out;
  };
  EXPECT_EQ(names("max_pool_gradient float32 2x6x8 w2x2 s2x2 p0:0x0:0"), "columns;");
  EXPECT_EQ(names("sum_pool_gradient float32 2x6x8 w2x2 s2x2 p0:0x0:0 inside"), "columns;cuDNN;");
  EXPECT_EQ(names("max_pool float32 2x6x8 w2x2 s2x2 p0:0x0:0"), "columns;cuDNN;");
  for (const Candidate& one : candidates_of({"pool", "max_pool float32 2x6x8 w2x2 s2x2 p0:0x0:0"}, machine()))
    EXPECT_FALSE(one.is_of_device);
  const Expr x = tensor("x", {2, 6, 8}, DType::kFloat32), y = pool(x, {.window = {2, 2}});
  FunctionOptions options{.target = device_under_test()};
  options.candidates = {{"pool", "cuDNN"}};
  EXPECT_EQ(called_libraries(function({x}, {grad(sum(sqr(y)), x)}, {}, options)), name_on_device("cudnn_pool_f32"));
  EXPECT_EQ(called_libraries(function({x}, {y}, {}, {.target = device_under_test(), .tune = Tune::kNever})), "none");
}

// ---- softmax

TEST(DeviceSoftmax, IsItsDefinition) {
  struct Form {
    Dims dims;
    int64_t axis;
  };
  for (const Form& form : std::vector<Form>{{{7}, 0},
                                            {{5, 3}, 1},
                                            {{5, 3}, 0},
                                            {{2, 300}, 1},
                                            {{2, 3, 5}, 1},
                                            {{1, 2, 1}, 1},
                                            {{2, 3, 1, 5, 2}, 3},
                                            {{4, 1, 3, 2}, 2}})
    for (const bool logarithm : {false, true}) {
      SCOPED_TRACE(str(dims_text(form.dims), " along ", form.axis, logarithm ? ", logarithm" : ""));
      const bool is_float64 = (form.dims.size() % 2 == 0) == logarithm;
      const Expr x = tensor("x", form.dims, is_float64 ? DType::kFloat64 : DType::kFloat32),
                 y = logarithm ? log_softmax(x, form.axis) : softmax(x, form.axis);
      expect_definition({x}, y, is_float64 ? "cudnn_softmax_f64" : "cudnn_softmax_f32", 64);
    }
}

// Numbers that lie in another order are copied first.
TEST(DeviceSoftmax, OfAView) {
  const Expr x = tensor("x", {4, 5, 3}, DType::kFloat32);
  expect_definition({x}, softmax(transpose(x, {2, 0, 1}), 1), "cudnn_softmax_f32", 64);
  expect_definition({x}, log_softmax(x[{all(), 2}], 1), "cudnn_softmax_f32", 64);
}

TEST(DeviceSoftmax, LengthsThatAre0OrNotKnownAreOfKernels) {
  const Expr none = tensor("none", {0, 4}, DType::kFloat32), rows = tensor("rows", {4, 0}, DType::kFloat32),
             any = tensor("any", {"n", 4}, DType::kFloat64);
  expect_definition({none}, softmax(none), "none", 0);
  expect_definition({rows}, log_softmax(rows), "none", 0);
  expect_definition({any}, softmax(any), "none", {numbers({.dtype = DType::kFloat64, .dims = {3, 4}}, 1)}, 64);
}

TEST(DeviceSoftmax, IsAKernelWithoutMeasurements) {
  const Expr x = tensor("x", {5, 3}, DType::kFloat32);
  EXPECT_EQ(called_libraries(function({x}, {softmax(x)}, {}, {.target = device_under_test(), .tune = Tune::kNever})),
            "none");
}

// ---- batch normalization

// Rows of features, and images of one to three axes; scale and shift of a channel's own, or one for all.
TEST(DeviceBatchNorm, IsItsDefinition) {
  for (const auto& [dims, of_scale] : std::vector<std::pair<Dims, Dims>>{
           {{7, 3}, {3}}, {{3, 4, 5}, {}}, {{2, 3, 4, 5}, {3}}, {{1, 2, 1, 3, 2}, {2}}, {{1, 1}, {1}}})
    for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
      SCOPED_TRACE(dims_text(dims));
      const Expr x = tensor("x", dims, dtype), scale = tensor("scale", of_scale, dtype),
                 shift = tensor("shift", of_scale, dtype);
      std::vector<int64_t> axes{0};
      for (size_t axis = 2; axis < dims.size(); ++axis) axes.push_back(static_cast<int64_t>(axis));
      const Expr y = batch_normalization_training(x, scale, shift, axes).output;
      expect_definition({x, scale, shift}, y,
                        dtype == DType::kFloat64 ? "cudnn_batch_norm_f64" : "cudnn_batch_norm_f32", 256);
    }
}

// In another order of its axes; where channels come last; and with gradients, which are kernels.
TEST(DeviceBatchNorm, OfAViewAndWithGradients) {
  const Expr x = tensor("x", {4, 5, 3}, DType::kFloat32), scale = tensor("scale", {3}, DType::kFloat32),
             shift = tensor("shift", {3}, DType::kFloat32);
  expect_definition({x, scale, shift},
                    batch_normalization_training(transpose(x, {1, 2, 0}), scale, shift, {0, 2}).output,
                    "cudnn_batch_norm_f32", 256);
  const Expr y = batch_normalization_training(x, scale, shift, {0, 1}).output;
  expect_definition({x, scale, shift}, y, "cudnn_batch_norm_f32", 256);
  const std::vector<Out> outputs{y, grad(sum(y * y * y), x), grad(sum(y * y), scale)};
  const std::vector<Tensor> values{numbers(x.type(), 1), numbers(scale.type(), 2), numbers(shift.type(), 3)};
  const std::vector<Tensor> got = function({x, scale, shift}, outputs, {}, by_cudnn())(values),
                            expected = function({x, scale, shift}, outputs, {}, {.mode = Mode::kReference})(values);
  for (size_t k = 0; k < got.size(); ++k) EXPECT_EQ(difference(got[k], expected[k], 4096).value_or(""), "") << k;
}

TEST(DeviceBatchNorm, OtherNormalizationsAreOfKernels) {
  const Expr x = tensor("x", {4, 5, 3}, DType::kFloat32), none = tensor("none", {0, 4}, DType::kFloat32),
             any = tensor("any", {"n", 4}, DType::kFloat64), one = tensor("one", {4}, DType::kFloat32),
             wide = tensor("wide", {4}, DType::kFloat64), own = tensor("own", {5, 3}, DType::kFloat32);
  expect_definition({x}, layer_normalization(x), "none", 256);
  expect_definition({x, own}, batch_normalization_training(x, own, own, {0}).output, "none", 256);
  expect_definition({none, one}, batch_normalization_training(none, one, one, {0}).output, "none", 0);
  expect_definition({any, wide}, batch_normalization_training(any, wide, wide, {0}).output, "none",
                    {numbers({.dtype = DType::kFloat64, .dims = {3, 4}}, 1), numbers(wide.type(), 2)}, 256);
  EXPECT_EQ(called_libraries(function({x, own}, {batch_normalization_training(x, own, own, {0}).output}, {},
                                      {.target = device_under_test(), .tune = Tune::kNever})),
            "none");
}

// ---- around them

// A network whose layers are calls of cuDNN is one graph, with the results of the definition in each call.
TEST(DevicePooling, CallsAreNodesOfAGraph) {
  const Expr x = tensor("x", {2, 3, 7, 8}, DType::kFloat32), w = tensor("w", {4, 3, 2, 3}, DType::kFloat32),
             pooled = pool(tanh(conv2d(x, w)), {.window = {2, 2}, .mode = PoolMode::kAverage}),
             y = softmax(reshape(pooled, {2, 4 * 3 * 3}));
  const std::vector<Out> outputs{y, grad(sum(sqr(pooled)), w)};
  Function f = function({x, w}, outputs, {}, by_cudnn()),
           reference = function({x, w}, outputs, {}, {.mode = Mode::kReference});
  const std::string conv = name_on_device("cudnn_conv_f32"), pool = name_on_device("cudnn_pool_f32"),
                    back = name_on_device("cudnn_pool_gradient_f32"), rows = name_on_device("cudnn_softmax_f32");
  for (const std::string& name : {conv, pool, back, rows})
    EXPECT_NE(f.explain().device.find(name), std::string::npos) << f.explain().device;
  for (uint64_t i = 0; i < 4; ++i) {
    const std::vector<Tensor> values{numbers(x.type(), i / 2 + 1), numbers(w.type(), 9 - i)};
    const std::vector<Tensor> got = f(values), expected = reference(values);
    for (size_t k = 0; k < 2; ++k) EXPECT_EQ(difference(got[k], expected[k], 256).value_or(""), "") << i;
  }
  const std::vector<GraphInfo> graphs = f.info().graphs;
  ASSERT_EQ(graphs.size(), 1U) << f.explain().device;
  EXPECT_EQ(graphs[0].builds, 1);
  EXPECT_EQ(graphs[0].launches, 3);
}

}  // namespace
}  // namespace thtrain::device_pooling_test
