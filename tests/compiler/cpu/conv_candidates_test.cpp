// Every candidate of a convolution against the definition: strides, paddings, dilations, groups, one position, one tap,
// filters as large as the image; both dtypes, every width of vectors, and the same bits for every number of threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "compiler/api.h"
#include "compiler/libraries/threads.h"
#include "compiler/ops/candidates.h"
#include "compiler/ops/conv/convolution.h"
#include "compiler/ops/conv/geometry.h"
#include "tests/support/conv_candidates.h"
#include "tests/support/conv_shapes.h"

namespace thtrain::conv_candidates_test {
namespace {

const char* const kTilings[] = {"filters 14x1", "filters 6x4", "filters 4x2", "filters 3x1", "filters 1x1",
                                "rows 12x1",    "rows 6x4",    "rows 3x2",    "rows 2x1",    "rows 1x1"};

const char* const kDirect[] = {"filters", "rows", "planes"};

constexpr size_t kTilingsOfShape = 4;  // of float64 half as many

// Of 3 x 3 taps: positions that are no whole tiles, channels and filters that are no whole vectors or blocks, rows in
// pieces, chunks of several images, slabs of channels, and all tiles at once.
const char* const kWinogradShapes[] = {
    "b3 i37x4x5 k3x3x3 p2:2x2:2",   "b2 i2x7x18 k3x3x3 p1:1x1:1", "b1 i4x6x9 k37x3x3",
    "b9 i140x8x8 k17x3x3 p1:1x1:1", "b1 i2x6x7 k3x3x3 p5:4x4:6",  "b8 i20x14x14 k40x3x3 p1:1x1:1",
    "b2 i3x14x182 k5x3x3",          "b1 i300x9x9 k130x3x3",       "b3 i2x20x20 k3x3x3 p1:1x1:1",
};
const char* const kWinograd[] = {"winograd 2", "winograd 4"};

// Of few filters: one slab of channels and three, bands whose last rows fill no tile, blocks that are not whole,
// groups, one axis, taps on nothing but zeros, rows of taps that are few and that make a loop.
const char* const kPlanesShapes[] = {"b2 i70x9x40 k3x3x3 p1:1x1:1",  "b1 i150x11x37 k2x4x2 p3:2x1:0",
                                     "b1 i5x70x21 k4x2x13 p0:0x7:9", "b3 i8x5x17 k6x3x1 p1:0x0:0 g2",
                                     "b2 i3x50 k5x7 p3:2",           "b2 i2x3x9 k1x1x1 p2:2x1:3",
                                     "b40 i1x12x12 k2x5x5"};
const char* const kPlanes[] = {"rows 2x1", "planes 1x4x3", "planes 2x2x2", "planes 3x1x1"};

// The convolution whose gradient to the images is as the forward pass of `c`: channels and filters exchanged.
Convolution gradient_like(Convolution c) {
  c.pass = ConvPass::kInputGradient;
  std::swap(c.c, c.f);
  return c;
}

ThContext context_of(int threads) {
  ThContext context{};
  context.version = TH_ABI_VERSION;
  context.threads = threads;
  context.parallel_for = parallel_for;
  return context;
}

kernel::Target target_of(int vector_bytes) {
  return {.isa = vector_bytes == 64 ? "avx512" : "avx2", .vector_bytes = vector_bytes};
}

// The operands of the pass, and what the definition makes of them: values, and the sum of the terms' sizes.
template <class T>
struct Defined {
  std::vector<T> operands[2];
  std::vector<double> values, sizes;

