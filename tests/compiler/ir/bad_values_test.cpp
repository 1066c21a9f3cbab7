#include "compiler/ir/bad_values.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace thtrain {
namespace {

template <class T>
void expect_found_everywhere() {
  for (int64_t size : {1, 2, 63, 64, 65, 200}) {
    Tensor t = Tensor::zeros(dtype_of<T>(), {size});
    EXPECT_FALSE(first_non_finite(t));
    for (int64_t i = 0; i < size; ++i) {
      for (T bad : {std::numeric_limits<T>::infinity(), -std::numeric_limits<T>::infinity(),
                    std::numeric_limits<T>::quiet_NaN()}) {
        t.data<T>()[i] = bad;
        EXPECT_EQ(first_non_finite(t), i) << size;
      }
      t.data<T>()[i] = std::numeric_limits<T>::max();
    }
    EXPECT_FALSE(first_non_finite(t));
  }
}

TEST(BadValues, AreFoundAtEachPosition) {
  expect_found_everywhere<float>();
  expect_found_everywhere<double>();
}

TEST(BadValues, InComplexNumbersViewsAndNothing) {
  Tensor z = Tensor::zeros(DType::kComplex64, {3});
  EXPECT_FALSE(first_non_finite(z));
  z.data<std::complex<float>>()[2].imag(std::numeric_limits<float>::infinity());
  EXPECT_EQ(first_non_finite(z), 2);
  EXPECT_FALSE(first_non_finite(Tensor::vector<int64_t>({1, 2})));
  EXPECT_FALSE(first_non_finite(Tensor::zeros(DType::kFloat32, {0, 4})));
  Tensor m = Tensor::zeros(DType::kFloat64, {2, 3});
  m.at<double>({1, 0}) = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(first_non_finite(m), 3);
  EXPECT_EQ(first_non_finite(m.view({3, 2}, {1, 3}, 0)), 1);  // transposed
}

template <class T>
void expect_only_what_is_asked_for() {
  const T infinity = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
  const Tensor all = Tensor::vector<T>({T(0), T(-1e10), infinity, nan, T(2e10)});
  EXPECT_EQ(first_bad(all, {}), 2);
  EXPECT_EQ(first_bad(all, {.infinity = false}), 3);
  EXPECT_EQ(first_bad(all, {.nan = false}), 2);
  EXPECT_EQ(first_bad(all, {.nan = false, .infinity = false}), std::nullopt);
  EXPECT_EQ(first_bad(all, {.above = 1e9}), 1);
  EXPECT_EQ(first_bad(all, {.nan = false, .infinity = false, .above = 1e10}), 4);
  EXPECT_EQ(first_bad(all, {.nan = false, .infinity = false, .above = 2e10}), std::nullopt);
  EXPECT_EQ(first_bad(Tensor::vector<T>({T(0), nan}), {.above = 0}), 1);
}

TEST(BadValues, AreThoseThatAreAskedFor) {
  expect_only_what_is_asked_for<float>();
  expect_only_what_is_asked_for<double>();
  // The bound is a double: 0.1 in float32 is above 0.1, and the number before it is not.
  const float tenth = 0.1F;
  EXPECT_EQ(first_bad(Tensor(tenth), {.above = 0.1}), 0);
  EXPECT_EQ(first_bad(Tensor(std::nextafter(tenth, 0.0F)), {.above = 0.1}), std::nullopt);
}

}  // namespace
}  // namespace thtrain
