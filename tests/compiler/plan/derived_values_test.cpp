// What several steps derive from one value: the first makes it, the others read it, and it lies where nothing else is
// written in between. By a candidate of the convolutions that gives 4 a[k] b[k], of operands that it doubles first.
#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/api.h"
#include "compiler/ops/candidates.h"
#include "compiler/ops/conv/convolution.h"
#include "compiler/passes/pipeline.h"
#include "compiler/passes/rename_lengths.h"
#include "compiler/plan/memory_plan.h"
#include "compiler/plan/program.h"

namespace thtrain::derived_values_test {
namespace {

using kernel::LoopMark;
using kernel::StepBuilder;
using kernel::Term;

constexpr const char* kName = "of doubled operands";
constexpr ConvPass kPasses[] = {ConvPass::kForward, ConvPass::kInputGradient, ConvPass::kWeightGradient};

int64_t elements_of(const kernel::Operand& operand) {
  return product(operand.type.dims).value();
}

void lower_doubled(StepBuilder& b) {
  std::vector<kernel::Operand> doubled;
  for (size_t i = 0; i < 2; ++i) {
    const int64_t count = elements_of(b.input(i));
    const auto derived = b.derived({i, "twice"}, DType::kFloat64, count);
    doubled.push_back(derived.operand);
    if (derived.is_there) continue;
    b.code().loop("i", b.begin(), b.end(), 1, LoopMark::kSequential, [&](const Term& at) {
      const Term x = b.code().let("x", b.load(b.input(i), at));
      b.store(derived.operand, at, x + x);
    });
    b.finish_kernel("twice", "an operand, twice", count);
  }
  b.code().loop("i", b.begin(), b.end(), 1, LoopMark::kSequential, [&](const Term& at) {
    const Term left = b.load(doubled[0], at % Term(elements_of(doubled[0]))),
               right = b.load(doubled[1], at % Term(elements_of(doubled[1])));
    b.store(b.output(), at, left * right);
  });
  b.finish_kernel("products", "of what was doubled", elements_of(b.output()));
}

class DerivedValues : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto none = [](const kernel::ChoiceKey&, const kernel::Target&) { return std::vector<Candidate>(); };
    auto by_name = [](const kernel::ChoiceKey&, const std::string& name, const kernel::Target&) {
      const Candidate one{.name = kName, .workspace_bytes = 1 << 20, .lower = lower_doubled};
      return name == one.name ? std::optional(one) : std::nullopt;
    };
    for (ConvPass pass : kPasses) add_candidates({name_of(pass), none, by_name});
  }

  const FunctionOptions options_{
      .candidates = {{"conv", kName}, {"conv_input_gradient", kName}, {"conv_weight_gradient", kName}}};
  const Expr x_ = tensor("x", {2, 3, 5, 4}, DType::kFloat64), w_ = tensor("w", {4, 3, 2, 2}, DType::kFloat64),
             dy_ = tensor("dy", {2, 4, 4, 3}, DType::kFloat64);
};

struct ByName : kernel::Chooser {
  explicit ByName(std::string name) : name(std::move(name)) {}
  std::string choose(const kernel::ChoiceKey& key) const override {
    return convolution_of(key) ? name : find_computation(key.computation)->plain;
  }
  std::string name;
};

Program planned(const Graph& graph, const std::string& name = kName) {
  const ByName chooser(name);
  const CanonicalGraph canonical = canonical_lengths(graph);
  return plan(optimize(canonical.graph, {}), canonical.value_checks,
              {.target = {.isa = "avx2", .vector_bytes = 32}, .chooser = &chooser});
}

size_t times_doubled(const Program& program) {
  size_t out = 0;
  for_each_step(program.body, [&](const Step& step) {
    const auto* call = std::get_if<kernel::KernelCall>(&step.code);
    out += call && call->function->name == "twice" ? 1 : 0;
  });
  return out;
}

Expr correlation(const Expr& x, const Expr& w) {
  return conv2d(x, w, {.flip = false});
}

