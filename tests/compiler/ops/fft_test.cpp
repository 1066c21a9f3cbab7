// Transforms of Fourier: messages, derivatives, what a program calls.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>

#include "compiler/api.h"
#include "compiler/ir/variables.h"
#include "tests/support/error_text.h"

namespace thtrain::fft_test {
namespace {

constexpr DType kF64 = DType::kFloat64, kC128 = DType::kComplex128;

TEST(Fft, MistakesAreNamed) {
  const Expr x = tensor("x", {3, 8}, kF64), z = tensor("z", {3, 8}, kC128), any = tensor("y", {"b", "n"}, kF64);
  EXPECT_EQ(text_without_node([&] { rfft(z); }),
            "error: rfft: the values are complex\n"
            "  expected: real numbers\n"
            "  got:      z complex128[3, 8]\n"
            "  hint:     fft takes complex numbers");
  EXPECT_EQ(text_without_node([&] { fft(x, 0); }),
            "error: fft: a transform of 0 elements\n"
            "  expected: at least 1\n"
            "  got:      complex128[3, 8]");
  EXPECT_EQ(text_without_node([&] { irfft(tensor("w", {1}, kC128)); }),
            "error: irfft: a transform of 0 elements\n"
            "  expected: at least 1\n"
            "  got:      w complex128[1]");
  EXPECT_EQ(text_without_node([&] { rfft(any, 16); }),
            "error: rfft: the length 16 is asked for of an axis of n\n"
            "  expected: known lengths, or the axis' own\n"
            "  got:      y float64[b, n]\n"
            "  hint:     cut it, or join zeros to it, before the transform");
  EXPECT_EQ(text_without_node([&] {
              fftn(z, {0, -2});
            }),
            "error: fftn: axis -2 is named twice\n"
            "  expected: different axes\n"
            "  got:      z complex128[3, 8]");
  EXPECT_EQ(text_without_node([&] { rfft2(x, {4}); }),
            "error: rfft2: 1 lengths for 2 axes\n"
            "  expected: a length for each axis\n"
            "  got:      x float64[3, 8]");
  EXPECT_EQ(text_without_node([&] { rfftn(scalar("s")); }),
            "error: rfftn: a scalar has no axis\n"
            "  expected: an axis at least\n"
            "  got:      s float64[]");
  EXPECT_EQ(text_without_node([&] { dct(x, 4); }),
            "error: dct: type 4\n"
            "  expected: type 2 or 3\n"
            "  got:      x float64[3, 8]");
  EXPECT_EQ(text_without_node([&] { idct(any); }),
            "error: idct: a transform of n elements\n"
            "  expected: a known length, at least 1\n"
            "  got:      y float64[b, n]");
}

TEST(Fft, ProgramsCallTheLibrary) {
  const Expr x = tensor("x", {4, 64}, DType::kFloat32), z = tensor("z", {"b", "n"}, kC128);
  Function f = function({x, z}, {irfft(rfft(x)), ifft(z, {}, 0)});
  EXPECT_TRUE(f.info().reference_steps.empty());
  const std::string program = f.explain().program;
  for (const char* called : {"-- fft_f32", "-- fft_f64"}) EXPECT_NE(program.find(called), std::string::npos) << program;
}

// Several neighbouring axes are one step, and a transform there and back is the value.
TEST(Fft, NeighbouringAxesAreOneStep) {
  const Expr z = tensor("z", {2, 3, 4, 5}, kC128);
  const auto steps = [&](const Expr& out) {
    const std::string program = function({z}, {out}).explain().program;
    size_t count = 0;
    for (size_t at = program.find("-- fft_f64"); at != std::string::npos; at = program.find("-- fft_f64", at + 1))
      ++count;
    return count;
  };
  EXPECT_EQ(steps(fftn(z, {1, 2, 3})), 1u);
  EXPECT_EQ(steps(fftn(z, {0, 3})), 2u);
  EXPECT_EQ(steps(fftn(z)), 2u);
}

Tensor drawn(const Shape& shape, DType dtype) {
  Tensor out = Tensor::zeros(kF64, {2 * Tensor::zeros(DType::kBool, shape).size()});
  for (int64_t i = 0; i < out.size(); ++i) out.data<double>()[i] = std::sin(0.7 * static_cast<double>(i * i % 1009));
  Tensor value = Tensor::zeros(kC128, shape);
  for (int64_t i = 0; i < value.size(); ++i)
    value.data<std::complex<double>>()[i] = {out.data<double>()[2 * i], out.data<double>()[2 * i + 1]};
  if (is_complex(dtype)) return value.cast(dtype);
  Tensor real = Tensor::zeros(kF64, shape);
  for (int64_t i = 0; i < real.size(); ++i) real.data<double>()[i] = out.data<double>()[2 * i];
  return real.cast(dtype);
}

// Rows in vectors, rows by two sweeps, long ones, columns, convolutions: on any number of threads, by their own
// spectrum back again.
TEST(Fft, BitsDoNotDependOnThreads) {
  const std::vector<Shape> shapes = {{1, 1 << 15}, {300, 240},   {3, 1000},    {5, 1009},
                                     {1, 10007},   {40, 30, 30}, {20, 64, 128}};
  for (const Shape& shape : shapes)
    for (DType dtype : {DType::kFloat32, kF64}) {
      const Dims dims(shape.begin(), shape.end());
      const DType complex_dtype = dtype == kF64 ? kC128 : DType::kComplex64;
      const Expr x = tensor("x", dims, dtype), z = tensor("z", dims, complex_dtype);
      const std::vector<Tensor> values = {drawn(shape, dtype), drawn(shape, complex_dtype)};
      const Expr all = fftn(z), columns = ifft(z, {}, 0), real = rfft(x);
      Function one = function({x, z}, {all, columns, real, ifftn(all), irfft(real, shape.back())}, {}, {.threads = 1}),
               four = function({x, z}, {all, columns, real, ifftn(all), irfft(real, shape.back())}, {}, {.threads = 4});
      const std::vector<Tensor> a = one(values), b = four(values);
      for (size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(same_bits(a[i], b[i])) << a[i].type_text() << " output " << i;
      const double bound = dtype == kF64 ? 1e-14 : 1e-5;
      const auto expect_near = [&](const Tensor& got, const Tensor& want) {
        for (int64_t i = 0; i < want.size(); ++i)
          if (is_complex(want.dtype()))
            ASSERT_LT(std::abs(got.cast(kC128).data<std::complex<double>>()[i] -
                               want.cast(kC128).data<std::complex<double>>()[i]),
                      bound);
          else
            ASSERT_NEAR(got.as_double(i), want.as_double(i), bound);
      };
      if (a[3].size() < 5000) expect_near(a[3], values[1]);
      if (a[4].size() < 40000) expect_near(a[4], values[0]);
    }
}

// Reverse mode to second order and forward mode, by differences; of complex numbers through their parts.
TEST(Fft, DerivativesAreThoseOfDifferences) {
  using Build = std::function<Expr(const Expr&)>;
  const auto parts = [](const Expr& z) { return real(z) * 0.7 + imag(z) * sin(real(z)); };
  const std::vector<std::pair<const char*, Build>> all = {
      {"fft", [&](const Expr& x) { return parts(fft(complex(x, cos(x)))); }},
      {"ifft", [&](const Expr& x) { return parts(ifft(complex(x, cos(x)), {}, 0, FftNorm::kOrtho)); }},
      {"fft2", [&](const Expr& x) { return parts(fft2(complex(x, sin(x)))); }},
      {"rfft", [&](const Expr& x) { return parts(rfft(x)); }},
      {"rfft_even", [&](const Expr& x) { return parts(rfft(x, 6)); }},
      {"rfft_axis", [&](const Expr& x) { return parts(rfft(x, {}, 0, FftNorm::kForward)); }},
      {"rfft2", [&](const Expr& x) { return parts(rfft2(x)); }},
      {"irfft", [](const Expr& x) { return irfft(complex(x, x * x)); }},
      {"irfft_odd", [](const Expr& x) { return irfft(complex(x, x * x), 7); }},
      {"irfft2", [](const Expr& x) { return irfft2(complex(x, x * x)); }},
      {"dct", [](const Expr& x) { return dct(x); }},
      {"idct", [](const Expr& x) { return idct(x, 2, {}, 0, FftNorm::kOrtho); }},
  };
  const Expr x = tensor("x", {3, 5}, kF64);
  const std::vector<std::pair<Expr, Tensor>> values = {{x, drawn({3, 5}, kF64)}};
  for (const auto& [name, build] : all) {
    SCOPED_TRACE(name);
    const Expr out = build(x);
    for (const GradReport& report :
         {verify_grad({out}, {x}, values), verify_grad({grad(sum(sin(out)), x)}, {x}, values),
          verify_grad({jvp({out}, {x}, {x * 0.5 + 1.0})[0]}, {x}, values)})
      EXPECT_TRUE(report.is_right) << report.text;
  }
}

TEST(Fft, VmapTakesRowsTogether) {
  const Expr x = tensor("x", {6, 10}, kF64);
  const Expr each = vmap([](const Expr& row) { return irfft(rfft(row) * 2.0, 10); }, {x});
  const Tensor value = drawn({6, 10}, kF64), got = function({x}, {each})({value})[0];
  for (int64_t i = 0; i < value.size(); ++i) EXPECT_NEAR(got.as_double(i), 2 * value.as_double(i), 1e-14);
}

}  // namespace
}  // namespace thtrain::fft_test
