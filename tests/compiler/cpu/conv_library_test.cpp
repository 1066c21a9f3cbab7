// Convolutions by libraries (BLAS over patches, oneDNN where it is installed) against the definition in float64, and
// the rule where generated kernels have no fused multiply-add.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "compiler/api.h"
#include "compiler/cpu/conv/fft.h"
#include "compiler/libraries/threads.h"
#include "compiler/ops/candidates.h"
#include "compiler/tuning/tuner.h"
#include "tests/support/conv_candidates.h"
#include "tests/support/conv_shapes.h"

namespace thtrain::conv_library_test {
namespace {

constexpr ConvPass kPasses[] = {ConvPass::kForward, ConvPass::kInputGradient, ConvPass::kWeightGradient};

bool is_installed(const kernel::ChoiceKey& key, const std::string& name, const kernel::Target& target) {
  const std::optional<Candidate> found = find_candidate(key, name, target);
  return found && version_of(*found);
}

ThContext context_of(int threads) {
  ThContext context{};
  context.version = TH_ABI_VERSION;
  context.threads = threads;
  context.parallel_for = parallel_for;
  return context;
}

int64_t output_elements(const Convolution& c) {
  if (c.pass == ConvPass::kForward) return c.n * c.f * c.positions();
  if (c.pass == ConvPass::kInputGradient) return c.n * c.c * c.pixels();
  return c.f * c.channels() * c.taps();
}

template <class T>
std::vector<T> random_elements(int64_t seed, int64_t count) {
  const std::vector<double> values = RandomState(seed).normal(0, 1, static_cast<size_t>(count));
  return {values.begin(), values.end()};
}

template <class T>
std::vector<T> output_of(const ConvCandidates& candidates, size_t i, const Convolution& c, int threads,
                         const std::vector<T>& a, const std::vector<T>& b) {
  std::vector<T> out(static_cast<size_t>(output_elements(c)), std::numeric_limits<T>::quiet_NaN());
  ThContext context = context_of(threads);
  candidates.run(i, context, a.data(), b.data(), out.data());
  return out;
}

// What an error by transforms is relative to, of operands without signs: the largest element of the images times the
// largest sum of what one channel of the result takes of the other operand.
double norm_of(const Convolution& c, const std::vector<double>& a, const std::vector<double>& b) {
  const bool filters_first = c.pass == ConvPass::kInputGradient;
  const std::vector<double>&images = filters_first ? b : a, &other = filters_first ? a : b;
  const int64_t group = c.channels() * c.taps();
  std::vector<double> sums(static_cast<size_t>(std::max(c.c, c.f)), 0);
  for (size_t k = 0; k < other.size(); ++k) {
    const auto at = static_cast<int64_t>(k);
    int64_t channel = at / group;  // filters [f, c / groups, taps]
    if (c.pass == ConvPass::kInputGradient)
      channel = at / group / c.filters() * c.channels() + at / c.taps() % c.channels();
    if (c.pass == ConvPass::kWeightGradient) channel = at / c.positions() % c.f;  // gradients [n, f, positions]
    sums[static_cast<size_t>(channel)] += other[k];
  }
  return *std::max_element(images.begin(), images.end()) * *std::max_element(sums.begin(), sums.end());
}

// Candidate i is the definition, of which candidate `loops` adds the terms in float64.
template <class T>
void expect_definition(const ConvCandidates& candidates, size_t i, size_t loops, const ConvCandidates::One& one) {
  const Convolution& c = one.convolution;
  const int64_t x = c.n * c.c * c.pixels(), w = c.f * c.channels() * c.taps(), y = c.n * c.f * c.positions();
  const std::vector<T> a = random_elements<T>(1, c.pass == ConvPass::kInputGradient ? w : x),
                       b = random_elements<T>(2, c.pass == ConvPass::kForward ? w : y);
  std::vector<double> wide_a(a.begin(), a.end()), wide_b(b.begin(), b.end());
  const std::vector<double> values = output_of(candidates, loops, c, 1, wide_a, wide_b);
  for (std::vector<double>* operand : {&wide_a, &wide_b})
    for (double& value : *operand) value = std::fabs(value);
  const std::vector<double> sizes = output_of(candidates, loops, c, 1, wide_a, wide_b);
  const double terms = c.flops() / 2 / static_cast<double>(output_elements(c));
  const double of_norm = one.name == "FFT" ? fft_error_bound(c) * norm_of(c, wide_a, wide_b) : 0;
  for (int threads : {1, 2, 3}) {
    const std::vector<T> out = output_of(candidates, i, c, threads, a, b),
                         again = output_of(candidates, i, c, threads, a, b);
    ASSERT_EQ(std::memcmp(out.data(), again.data(), out.size() * sizeof(T)), 0) << threads << " threads, called twice";
    for (size_t k = 0; k < out.size(); ++k)
      ASSERT_NEAR(out[k], values[k], of_norm > 0 ? of_norm : (terms + 4) * std::numeric_limits<T>::epsilon() * sizes[k])
          << "element " << k << " by " << threads << " threads";
  }
}

const char* const kLibraries[] = {"patches", "patches by slabs", "oneDNN", "FFT"};

TEST(ConvByLibraries, AreTheDefinition) {
  const kernel::Target target{.isa = "avx2", .vector_bytes = 32};
  std::vector<ConvCandidates::One> all;
  for (const char* shape : kConvShapes)
    for (ConvPass pass : kPasses)
      for (DType dtype : {DType::kFloat64, DType::kFloat32}) {
        const kernel::ChoiceKey key{name_of(pass), str(name_of(dtype), " ", shape)};
        const std::optional<Convolution> c = convolution_of(key);
        ASSERT_TRUE(c) << shape;
        if (dtype == DType::kFloat64) all.push_back({*c, "loops"});
        for (const char* name : kLibraries)
          if (is_installed(key, name, target)) all.push_back({*c, name});
      }
  const ConvCandidates candidates(all, target);
  size_t loops = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i].name == "loops") {
      loops = i;
      continue;
    }
    SCOPED_TRACE(str(key_of(all[i].convolution).text(), " by ", all[i].name));
    if (all[i].convolution.dtype == DType::kFloat32)
      expect_definition<float>(candidates, i, loops, all[i]);
    else
      expect_definition<double>(candidates, i, loops, all[i]);
  }
}