Tensor counted(const Expr& of, double start) {
  Tensor out = Tensor::empty(DType::kFloat64, of.type().known_shape());
  for (int64_t i = 0; i < out.size(); ++i) out.data<double>()[i] = start + 0.25 * static_cast<double>(i);
  return out;
}

void expect_products(const Tensor& out, const Tensor& a, const Tensor& b) {
  for (int64_t i = 0; i < out.size(); ++i)
    ASSERT_EQ(out.as_double(i), 4 * a.as_double(i % a.size()) * b.as_double(i % b.size())) << i;
}

TEST_F(DerivedValues, AreMadeOnceForAllStepsThatNeedThem) {
  const Expr y = correlation(x_, w_), dx = conv_transposed(dy_, w_, {.flip = false}),
             dw = conv_weight_gradient(x_, dy_, {2, 2}, {.flip = false});
  EXPECT_EQ(times_doubled(planned({{x_, w_, dy_}, {y, dx, dw}, {}})), 3u) << "of six operands";
  const Tensor x = counted(x_, 1), w = counted(w_, -3), dy = counted(dy_, 7);
  const std::vector<Tensor> out = function({x_, w_, dy_}, {y, dx, dw}, {}, options_)({x, w, dy});
  expect_products(out[0], x, w);
  expect_products(out[1], w, dy);
  expect_products(out[2], x, dy);
}

TEST_F(DerivedValues, OfOtherValuesAreOthers) {
  const Expr more = tensor("more", x_.dims(), DType::kFloat64);
  EXPECT_EQ(times_doubled(planned({{x_, more, w_}, {correlation(x_, w_), correlation(more, w_)}, {}})), 3u);
  EXPECT_EQ(times_doubled(planned({{x_, w_}, {correlation(x_, w_), correlation(exp(x_), w_ * 2.0)}, {}})), 4u);
}

// What lies between the steps takes memory of its own.
TEST_F(DerivedValues, StayWhileOthersAreComputed) {
  const Expr m = tensor("m", {12, 12}, DType::kFloat64), y = correlation(x_, w_);
  Expr dy = y;
  for (int i = 0; i < 3; ++i) dy = reshape(dot(reshape(dy, {8, 12}), m), dy_.dims());
  const Expr dw = conv_weight_gradient(x_, dy, {2, 2}, {.flip = false});
  const Program program = planned({{x_, w_, m}, {dw}, {}});
  const std::vector<LiveRange> ranges = live_ranges_of(program);
  int steps = 0;
  for_each_step(program.body, [&](const Step&) { ++steps; });
  size_t of_x = 0;
  for (size_t b = 0; b < program.buffers.size(); ++b)
    if (program.buffers[b].name == "twice" && ranges[b].first == 0 && ranges[b].last == steps - 1) ++of_x;
  EXPECT_EQ(of_x, 1u);

  const Tensor x = counted(x_, 1), w = counted(w_, -3);
  Tensor twice_identity = Tensor::zeros(DType::kFloat64, {12, 12});
  for (int64_t i = 0; i < 12; ++i) twice_identity.data<double>()[13 * i] = 2;
  const std::vector<Tensor> out = function({x_, w_, m}, {dy, dw}, {}, options_)({x, w, twice_identity});
  for (int64_t i = 0; i < out[0].size(); ++i)
    ASSERT_EQ(out[0].as_double(i), 8 * 4 * x.as_double(i % x.size()) * w.as_double(i % w.size())) << i;
  expect_products(out[1], x, out[0]);
}

