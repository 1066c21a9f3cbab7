// The emulated cuFFT by its documented conventions, and what it refuses.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <memory>
#include <optional>
#include <vector>

#include "compiler/cuda/device.h"
#include "compiler/cuda/emulated/driver.h"
#include "compiler/cuda/emulated/math_libraries.h"
#include "tests/support/emulated_library_test.h"

namespace thtrain::cuda_emulated_cufft_test {
namespace {

using namespace cuda;  // NOLINT
using Complex = std::complex<float>;

class EmulatedCufft : public EmulatedLibraryTest {
 protected:
  void SetUp() override {
    EmulatedLibraryTest::SetUp();
    workspace_.emplace(*device_, 4096);
  }
  // Of arrays without gaps, or of numbers that are `stride` apart.
  Status make(int& plan, int kind, std::vector<long long> n, long long count, long long stride = 1) {
    f_.cufftCreate(&plan);
    f_.cufftSetAutoAllocation(plan, 0);
    std::vector<long long> in = n, out = n;
    if (kind == CUFFT_R2C) out.back() = out.back() / 2 + 1;
    if (kind == CUFFT_C2R) in.back() = in.back() / 2 + 1;
    long long of_in = 1, of_out = 1;
    for (const long long length : in) of_in *= length;
    for (const long long length : out) of_out *= length;
    return f_.cufftMakePlanMany64(plan, static_cast<int>(n.size()), n.data(), in.data(), stride,
                                  stride == 1 ? of_in : 1, out.data(), stride, stride == 1 ? of_out : 1, kind, count,
                                  &bytes_);
  }
  int made(int kind, std::vector<long long> n, long long count, long long stride = 1) {
    int plan = 0;
    EXPECT_EQ(make(plan, kind, std::move(n), count, stride), CUFFT_SUCCESS);
    EXPECT_LE(bytes_, 4096U);
    set_stream_and_area(plan);
    return plan;
  }
  void set_stream_and_area(int plan) {
    EXPECT_EQ(f_.cufftSetStream(plan, stream_->handle()), CUFFT_SUCCESS);
    EXPECT_EQ(f_.cufftSetWorkArea(plan, reinterpret_cast<void*>(workspace_->address())), CUFFT_SUCCESS);
  }
  static void expect_numbers(const std::vector<Complex>& got, const std::vector<Complex>& expected) {
    for (size_t i = 0; i < expected.size(); ++i) EXPECT_LE(std::abs(got[i] - expected[i]), 1e-5F) << i;
  }
  static float2* theirs(Complex* at) { return reinterpret_cast<float2*>(at); }

