// Sparse matrices whose rows and columns are named lengths.
#include <gtest/gtest.h>

#include "compiler/api.h"
#include "tests/support/error_text.h"

namespace thtrain::sparse_lengths_test {
namespace {

// indptr, of r + 1 elements, tells r.
TEST(SparseLengths, OfRowsMayBeNamed) {
  const Sparse a = csr_matrix("a", "r", "c", DType::kFloat64);
  const Expr x = tensor("x", {"c", "k"}, DType::kFloat64);
  Function f = function(inputs_of({a, x}), {dot(a, x), sum(a, 1)});
  // [[0, 2], [0, 0], [3, 4]]
  const Tensor data = Tensor::vector<double>({2, 3, 4}), indices = Tensor::vector<int32_t>({1, 0, 1}),
               indptr = Tensor::vector<int32_t>({0, 1, 1, 3}), ones = Tensor::of(std::vector<double>{1, 1}, {2, 1});
  const std::vector<Tensor> out = f({data, indices, indptr, ones});
  EXPECT_EQ(out[0].text(), "[[2], [0], [7]]");
  EXPECT_EQ(out[1].text(), "[2, 0, 7]");
  EXPECT_EQ(text_without_node([&] {
              f({data, indices, Tensor::zeros(DType::kInt32, {0}), ones});
            }),
            "error: a.indptr: axis 0 has 0 elements where r + 1 is 1\n"
            "  expected: int32[r + 1]\n"
            "  got:      int32[0]");
}

}  // namespace
}  // namespace thtrain::sparse_lengths_test