// Of what changes in every iteration they are made in every iteration.
TEST_F(DerivedValues, OfALoopAreMadeInEachIteration) {
  const Expr square = tensor("square", {1, 1, 2, 2}, DType::kFloat64),
             tap = tensor("tap", {1, 1, 1, 1}, DType::kFloat64);
  const auto all = scan(
      [&](Expr s) {
        return correlation(s, tap) + 0.0 * sum(conv_weight_gradient(s, s, {1, 1}, {.flip = false}));
      },
      ScanOptions{.outputs_info = {square}, .n_steps = 3});
  const Tensor start = counted(square, 1), half = Tensor::of(std::vector<double>{0.5}, {1, 1, 1, 1});
  const Tensor out = function({square, tap}, {all.outputs}, {}, options_)({start, half})[0];
  ASSERT_EQ(out.shape(), (Shape{3, 1, 1, 2, 2}));
  for (int64_t i = 0; i < out.size(); ++i)
    EXPECT_EQ(out.as_double(i), start.as_double(i % 4) * static_cast<double>(2 << (i / 4))) << i;
}

// The spectra of images, filters and the result's gradient: those that each step of FFT finds, and how many buffers
// there are. (That the steps are right: cpu/conv_library_test.cpp.)
struct Spectra {
  std::vector<std::string> found;  // "01": those of the second input
  size_t buffers = 0;
};

Spectra spectra_of(const Graph& graph) {
  const Program program = planned(graph, "FFT");
  Spectra out;
  for_each_step(program.body, [&](const Step& step) {
    const auto* call = std::get_if<kernel::LibraryCall>(&step.code);
    if (!call || call->function.name != "conv_fft_f32") return;
    const size_t first = call->arguments.size() - 9;  // has_a, has_b, and seven pointers
    out.found.push_back(
        str(std::get<Dim>(call->arguments[first]).text(), std::get<Dim>(call->arguments[first + 1]).text()));
  });
  for (const Buffer& buffer : program.buffers) out.buffers += buffer.name.starts_with("spectra ") ? 1 : 0;
  return out;
}

Spectra spectra_of_passes(const Dims& of_x, const Dims& of_w) {
  const Expr x = tensor("x", of_x, DType::kFloat32), w = tensor("w", of_w, DType::kFloat32), y = conv2d(x, w),
             dy = tensor("dy", y.dims(), DType::kFloat32);
  const Dims lengths{of_x[2], of_x[3]}, taps{of_w[2], of_w[3]};
  return spectra_of({{x, w, dy}, {y, conv_transposed(dy, w, {}, lengths), conv_weight_gradient(x, dy, taps)}, {}});
}

TEST(DerivedSpectra, OfTheThreePassesAreMadeOnce) {
  const Spectra spectra = spectra_of_passes({2, 3, 20, 24}, {4, 3, 7, 7});
  EXPECT_EQ(spectra.found, (std::vector<std::string>{"00", "10", "11"}));
  EXPECT_EQ(spectra.buffers, 3u);
}

// In a network of two layers: images, h, the second filters and the gradient of the second result, each for two steps.
TEST(DerivedSpectra, OfATrainingStepAreMadeOnce) {
  const Expr x = tensor("x", {2, 3, 20, 24}, DType::kFloat32), b = tensor("b", {4, 1, 1}, DType::kFloat32),
             w = tensor("w", {4, 3, 7, 7}, DType::kFloat32), v = tensor("v", {5, 4, 6, 6}, DType::kFloat32);
  const Expr h = tanh(conv2d(x, w) + b), cost = sum(sqr(tanh(conv2d(h, v))));
  const Spectra spectra = spectra_of({{x, w, b, v}, {grad(cost, w), grad(cost, v), grad(cost, b)}, {}});
  EXPECT_EQ(spectra.found.size(), 5u) << "two forward, two to filters, one to h";
  const std::string all = join(spectra.found, "");
  EXPECT_EQ(std::count(all.begin(), all.end(), '1'), 4);
  EXPECT_EQ(spectra.buffers, 6u);
}

// Where not all images are transformed at once, those of the filters alone can be taken over.
TEST(DerivedSpectra, OfSomeImagesAtATimeStayInTheirStep) {
  const Spectra spectra = spectra_of_passes({64, 32, 64, 64}, {32, 32, 5, 5});
  EXPECT_EQ(spectra.found, (std::vector<std::string>{"00", "10", "00"}));
  EXPECT_EQ(spectra.buffers, 1u);
}

}  // namespace
}  // namespace thtrain::derived_values_test