// Several walkers leave one thread to each product, so that no bit depends on how many threads there are.
TEST(ConvPatches, BySlabsHaveTheSameBitsForAnyThreads) {
  const kernel::Target target{.isa = "avx2", .vector_bytes = 32};
  std::vector<ConvCandidates::One> all;
  for (ConvPass pass : kPasses)
    all.push_back({*convolution_of({name_of(pass), "float32 b7 i24x40x41 k2x5x5"}), "patches by slabs"});
  const ConvCandidates candidates(all, target);
  for (size_t i = 0; i < all.size(); ++i) {
    const Convolution& c = all[i].convolution;
    const std::vector<float> a = random_elements<float>(1, c.n * c.c * c.pixels()),
                             b = random_elements<float>(2, c.n * c.c * c.pixels());
    const std::vector<float> one = output_of(candidates, i, c, 1, a, b);
    for (int threads : {2, 3, 8}) {
      const std::vector<float> out = output_of(candidates, i, c, threads, a, b);
      EXPECT_EQ(std::memcmp(one.data(), out.data(), one.size() * sizeof(float)), 0) << threads << " threads";
    }
  }
}

TEST(ConvRule, TakesProductsOverPatchesWhereKernelsHaveNoFma) {
  for (const char* isa : {"sse2", "other"})
    for (ConvPass pass : kPasses) {
      const kernel::ChoiceKey key{name_of(pass), "float32 b2 i3x9x21 k5x3x4"};
      EXPECT_EQ(find_computation(key.computation)->rule(key, {.isa = isa, .vector_bytes = 16}, 1, 0),
                "patches by slabs");
    }
}