  const Cufft& f_ = emulated::cufft().functions;
  size_t bytes_ = 0;
  std::optional<DeviceBuffer> workspace_;
};

TEST_F(EmulatedCufft, TransformsAreNotScaledAndMayBeInPlace) {
  Complex* x = put<Complex>({1, 2, 3, 4, 1, 0, 0, 0});
  const int plan = made(CUFFT_C2C, {4}, 2);
  ASSERT_EQ(f_.cufftExecC2C(plan, theirs(x), theirs(x), kCufftForward), CUFFT_SUCCESS);
  expect_numbers(got(x, 8), {10, {-2, 2}, -2, {-2, -2}, 1, 1, 1, 1});
  ASSERT_EQ(f_.cufftExecC2C(plan, theirs(x), theirs(x), kCufftInverse), CUFFT_SUCCESS);
  expect_numbers(got(x, 8), {4, 8, 12, 16, 4, 0, 0, 0});
}

// Two transforms of numbers that lie two apart.
TEST_F(EmulatedCufft, NumbersOfATransformMayLieApart) {
  Complex* x = put<Complex>({1, 1, 2, 0, 3, 0, 4, 0});
  ASSERT_EQ(f_.cufftExecC2C(made(CUFFT_C2C, {4}, 2, 2), theirs(x), theirs(x), kCufftForward), CUFFT_SUCCESS);
  expect_numbers(got(x, 8), {10, 1, {-2, 2}, 1, -2, 1, {-2, -2}, 1});
}

TEST_F(EmulatedCufft, RealNumbersHaveHalfASpectrumWhichIsOverwrittenOnTheWayBack) {
  float* x = put<float>({1, 2, 3, 4, 5, 6, 7, 8, 9});
  Complex* y = put<Complex>(std::vector<Complex>(6));
  ASSERT_EQ(f_.cufftExecR2C(made(CUFFT_R2C, {3, 3}, 1), x, theirs(y)), CUFFT_SUCCESS);
  const std::vector<Complex> spectrum = got(y, 6);
  EXPECT_EQ(spectrum[0], Complex(45));
  EXPECT_NEAR(std::abs(spectrum[1] - Complex(-4.5F, 2.5980762F)), 0, 1e-5);
  Complex* z = put<Complex>({10, {-2, 2}, -2});
  ASSERT_EQ(f_.cufftExecC2R(made(CUFFT_C2R, {4}, 1), theirs(z), x), CUFFT_SUCCESS);
  EXPECT_EQ(got(x, 4), (std::vector<float>{4, 8, 12, 16}));
  EXPECT_TRUE(std::isnan(got(z, 1)[0].real()));
}

// Back along two axes, of which the last has half a spectrum.
TEST_F(EmulatedCufft, HalfASpectrumOfTwoAxesBecomesTheRealNumbers) {
  const std::vector<float> numbers{1, 2, 3, 4, 5, 7, 11, 13, 0, -1, 2, 8};
  float* x = put<float>(numbers);
  Complex* y = put<Complex>(std::vector<Complex>(9));
  ASSERT_EQ(f_.cufftExecR2C(made(CUFFT_R2C, {3, 4}, 1), x, theirs(y)), CUFFT_SUCCESS);
  ASSERT_EQ(f_.cufftExecC2R(made(CUFFT_C2R, {3, 4}, 1), theirs(y), x), CUFFT_SUCCESS);
  const std::vector<float> back = got(x, 12);
  for (size_t i = 0; i < back.size(); ++i) EXPECT_NEAR(back[i], 12 * numbers[i], 1e-4) << i;
}

TEST_F(EmulatedCufft, MisuseHasItsStatus) {
  int plan = 0;
  EXPECT_EQ(make(plan, CUFFT_C2C, {0}, 1), CUFFT_INVALID_SIZE);
  EXPECT_EQ(make(plan, CUFFT_C2C, {4}, 0), CUFFT_INVALID_SIZE);
  EXPECT_EQ(make(plan, 1, {4}, 1), CUFFT_INVALID_TYPE);
  plan = made(CUFFT_C2C, {4}, 1);
  Complex* x = put<Complex>({1, 2, 3, 4});
  EXPECT_EQ(f_.cufftSetAutoAllocation(plan, 1), CUFFT_INVALID_PLAN) << "it is made";
  EXPECT_EQ(f_.cufftExecR2C(plan, reinterpret_cast<float*>(x), theirs(x)), CUFFT_INVALID_PLAN) << "of another kind";
  EXPECT_EQ(f_.cufftExecC2C(plan, theirs(x + 1), theirs(x), kCufftForward), CUFFT_EXEC_FAILED) << "beyond the end";
  EXPECT_EQ(f_.cufftExecC2C(99, theirs(x), theirs(x), kCufftForward), CUFFT_INVALID_PLAN);
  ASSERT_EQ(f_.cufftSetStream(plan, stream_->handle()), CUFFT_SUCCESS);
  EXPECT_EQ(f_.cufftExecC2C(plan, theirs(x), theirs(x), kCufftForward), CUFFT_INVALID_VALUE) << "no work area";
  set_stream_and_area(plan);
  EXPECT_EQ(f_.cufftExecC2C(plan, theirs(x), theirs(x), kCufftForward), CUFFT_SUCCESS);
  stream_->wait();
  EXPECT_EQ(f_.cufftDestroy(plan), CUFFT_SUCCESS);
  EXPECT_EQ(f_.cufftExecC2C(plan, theirs(x), theirs(x), kCufftForward), CUFFT_INVALID_PLAN);
}

}  // namespace
}  // namespace thtrain::cuda_emulated_cufft_test
