// Winograd's transforms: how much they enlarge errors, and which convolutions have them. (The convolutions themselves:
// conv_candidates_test.cpp.)
#include "compiler/ops/conv/winograd_transforms.h"

#include <gtest/gtest.h>

#include "compiler/ops/candidates.h"
#include "compiler/ops/conv/convolution.h"

namespace thtrain {
namespace {

// By NumPy, from the matrices of the same points: (abs(A) * abs(B).sum(1)) @ abs(G), its largest element.
TEST(WinogradTransforms, TheirGrowthIsNumPys) {
  EXPECT_NEAR(Winograd(2, 3, DType::kFloat32, 1).growth(), 4, 1e-14);
  EXPECT_NEAR(Winograd(3, 2, DType::kFloat32, 1).growth(), 4, 1e-14);
  EXPECT_NEAR(Winograd(4, 3, DType::kFloat32, 1).growth(), 13.244481792717087, 1e-13);
  EXPECT_NEAR(Winograd(3, 4, DType::kFloat32, 1).growth(), 13.244481792717087, 1e-13);
}

TEST(WinogradTransforms, BoundsGrowWithTheTerms) {
  const double u = 1.0 / (1 << 24);
  EXPECT_NEAR(Winograd(2, 3, DType::kFloat32, 1).error_bound(64), (64 + 20) * u * 16, 1e-5 * (64 + 20) * u * 16);
  EXPECT_GT(Winograd(4, 3, DType::kFloat32, 1).error_bound(64),
            10 * Winograd(2, 3, DType::kFloat32, 1).error_bound(64));
  EXPECT_LT(Winograd(4, 3, DType::kFloat64, 1).error_bound(512), 1e-10);
}

TEST(WinogradCandidates, AreThoseOfThreeByThreeTaps) {
  auto names = [](ConvPass pass, const char* properties) {
    std::string out;
    for (const Candidate& c : candidates_of({name_of(pass), properties}, {.isa = "avx512", .vector_bytes = 64}))
      if (c.name.starts_with("winograd")) out += c.name + ";";
    return out;
  };
  for (ConvPass pass : {ConvPass::kForward, ConvPass::kInputGradient, ConvPass::kWeightGradient}) {
    EXPECT_EQ(names(pass, "float32 b2 i5x9x8 k6x3x3 p1:1x0:3"), "winograd 2;winograd 4;");
    for (const char* other :
         {"float32 b2 i5x9 k6x3", "float32 b2 i5x9x9x9 k6x3x3x3", "float32 b2 i5x9x8 k6x3x5",
          "float32 b2 i5x9x8 k6x3x3 s1x2", "float32 b2 i5x9x8 k6x3x3 d2x1", "float32 b2 i4x9x8 k6x3x3 g2"})
      EXPECT_EQ(names(pass, other), "") << other;
  }
}

// Where a tolerance allows them, and the model says that they are worth their transforms.
TEST(ConvRule, TakesWinogradWithinTheTolerance) {
  const kernel::Target target{.isa = "avx512", .vector_bytes = 64};
  for (ConvPass pass : {ConvPass::kForward, ConvPass::kInputGradient, ConvPass::kWeightGradient}) {
    const kernel::ChoiceKey key{name_of(pass), "float32 b16 i64x56x56 k64x3x3 p1:1x1:1"};
    auto rule = [&](double tolerance) { return find_computation(key.computation)->rule(key, target, 1, tolerance); };
    const double of_2 = find_candidate(key, "winograd 2", target)->error_bound,
                 of_4 = find_candidate(key, "winograd 4", target)->error_bound;
    EXPECT_TRUE(rule(0).starts_with("filters")) << rule(0);
    EXPECT_EQ(rule(of_2 / 2), rule(0));
    EXPECT_EQ(rule(of_2), "winograd 2");
    EXPECT_EQ(rule(of_4), "winograd 4");
    // One channel has fewer products than transforms.
    const kernel::ChoiceKey one{name_of(pass), "float32 b16 i1x56x56 k4x3x3 p1:1x1:1"};
    EXPECT_TRUE(find_computation(one.computation)
                    ->rule(one, target, 1, 1)
                    .starts_with(pass == ConvPass::kWeightGradient ? "rows" : "planes"));
  }
}

}  // namespace
}  // namespace thtrain
