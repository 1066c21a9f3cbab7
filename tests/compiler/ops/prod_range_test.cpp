// Products of float32 stay in range where their results do.
#include <gtest/gtest.h>

#include <cmath>

#include "compiler/api.h"

namespace thtrain {
namespace {

// Rows and columns of large, small and zero elements: along either axis the parts of a product leave the range of
// float32, in any order of the lanes.
Tensor elements(int64_t rows, int64_t columns) {
  Tensor out = Tensor::empty(DType::kFloat32, {rows, columns});
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      out.data<float>()[i * columns + j] = (i + j) % 17 == 16 ? -0.0F : (i + j) % 2 == 0 ? 1e15F : -2.0F;
  return out;
}

TEST(ProdRange, NoPartOfAFloat32ProductOverflows) {
  const Expr x = tensor("x", {34, 34}, DType::kFloat32), y = tensor("y", {4}, DType::kFloat32);
  const std::vector<Out> outputs{prod(x, 0), prod(x, 1), prod(x * 2, 1), prod(x, 1) + 1, prod(y)};
  const Tensor back = Tensor::vector({1e30F, 1e30F, 1e-30F, 1e-30F});
  const std::vector<Tensor> native = function({x, y}, outputs)({elements(34, 34), back}),
                            reference =
                                function({x, y}, outputs, {}, {.mode = Mode::kReference})({elements(34, 34), back});
  for (size_t k = 0; k + 1 < native.size(); ++k)
    for (int64_t i = 0; i < native[k].size(); ++i) {
      EXPECT_EQ(native[k].as_double(i), k == 3 ? 1 : 0) << "output " << k << ", element " << i;
      EXPECT_EQ(std::signbit(native[k].as_double(i)), std::signbit(reference[k].as_double(i))) << "output " << k;
    }
  EXPECT_FLOAT_EQ(static_cast<float>(native.back().as_double()), 1);
}

}  // namespace
}  // namespace thtrain
