// Tensors in another address space than the host's.
#include "compiler/ir/storage.h"

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/ir/tensor.h"
#include "tests/support/error_text.h"
#include "tests/support/far_memory.h"

namespace thtrain {
namespace {

const FarMemory far;

TEST(Storage, ElementsGoThereAndBack) {
  const Tensor matrix = Tensor::matrix<double>({{1, 2, 3}, {4, 5, 6}});
  const int before = far.blocks;
  {
    Tensor there = matrix.copy(&far);
    EXPECT_EQ(there.space(), &far);
    EXPECT_EQ(far.blocks, before + 1);
    EXPECT_TRUE(same_bits(there.on_host(), matrix));
    EXPECT_TRUE(same_bits(there.copy(), matrix));
    EXPECT_EQ(there.copy().space(), nullptr);
    there.assign(Tensor::zeros(DType::kFloat64, {2, 3}));
    EXPECT_TRUE(same_bits(there.on_host(), Tensor::zeros(DType::kFloat64, {2, 3})));
    Tensor here = Tensor::zeros(DType::kFloat64, {2, 3});
    there.assign(matrix.copy(&far));
    here.assign(there);
    EXPECT_TRUE(same_bits(here, matrix));
  }
  EXPECT_EQ(far.blocks, before);
  EXPECT_TRUE(matrix.on_host().shares_memory_with(matrix));
}

TEST(Storage, PartsOfWhatIsThere) {
  Tensor there = Tensor::matrix<double>({{1, 2, 3}, {4, 5, 6}}).copy(&far);
  const Tensor reversed = there.view({2, 2}, {-3, -2}, 5);  // {6, 4}, {3, 1}
  EXPECT_EQ(reversed.space(), &far);
  EXPECT_TRUE(same_bits(reversed.on_host(), Tensor::matrix<double>({{6, 4}, {3, 1}})));
  EXPECT_EQ(reversed.contiguous().space(), &far);
  EXPECT_TRUE(same_bits(reversed.contiguous().on_host(), Tensor::matrix<double>({{6, 4}, {3, 1}})));
  there.view({2}, {3}, 1).assign(Tensor::vector({20.0, 50.0}));
  EXPECT_TRUE(same_bits(there.on_host(), Tensor::matrix<double>({{1, 20, 3}, {4, 50, 6}})));
  there.rows(1, 1).assign(Tensor::matrix<double>({{7, 8, 9}}));
  EXPECT_TRUE(same_bits(there.on_host(), Tensor::matrix<double>({{1, 20, 3}, {7, 8, 9}})));
  EXPECT_EQ(Tensor::zeros(DType::kFloat64, {0, 3}).copy(&far).on_host().shape(), (Shape{0, 3}));
}

TEST(Storage, ElementsAreNotReadInPlace) {
  const Tensor there = Tensor::vector({1.0, 2.0}).copy(&far);
  const std::string text =
      "error: the elements of a tensor are read or written in another memory than the host's\n"
      "  expected: a tensor on the host\n"
      "  got:      float64[2] in far memory\n"
      "  hint:     on_host() gives a copy there, assign() copies into a tensor wherever it is";
  EXPECT_EQ(text_without_node([&] { (void)there.raw(); }), text);
  EXPECT_EQ(text_without_node([&] { (void)there.data<double>(); }), text);
  EXPECT_EQ(text_without_node([&] { (void)there.as_double(1); }), text);
  EXPECT_EQ(text_without_node([&] { (void)there.cast(DType::kFloat32); }), text);
  EXPECT_EQ(text_without_node([&] { (void)there.text(); }), text);
  EXPECT_EQ(text_without_node([&] { (void)Tensor::empty(DType::kUInt8, {int64_t{1} << 30}, &far); }),
            "error: the memory for a value is not there\n"
            "  expected: no more than fits in memory\n"
            "  got:      uint8[1073741824], 1073741824 bytes\n"
            "  hint:     look at the numbers that its lengths are computed from");
}

}  // namespace
}  // namespace thtrain
