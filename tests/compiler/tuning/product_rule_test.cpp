// Which products are computed by which candidate where nothing was measured: compiler/ops/linalg/product_cycles.h.
#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/ops/candidates.h"
#include "compiler/ops/linalg/product_key.h"

namespace thtrain::product_rule_test {
namespace {

using kernel::ChoiceKey;

std::vector<std::string> names_of(const std::vector<Candidate>& candidates) {
  std::vector<std::string> out;
  for (const Candidate& candidate : candidates) out.push_back(candidate.name);
  return out;
}

// A weight's gradient: C is large, and both measuring and the rule know kernels that walk it row by row.
TEST(ProductRule, LargeGradientsAreWalkedByRows) {
  kernel::Target target;
  const ChoiceKey gradient = key_of({DType::kFloat32, 1000, 1000, 60, true, false, true});
  const ChoiceKey forward = key_of({DType::kFloat32, 60, 1000, 1000, false, false, false});
  auto any_by_rows = [&](const ChoiceKey& key) {
    const std::vector<std::string> names = names_of(candidates_of(key, target));
    return std::any_of(names.begin(), names.end(), [](const std::string& n) { return n.starts_with("rows "); });
  };
  const Computation& computation = *find_computation("matrix_product");
  for (const auto& [isa, bytes, choice] : {std::tuple("avx512", 64, "rows 6x4"), {"avx2", 32, "rows 6x2"}}) {
    target.isa = isa;
    target.vector_bytes = bytes;
    EXPECT_TRUE(any_by_rows(gradient));
    EXPECT_FALSE(any_by_rows(forward));
    EXPECT_EQ(computation.rule(gradient, target, 1, 0), choice);
    EXPECT_TRUE(computation.rule(forward, target, 1, 0).starts_with("tile "))
        << computation.rule(forward, target, 1, 0);
  }
  target.isa = "sse2";
  EXPECT_EQ(names_of(candidates_of(gradient, target)), (std::vector<std::string>{"library", "oneDNN"}));
}

// Few rows of A and rows of B^T: a tile would transpose B for two rows; but each result of the library is a sum of
// lanes.
TEST(ProductRule, ProductsOfFewRowsOrColumnsAreWeighed) {
  kernel::Target target{.second_cache_bytes = 1 << 20, .last_cache_bytes = 32 << 20};
  target.rates.multiply_add = target.rates.load = 100;
  target.rates.library_multiply_add = 119;
  target.rates.library_narrow_multiply_add = 168;
  auto rule = [&](int64_t m, int64_t k, int64_t n, bool trans_a, bool trans_b) {
    return find_computation("matrix_product")
        ->rule(key_of({DType::kFloat32, m, n, k, trans_a, trans_b, false}), target, 1, 0);
  };
  EXPECT_EQ(rule(2, 3887, 95, false, true), "library");
  EXPECT_TRUE(rule(2, 16, 653, false, true).starts_with("tile "));
  EXPECT_TRUE(rule(19, 137, 10, true, false).starts_with("tile "));
  target.isa = "avx2";
  target.vector_bytes = 32;
  EXPECT_EQ(rule(3964, 930, 2, false, true), "rows 12x1") << "rows of one vector fill the registers";
}

}  // namespace
}  // namespace thtrain::product_rule_test