// Few channels leave a direct kernel of their gradient few sums, and a matrix product all filters.
TEST(ConvRule, TakesPlanesForGradientsToFewChannels) {
  const kernel::Target target{.isa = "avx512", .vector_bytes = 64};
  for (const char* dtype : {"float32", "float64"}) {
    auto rule = [&](ConvPass pass, const char* shape) {
      const kernel::ChoiceKey key{name_of(pass), str(dtype, " ", shape)};
      return find_computation(key.computation)->rule(key, target, 1, 0);
    };
    EXPECT_EQ(rule(ConvPass::kInputGradient, "b64 i3x64x64 k128x7x7"), "planes 3x2x3");
    EXPECT_TRUE(rule(ConvPass::kInputGradient, "b20 i1x256x256 k6x7x7").starts_with("planes 1x"));
    EXPECT_TRUE(rule(ConvPass::kForward, "b64 i3x64x64 k128x7x7").starts_with("rows "));
    EXPECT_TRUE(rule(ConvPass::kWeightGradient, "b64 i3x64x64 k128x7x7").starts_with("filters "));
    EXPECT_TRUE(rule(ConvPass::kInputGradient, "b16 i64x56x56 k64x3x3 p1:1x1:1").starts_with("filters "));
  }
}

// The three passes of a training step take spectra from each other: with filters that are read backwards, groups, zeros
// on one side, several images.
TEST(ConvByLibraries, PassesThatShareSpectraAreTheDefinition) {
  const Expr x = tensor("x", {3, 4, 9, 10}, DType::kFloat64), w = tensor("w", {6, 2, 5, 3}, DType::kFloat64),
             dy = tensor("dy", {3, 6, 7, 8}, DType::kFloat64);
  const ConvOptions options{.padding = ConvPadding::zeros({{0, 2}, {0, 0}}), .groups = 2};
  std::vector<Tensor> operands;
  for (const Expr& operand : {x, w, dy}) {
    const Shape shape = operand.type().known_shape();
    operands.push_back(Tensor::of(random_elements<double>(3, product(operand.dims()).value()), shape));
  }
  auto by = [&](const std::string& name) {
    const FunctionOptions taken{
        .candidates = {{"conv", name}, {"conv_input_gradient", name}, {"conv_weight_gradient", name}}};
    const Expr y = conv2d(x, w, options), cost = sum(y * dy);
    return function({x, w, dy}, {y, grad(cost, x), grad(cost, w)}, {}, taken)(operands);
  };
  const std::vector<Tensor> expected = by("loops"), shared = by("FFT");
  for (size_t k = 0; k < expected.size(); ++k) {
    ASSERT_EQ(shared[k].type_text(), expected[k].type_text());
    for (int64_t i = 0; i < expected[k].size(); ++i)
      ASSERT_NEAR(shared[k].as_double(i), expected[k].as_double(i), 1e-12) << "result " << k << ", element " << i;
  }
}

// Filters of a true convolution are read backwards: they need not be copied before the step.
TEST(ConvByLibraries, TakesFiltersOfAnyLayout) {
  const Expr x = tensor("x", {2, 3, 6, 7}, DType::kFloat32), w = tensor("w", {4, 3, 2, 3}, DType::kFloat32),
             dy = tensor("dy", {2, 4, 5, 5}, DType::kFloat32);
  std::vector<Tensor> operands;
  for (const Expr& operand : {x, w, dy}) {
    Shape shape;
    for (const Dim& length : operand.dims()) shape.push_back(length.value());
    const int64_t count = product(operand.dims()).value();
    operands.push_back(
        Tensor::of(RandomState(count).normal(0, 1, static_cast<size_t>(count)), shape).cast(DType::kFloat32));
  }
  auto by = [&](const std::string& name) {
    const FunctionOptions options{.candidates = {{"conv", name}, {"conv_input_gradient", name}}};
    Function f = function({x, w, dy}, {conv2d(x, w), conv_transposed(dy, w)}, {}, options);
    EXPECT_EQ(f.info().choices.at(0).candidate, name);
    std::vector<double> all;
    for (const Tensor& out : f(operands))
      for (int64_t i = 0; i < out.size(); ++i) all.push_back(out.as_double(i));
    return all;
  };
  const std::vector<double> expected = by("loops");
  for (const char* name : kLibraries) {
    if (!is_installed({"conv", "float32 b2 i3x6x7 k4x2x3"}, name, {.isa = "avx2", .vector_bytes = 32})) continue;
    const std::vector<double> values = by(name);
    ASSERT_EQ(values.size(), expected.size());
    for (size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], expected[i], 1e-5) << name << ", element " << i;
  }
}

}  // namespace
}  // namespace thtrain::conv_library_test