  explicit Defined(const Convolution& c) {
    const kernel::ChoiceKey key = key_of(c);
    const Graph graph = find_computation(key.computation)->example(key.properties).value();
    const Node& node = graph.outputs[0].node();
    const ConvLengths l = lengths_of_conv(node);
    const ConvGeometry g = ConvGeometry::of(node.props);
    auto shape = [](const Dims& dims) {
      Shape out;
      for (const Dim& dim : dims) out.push_back(dim.value());
      return out;
    };
    for (int i = 0; i < 2; ++i) {
      int64_t count = 1;
      for (const Dim& dim : node.inputs[static_cast<size_t>(i)].dims()) count *= dim.value();
      const std::vector<double> random =
          RandomState(static_cast<uint64_t>(i) + 1).normal(0, 1, static_cast<size_t>(count));
      operands[i].assign(random.begin(), random.end());
    }
    values.assign(static_cast<size_t>(product(node.types[0].dims).value()), 0);
    sizes = values;
    Ints before;
    for (const Dim& zeros : g.before) before.push_back(zeros.value());
    for_each_conv_term(g, before, shape(l.of_x()), shape(l.of_w(g)), shape(l.of_y()),
                       [&](int64_t x, int64_t w, int64_t y) {
                         const int64_t at[3] = {x, w, y};
                         // Positions of the output and of the two operands.
                         const int positions[3][3] = {{2, 0, 1}, {0, 1, 2}, {1, 0, 2}};
                         const int* p = positions[static_cast<size_t>(c.pass)];
                         const double term = static_cast<double>(operands[0][static_cast<size_t>(at[p[1]])]) *
                                             static_cast<double>(operands[1][static_cast<size_t>(at[p[2]])]);
                         values[static_cast<size_t>(at[p[0]])] += term;
                         sizes[static_cast<size_t>(at[p[0]])] += std::fabs(term);
                       });
  }
};

// max |a| times the largest sum of |b| that a result's channel takes: what Winograd's errors are relative to.
template <class T>
double norm_of(const Convolution& c, const Defined<T>& defined) {
  const bool filters_first = c.pass == ConvPass::kInputGradient;
  double most = 0;
  for (T x : defined.operands[filters_first ? 1 : 0]) most = std::max(most, std::fabs(static_cast<double>(x)));
  const std::vector<T>& of = defined.operands[filters_first ? 0 : 1];
  // [filters][channels][taps], or [images][filters][positions].
  const int64_t channels = c.pass == ConvPass::kWeightGradient ? c.f : c.c,
                plane = c.pass == ConvPass::kWeightGradient ? c.positions() : c.taps();
  std::vector<double> sums(static_cast<size_t>(std::max(c.c, c.f)), 0);
  for (size_t i = 0; i < of.size(); ++i) {
    const int64_t at = static_cast<int64_t>(i) / plane;
    sums[static_cast<size_t>(c.pass == ConvPass::kForward ? at / channels : at % channels)] +=
        std::fabs(static_cast<double>(of[i]));
  }
  return most * *std::max_element(sums.begin(), sums.end());
}

template <class T>
void expect_definition(const ConvCandidates& candidates, const std::vector<ConvCandidates::One>& all) {
  std::optional<Defined<T>> of_convolution;
  std::vector<T> of_tilings;  // the bits that all tilings of a correlation have
  for (size_t i = 0; i < all.size(); ++i) {
    const Convolution& c = all[i].convolution;
    SCOPED_TRACE(str(key_of(c).text(), " by ", all[i].name));
    if (i == 0 || all[i - 1].convolution != c) {
      of_convolution.emplace(c);
      of_tilings.clear();
    }
    const Defined<T>& defined = *of_convolution;
    std::vector<T> one(defined.values.size(), std::numeric_limits<T>::quiet_NaN());
    ThContext context = context_of(1);
    candidates.run(i, context, defined.operands[0].data(), defined.operands[1].data(), one.data());
    for (int threads : {2, 3}) {
      std::vector<T> many(one.size(), std::numeric_limits<T>::quiet_NaN());
      context = context_of(threads);
      candidates.run(i, context, defined.operands[0].data(), defined.operands[1].data(), many.data());
      ASSERT_EQ(std::memcmp(one.data(), many.data(), one.size() * sizeof(T)), 0) << threads << " threads";
    }
    const bool is_tiling =
        std::any_of(std::begin(kDirect), std::end(kDirect), [&](auto form) { return all[i].name.starts_with(form); });
    if (is_tiling && c.pass != ConvPass::kWeightGradient) {
      if (of_tilings.empty()) of_tilings = one;
      ASSERT_EQ(std::memcmp(one.data(), of_tilings.data(), one.size() * sizeof(T)), 0) << "bits of another tiling";
    }
    const Candidate candidate = find_candidate(key_of(c), all[i].name, target_of(64)).value();
    const bool is_other = candidate.rounding == RoundingClass::kOther;
    const double terms = c.flops() / 2 / static_cast<double>(one.size()),
                 bound = is_other ? candidate.error_bound * norm_of(c, defined) : 0;
    for (size_t k = 0; k < one.size(); ++k) {
      ASSERT_NEAR(one[k], defined.values[k],
                  is_other ? bound : (terms + 4) * std::numeric_limits<T>::epsilon() * defined.sizes[k])
          << "element " << k;
    }
  }
}

class OfPass : public testing::TestWithParam<std::tuple<ConvPass, int>> {};

TEST_P(OfPass, EveryCandidateIsTheDefinition) {
  const auto [pass, vector_bytes] = GetParam();
  const kernel::Target target = target_of(vector_bytes);
  for (DType dtype : {DType::kFloat32, DType::kFloat64}) {
    std::vector<ConvCandidates::One> all;
    size_t iteration = dtype == DType::kFloat32 ? 0 : 1;
    const size_t most = dtype == DType::kFloat32 ? kTilingsOfShape : kTilingsOfShape / 2;
    for (const char* shape : kConvShapes) {
      const kernel::ChoiceKey key{name_of(pass), str(name_of(dtype), " ", shape)};
      const std::optional<Convolution> c = convolution_of(key);
      ASSERT_TRUE(c) << shape;
      EXPECT_EQ(key_of(*c), key);
      // Some tilings of each shape, in turn: what differs is where tiles end.
      for (size_t i = 0, taken = 0; i < std::size(kTilings) && taken < most; ++i)
        if (const char* name = kTilings[(i + 3 * iteration) % std::size(kTilings)]; find_candidate(key, name, target)) {
          all.push_back({*c, name});
          ++taken;
        }
      for (const char* name : {"exchanged filters 6x4", "exchanged filters 6x2", "exchanged rows 3x2"})
        if (iteration % 2 == 0 && find_candidate(key, name, target)) all.push_back({*c, name});
      ++iteration;
    }
    // All shapes for one dtype and width, a third for the others: what differs is how long vectors are.
    for (size_t i = 0; i < std::size(kWinogradShapes); ++i)
      if (i % 3 == 0 || (dtype == DType::kFloat32 && vector_bytes == 64))
        for (const char* name : kWinograd)
          all.push_back({convolution_of({name_of(pass), str(name_of(dtype), " ", kWinogradShapes[i])}).value(), name});
    const ConvCandidates candidates(all, target);
    if (dtype == DType::kFloat32)
      expect_definition<float>(candidates, all);
    else
      expect_definition<double>(candidates, all);
  }
}

class Planes : public testing::TestWithParam<std::tuple<ConvPass, int>> {};

TEST_P(Planes, AreTheDefinition) {
  const auto [pass, vector_bytes] = GetParam();
  for (DType dtype : {DType::kFloat32, DType::kFloat64}) {
    std::vector<ConvCandidates::One> all;
    for (const char* shape : kPlanesShapes) {
      Convolution c = convolution_of({name_of(ConvPass::kForward), str(name_of(dtype), " ", shape)}).value();
      if (pass == ConvPass::kInputGradient) c = gradient_like(c);
      for (const char* name : kPlanes)
        if (find_candidate(key_of(c), name, target_of(vector_bytes))) all.push_back({c, name});
    }
    EXPECT_GE(all.size(), 2 * std::size(kPlanesShapes));
    const ConvCandidates candidates(all, target_of(vector_bytes));
    if (dtype == DType::kFloat32)
      expect_definition<float>(candidates, all);
    else
      expect_definition<double>(candidates, all);
  }
}

INSTANTIATE_TEST_SUITE_P(ConvCandidates, Planes,
                         testing::Combine(testing::Values(ConvPass::kForward, ConvPass::kInputGradient),
                                          testing::Values(32, 64)),
                         [](const auto& info) {
                           return str(name_of(std::get<0>(info.param)), "_", std::get<1>(info.param), "_bytes");
                         });

INSTANTIATE_TEST_SUITE_P(
    ConvCandidates, OfPass,
    testing::Combine(testing::Values(ConvPass::kForward, ConvPass::kInputGradient, ConvPass::kWeightGradient),
                     testing::Values(32, 64)),
    [](const auto& info) { return str(name_of(std::get<0>(info.param)), "_", std::get<1>(info.param), "_bytes"); });

TEST(ConvKeys, AreReadBack) {
  for (const char* text : {"float32 b16 i64x56x56 k64x3x3 p1:1x1:1", "float64 b1 i4x9 k6x3 s2 d3 g2",
                           "float32 b2 i3x4x5x6 k7x1x2x3 s1x2x1 p0:1x0:0x2:2"}) {
    const std::optional<Convolution> c = convolution_of({"conv", text});
    ASSERT_TRUE(c) << text;
    EXPECT_EQ(key_of(*c).properties, text);
  }
  for (const char* text :
       {"", "float16 b1 i1x3 k1x2", "float32 b0 i1x3 k1x2", "float32 b1 i1x3 k1x4", "float32 b1 i3x4x4 k2x2x2 g2",
        "float32 b1 i1x3 k1x2x2", "float32 b1 i1x3 k1x2 s0", "float32 b1 i1x3 k1x2 p1", "float32 b1 i1x3 k1x2 q"})
    EXPECT_FALSE(convolution_of({"conv", text})) << text;
  EXPECT_FALSE(convolution_of({"matrix_product", "float32 b1 i1x3 k1x2"}));
}

// Gradients to filters as forward passes, and forward passes as gradients to filters: of one group, and over rows
// without dilation, for which strides are exchanged.
TEST(ConvCandidates, ExchangedOnesAreTakenByName) {
  auto has = [](const char* computation, const char* properties, const char* name) {
    const kernel::ChoiceKey key{computation, properties};
    for (const Candidate& offered : candidates_of(key, target_of(64))) EXPECT_NE(offered.name, name);
    return find_candidate(key, name, target_of(64)).has_value();
  };
  EXPECT_TRUE(has("conv_weight_gradient", "float32 b2 i3x9x21 k5x3x4", "exchanged filters 6x4"));
  EXPECT_TRUE(has("conv_weight_gradient", "float32 b2 i3x9x21 k5x3x4", "exchanged rows 6x4"));
  EXPECT_TRUE(has("conv", "float32 b2 i3x9x21 k5x3x4", "exchanged filters 6x4"));
  EXPECT_TRUE(has("conv", "float32 b2 i3x9x21 k5x3x4", "exchanged rows 6x4"));
  EXPECT_FALSE(has("conv", "float32 b2 i4x9x21 k6x3x4 g2", "exchanged filters 6x4"));
  EXPECT_FALSE(has("conv", "float32 b2 i3x9x21 k5x3x4 d1x2", "exchanged rows 6x4"));
  EXPECT_TRUE(has("conv", "float32 b2 i3x9x21 k5x3x4 s1x2", "exchanged rows 6x4"));
  EXPECT_FALSE(has("conv_input_gradient", "float32 b2 i3x9x21 k5x3x4", "exchanged filters 6x4"));
  EXPECT_FALSE(has("conv_weight_gradient", "float32 b2 i4x9x21 k6x3x4 g2", "exchanged filters 6x4"));
  EXPECT_FALSE(has("conv_weight_gradient", "float32 b2 i3x9x21 k5x3x4 d1x2", "exchanged rows 6x4"));
  EXPECT_FALSE(has("conv_weight_gradient", "float32 b2 i3x9x21 k5x3x4", "exchanged 6x4"));
}

TEST(ConvRule, TakesATilingThatApplies) {
  for (const char* shape : kConvShapes)
    for (ConvPass pass : {ConvPass::kForward, ConvPass::kInputGradient, ConvPass::kWeightGradient}) {
      const kernel::ChoiceKey key{name_of(pass), str("float32 ", shape)};
      const std::string name = find_computation(key.computation)->rule(key, target_of(64), 1, 0);
      EXPECT_NE(name, "loops") << key.text();
      EXPECT_TRUE(find_candidate(key, name, target_of(64))) << key.text() << " by " << name;
    }
}

}  // namespace
}  // namespace thtrain::conv_candidates_test
