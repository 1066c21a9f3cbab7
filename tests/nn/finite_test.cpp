#include "nn/finite.h"

#include <gtest/gtest.h>

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

TEST(Finite, FindsTheFirstBadElement) {
  expect_found_everywhere<float>();
  expect_found_everywhere<double>();
}

TEST(Finite, ComplexIntegersViewsAndNothing) {
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

}  // namespace
}  // namespace thtrain
