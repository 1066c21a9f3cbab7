// Elements that a thread of a device loads and stores at once: at the lengths and addresses where it may not.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "compiler/cuda/cubin.h"
#include "compiler/cuda/emulated/driver.h"
#include "compiler/host/host_compiler.h"
#include "compiler/ir/compare.h"
#include "compiler/ir/variables.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/evaluate.h"
#include "compiler/ops/index/index.h"
#include "tests/support/device_launches.h"

namespace thtrain::device_pieces_test {
namespace {

Tensor counted(DType dtype, const Shape& shape) {
  Tensor out = Tensor::empty(DType::kFloat64, shape);
  for (int64_t i = 0; i < out.size(); ++i) out.data<double>()[i] = static_cast<double>(i * 37 % 101);
  return out.cast(dtype);
}

/// A function on an emulated device that checks each access.
class DevicePieces : public testing::Test {
 protected:
  void SetUp() override {
    if (!generated_flags().empty()) GTEST_SKIP() << "a sanitizer has the functions that tell of accesses";
    cuda::emulated::start(
        {.checks = true, .on_touch = [this](const cuda::emulated::Touch& touch) { ++touches_[touch.bytes]; }});
    device_.emplace(cuda::emulated::driver(), 0);
  }

  void compile(const std::vector<Expr>& inputs, const Expr& output) {
    inputs_ = inputs;
    output_ = output;
    module_.reset();
    launches_.emplace(Graph{inputs, {output}, {}});
    ASSERT_TRUE(launches_->is_whole());
    module_.emplace(*device_, cuda::compile_cubin(cuda::emulated::nvrtc(), launches_->text(), 75));
  }

  /// Loads and stores of the launch by their bytes.
  std::map<size_t, int64_t> touches(const std::vector<Tensor>& values) {
    touches_.clear();
    const std::vector<Tensor> got = launches_->run(*device_, *module_, values);
    std::vector<std::pair<Expr, Tensor>> bound;
    for (size_t i = 0; i < inputs_.size(); ++i) bound.emplace_back(inputs_[i], values[i]);
    EXPECT_FALSE(difference(got[0], evaluate({output_}, bound)[0], 0)) << launches_->text();
    return touches_;
  }

  std::vector<Expr> inputs_;
  Expr output_;
  std::optional<cuda::Device> device_;
  std::optional<DeviceLaunches> launches_;
  std::optional<cuda::Module> module_;
  std::map<size_t, int64_t> touches_;
};

// 256 threads take 16 bytes each, where as many elements are left and begin at a multiple of that; else the elements
// are taken one by one.
TEST_F(DevicePieces, AreWholeBlocksAtAlignedAddresses) {
  for (const DType dtype : {DType::kFloat32, DType::kUInt8, DType::kInt16, DType::kFloat64})
    for (const int64_t offset : {0, 1, 16}) {
      const Expr x = tensor("x", {"n"}, dtype);
      const Expr part = x[{Slice{.start = offset}}];
      ASSERT_NO_FATAL_FAILURE(compile({x}, part + part));
      const int64_t width = 16 / static_cast<int64_t>(size_of(dtype)), of_block = 256 * width;
      for (const int64_t n : {int64_t{0}, int64_t{1}, int64_t{3}, int64_t{4}, int64_t{5}, of_block - 1, of_block,
                              of_block + 1, 2 * of_block}) {
        SCOPED_TRACE(str(name_of(dtype), "[", n, "] from ", offset));
        const int64_t whole = offset == 1 ? 0 : n / of_block * of_block;
        std::map<size_t, int64_t> expected;
        if (whole > 0) expected[16] = 2 * whole / width;
        if (n > whole) expected[size_of(dtype)] = 2 * (n - whole);
        EXPECT_EQ(touches({counted(dtype, {n + offset})}), expected);
      }
    }
}

// Narrower dtypes have as many elements in a piece as the widest one.
TEST_F(DevicePieces, OfSeveralDtypesHaveAsManyElements) {
  const Expr x = tensor("x", {"n"}, DType::kFloat32), y = tensor("y", {"n"}, DType::kUInt8);
  compile({x, y}, x > cast(y, DType::kFloat32));
  EXPECT_EQ(touches({counted(DType::kFloat32, {1025}), counted(DType::kUInt8, {1025})}),
            (std::map<size_t, int64_t>{{16, 256}, {4, 512 + 1}, {1, 2}}));
}

// Rows of an operand that is repeated: pieces where rows are made of whole ones.
TEST_F(DevicePieces, LieWithinRows) {
  const Expr x = tensor("x", {"n", "m"}, DType::kFloat32), row = tensor("row", {"m"}, DType::kFloat32);
  compile({x, row}, x * row);
  const auto values = [](const Shape& shape) {
    return std::vector{counted(DType::kFloat32, shape), counted(DType::kFloat32, {shape[1]})};
  };
  EXPECT_EQ(touches(values({4, 256})), (std::map<size_t, int64_t>{{16, 3 * 256}}));
  EXPECT_EQ(touches(values({5, 260})), (std::map<size_t, int64_t>{{16, 3 * 256}, {4, 3 * (5 * 260 - 1024)}}));
  EXPECT_EQ(touches(values({5, 257})), (std::map<size_t, int64_t>{{4, 3 * 5 * 257}}));
}

// Of rows that are named by integers: one load of an integer for a piece.
TEST_F(DevicePieces, OfRowsByAnIndex) {
  const Expr x = tensor("x", {50, 64}, DType::kFloat32), at = tensor("at", {"n"}, DType::kInt64);
  compile({x, at}, take(x, at));
  Tensor rows = Tensor::empty(DType::kInt64, {16});
  for (int64_t i = 0; i < 16; ++i) rows.data<int64_t>()[i] = i * 7 % 50;
  EXPECT_EQ(touches({counted(DType::kFloat32, {50, 64}), rows}), (std::map<size_t, int64_t>{{16, 2 * 256}, {8, 256}}));
}

// The most elements for which rows are whole pieces.
TEST(DevicePieceWidth, FollowsFromTheLengths) {
  const auto width = [](const Dims& dims, DType dtype) {
    const Expr x = tensor("x", dims, dtype), y = tensor("y", {dims.back()}, dtype);
    const std::string text = DeviceLaunches({{x, y}, {x + y}, {}}).text();
    const std::string mark = "long k = 0L; k < ";
    const size_t at = text.find(mark);
    return at == std::string::npos ? 1 : std::stoi(text.substr(at + mark.size()));
  };
  EXPECT_EQ(width({100, 300}, DType::kFloat32), 4);
  EXPECT_EQ(width({100, 302}, DType::kFloat32), 2);
  EXPECT_EQ(width({100, 301}, DType::kFloat32), 1);
  EXPECT_EQ(width({"n", 300}, DType::kUInt8), 4);
  EXPECT_EQ(width({"n", "m"}, DType::kUInt8), 16);
  EXPECT_EQ(width({3, 300}, DType::kFloat32), 1) << "no block of whole pieces";
  EXPECT_EQ(width({"n", 300}, DType::kFloat64), 2);
}

}  // namespace
}  // namespace thtrain::device_pieces_test
