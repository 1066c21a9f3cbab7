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
#include "compiler/ops/nnet/softmax.h"
#include "compiler/ops/reduce/cumulative.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/shape.h"
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
    cuda::emulated::start({.checks = true, .on_touch = [this](const cuda::emulated::Touch& touch) {
                             touches_[touch.bytes] += touch.where.starts_with("parameter");
                           }});
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

  /// Loads and stores of the launch in the device's memory by their bytes.
  std::map<size_t, int64_t> touches(const std::vector<Tensor>& values) {
    touches_.clear();
    const std::vector<Tensor> got = launches_->run(*device_, *module_, values);
    std::vector<std::pair<Expr, Tensor>> bound;
    for (size_t i = 0; i < inputs_.size(); ++i) bound.emplace_back(inputs_[i], values[i]);
    EXPECT_FALSE(difference(got[0], evaluate({output_}, bound)[0], 0)) << launches_->text();
    std::erase_if(touches_, [](const auto& of_size) { return of_size.second == 0; });
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

// Squares are loaded along one axis and stored along the other one, in pieces where rows of that one are made of them.
TEST_F(DevicePieces, OfTransposedElements) {
  const Expr x = tensor("x", {"n", "m"}, DType::kFloat32);
  for (const int64_t offset : {0, 1}) {
    compile({x}, transpose(x[{Slice{}, Slice{.start = offset, .stop = offset - 4}}]) * 2.0);
    for (const auto& [n, m] : {std::pair{32, 32}, {36, 40}, {1, 4}, {33, 36}, {36, 37}}) {
      SCOPED_TRACE(str(n, " x ", m, " from ", offset));
      const int64_t loads = m % 4 == 0 && offset == 0 ? 4 : 1, stores = n % 4 == 0 ? 4 : 1;
      std::map<size_t, int64_t> expected;
      expected[static_cast<size_t>(4 * loads)] += n * m / loads;
      expected[static_cast<size_t>(4 * stores)] += n * m / stores;
      EXPECT_EQ(touches({counted(DType::kFloat32, {n, m + 4})}), expected);
    }
  }
}

// A thread has a piece of each 1024 elements, whose address is asked for in each line.
TEST_F(DevicePieces, OfLinesThatAreCombinedSoFar) {
  for (const int64_t n : {64, 65, 1025, 1028}) {
    const Expr x = tensor("x", {8, n}, DType::kFloat32);
    compile({x}, cumsum(x, 1));
    std::map<size_t, int64_t> expected;
    for (int64_t line = 0; line < 8; ++line) {
      const int64_t pieces = line * n % 4 == 0 ? n / 4 : 0;
      expected[16] += 2 * pieces;
      expected[4] += 2 * (n - 4 * pieces);
    }
    std::erase_if(expected, [](const auto& of_size) { return of_size.second == 0; });
    EXPECT_EQ(touches({counted(DType::kFloat32, {8, n})}), expected) << n;
  }
}

// A thread has the columns of 16 bytes, where all of them may be loaded so.
TEST_F(DevicePieces, OfColumns) {
  const Expr x = tensor("x", {"n", "m"}, DType::kFloat32);
  for (const int64_t offset : {0, 1}) {
    compile({x}, sum(x[{Slice{}, Slice{.start = offset, .stop = offset - 4}}], {0}));
    for (const auto& [n, m] : {std::pair{1, 4}, {7, 32}, {3, 33}, {70, 1028}}) {
      const int64_t width = m % 4 == 0 && offset == 0 ? 4 : 1;
      EXPECT_EQ(touches({counted(DType::kFloat32, {n, m + 4})}),
                (std::map<size_t, int64_t>{{static_cast<size_t>(4 * width), (n * m + m) / width}}))
          << n << " x " << m << " from " << offset;
    }
  }
}

// Of the same numbers, which begin at a multiple of 16 bytes and at another address.
TEST_F(DevicePieces, HaveTheSameBitsAtAnyAddress) {
  const Expr x = tensor("x", {"n", "m"}, DType::kFloat32);
  const auto at_first = [&](const std::function<Expr(const Expr&)>& made, int64_t offset) {
    compile({x}, made(x[{Slice{}, Slice{.start = offset, .stop = offset - 4}}]));
    Tensor values = Tensor::empty(DType::kFloat32, {20, 1044});
    for (int64_t i = 0; i < 20; ++i)
      for (int64_t k = 0; k < 1044; ++k)
        values.data<float>()[i * 1044 + k] = 1.0F / static_cast<float>(1 + (i * 331 + (k - offset) * 7919) % 10'007);
    return launches_->run(*device_, *module_, {values})[0];
  };
  const std::vector<std::function<Expr(const Expr&)>> all{
      [](const Expr& y) { return sum(y, {0}); }, [](const Expr& y) { return sum(y, {1}); },
      [](const Expr& y) { return cumsum(y, 1); }, [](const Expr& y) { return cumsum(y, 0); },
      [](const Expr& y) { return softmax(y, 0); }};
  for (const auto& made : all) {
    const Tensor first = at_first(made, 0);
    EXPECT_TRUE(same_bits(first, at_first(made, 1))) << launches_->text();
  }
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
