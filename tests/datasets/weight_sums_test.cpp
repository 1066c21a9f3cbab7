#include "datasets/weight_sums.h"

#include "tests/support/datasets_support.h"

namespace thtrain {
namespace {

std::string refused(const std::vector<double>& weights, DType floatx = DType::kFloat32) {
  const auto count = static_cast<int64_t>(weights.size());
  Split split({.raw = Tensor::zeros(DType::kFloat32, {count, 2}), .origin = "x.npy", .where = {}},
              {.raw = Tensor::zeros(DType::kInt64, {count}), .origin = "y.npy", .where = {}}, Targets::kClasses, 1);
  split.set_weights({.raw = Tensor::of(weights, {count}), .origin = "w.npy", .where = {}});
  return error_text([&] { check_weight_sums(split, floatx); });
}

TEST(WeightSums, WhatFloatXCannotHold) {
  EXPECT_EQ(refused({0, 1, 0.5}), "no error");
  EXPECT_EQ(refused({0, 0, 0}),
            "error: w.npy: all examples have weight 0\n"
            "  expected: a weight above 0 for some of them\n"
            "  got:      3 examples without weight");
  EXPECT_EQ(refused({1, 1e-300, 1}),
            "error: w.npy: row 1: the weight is too small for float32\n"
            "  expected: 0, or at least 1.1754943508222875e-38\n"
            "  got:      1e-300\n"
            "  hint:     rows and columns count from 0");
  EXPECT_EQ(refused({1, 1e-300, 1}, DType::kFloat64), "no error");
  EXPECT_EQ(refused({3e38, 3e38}),
            "error: w.npy: the weights are too large for float32\n"
            "  expected: a sum of at most 3.4028234663852886e+38\n"
            "  got:      6e+38");
  EXPECT_EQ(refused({3e38, 3e38}, DType::kFloat64), "no error");
  EXPECT_EQ(refused({0, -1}), "no error");  // check_batch names it
}

}  // namespace
}  // namespace thtrain
