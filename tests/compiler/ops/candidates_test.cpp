// Tests of compiler/ops/candidates.h: what the rules choose by expected times.
#include "compiler/ops/candidates.h"

#include <gtest/gtest.h>

#include "compiler/ops/linalg/product_key.h"

namespace thtrain {
namespace candidates_test {

using kernel::KernelRates;
using kernel::Target;

TEST(LeastExpected, TheUsualChoiceGivesWayForMoreThanATenth) {
  EXPECT_EQ(least_expected({{"a", 2, 8}, {"b", 1, 10.9}, {"c", 3, 10}}), "a");
  EXPECT_EQ(least_expected({{"a", 2, 10}, {"b", 1, 10.9}, {"c", 3, 10}}), "b") << "less than a tenth";
  EXPECT_EQ(least_expected({{"a", 2, 10.5}, {"b", 1, 12}, {"c", 3, 10}}), "a") << "the usual one of those near";
  EXPECT_EQ(least_expected({{"a", 1, 3}, {"b", 1, 3}}), "a");
}

std::string chosen(const std::string& computation, const std::string& properties, const KernelRates& rates) {
  Target target{.second_cache_bytes = 1 << 20, .last_cache_bytes = 32 << 20};
  target.rates = rates;
  return find_computation(computation)->rule({computation, properties}, target, 1, 0);
}

// As on an AMD EPYC (Zen 4): one multiply-add and one load of 64 bytes in a cycle.
constexpr KernelRates kOneLoad{.multiply_add = 100, .load = 100, .crossing_load = 141};

// OpenBLAS's kernel for narrow products.
TEST(Rules, FollowWhatWasMeasured) {
  EXPECT_EQ(chosen("matrix_product", "float32 1255x935x13 TN", {}), "library");
  KernelRates slow = kOneLoad;
  slow.library_narrow_multiply_add = 168;
  EXPECT_EQ(chosen("matrix_product", "float32 1255x935x13 TN", slow), "tile 14x1x117");
  EXPECT_EQ(chosen("matrix_product", "float32 1255x935x2 TN", slow), "library") << "in two of sixteen lanes";
  for (const KernelRates& rates : {KernelRates(), kOneLoad})
    EXPECT_EQ(chosen("matrix_product", "float32 3516x60x1327 NN", rates), "rows 6x4");
  // 1.2 MB of results, which are written in the order in which they lie where that is most of the work.
  EXPECT_EQ(chosen("matrix_product", "float32 600x8x500 NN", {}), "rows 6x4");
  EXPECT_EQ(chosen("matrix_product", "float32 600x9x500 NN", {}), "rows 6x4");
}

}  // namespace candidates_test
}  // namespace thtrain
