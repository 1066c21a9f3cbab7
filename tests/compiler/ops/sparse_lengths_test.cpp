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

// What two matrices must share a call checks where it alone knows it, whatever they store.
TEST(SparseLengths, OfTwoMatricesAreCompared) {
  const Sparse a = csr_matrix("a", "r", "c", DType::kFloat64), b = csr_matrix("b", "s", "d", DType::kFloat64);
  const SparseTensor low = SparseTensor::from_dense(Tensor::matrix({{1.0, 0.0, 0.0}, {0.0, 0.0, 0.0}})),
                     square = SparseTensor::from_dense(Tensor::matrix({{1.0, 0.0}, {0.0, 0.0}}));
  const Expr x = vector("x", {"c"}), y = vector("y", {"d"});  // which tell the numbers of columns
  const auto error_of = [&](const Expr& result, Mode mode) {
    Function f =
        function(inputs_of({a, b, x, y}), {result}, {}, {.mode = mode, .unused_inputs = UnusedInputs::kAllowed});
    return text_without_node([&] {
      f(arguments_of({low, square, Tensor::vector({1.0, 1.0, 1.0}), Tensor::vector({1.0, 1.0})}));
    });
  };
  const std::string differ = "the lengths of two matrices differ\n  expected: c == ";
  for (Mode mode : {Mode::kNative, Mode::kReference}) {
    EXPECT_EQ(error_of(sum(dot(a, b)), mode), "error: sparse dot: " + differ + "s\n  got:      3 and 2");
    EXPECT_EQ(error_of(sum(a + b), mode), "error: +: " + differ + "d\n  got:      3 and 2");
    EXPECT_EQ(error_of(sum(multiply(a, b)), mode), "error: multiply: " + differ + "d\n  got:      3 and 2");
    EXPECT_EQ(error_of(sum(cast(lt(a, b), DType::kFloat64)), mode), "error: lt: " + differ + "d\n  got:      3 and 2");
    EXPECT_EQ(error_of(sum(sum(vstack({a, b}), 1)), mode), "error: vstack: " + differ + "d\n  got:      3 and 2");
  }
  const Sparse known = csr_matrix("known", 3, 4, DType::kFloat64);
  EXPECT_EQ(text_without_node([&] { dot(known, known); }),
            "error: sparse dot: the inner lengths differ\n  expected: 4 rows\n  got:      3 rows");
}

TEST(SparseLengths, OfPartsAreCompared) {
  const Expr m = matrix("m"), d = vector("d"), i = ivector("i"), j = ivector("j");
  EXPECT_EQ(text_without_node([&] { csr(m, i, j, 4); }),
            "error: a sparse matrix: the stored elements are no vector\n  expected: as many as indices\n"
            "  got:      m float64[m.0, m.1]");
  Function f = function({d, i, j}, {dense(csr_from_coordinates(d, i, j, {2, 2}))});
  EXPECT_EQ(text_without_node([&] {
              f({Tensor::vector({1.0, 2.0}), Tensor::vector<int64_t>({0}), Tensor::vector<int64_t>({0})});
            }),
            "error: csr_from_coordinates: the values: axis 0 has another length\n  expected: d.0 == i.0\n"
            "  got:      2 and 1");
}

}  // namespace
}  // namespace thtrain::sparse_lengths_test
