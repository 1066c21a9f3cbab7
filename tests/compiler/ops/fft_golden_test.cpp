// Transforms of Fourier against NumPy and SciPy: by the references and natively.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "compiler/api.h"
#include "tests/support/golden_lines.h"

namespace thtrain::fft_golden_test {
namespace {

// "[1,2],[],ortho" -> its three parts.
std::vector<std::string> settings_of(const std::string& text) {
  std::vector<std::string> out(1);
  int depth = 0;
  for (const char c : text) {
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    if (c == ',' && depth == 0)
      out.emplace_back();
    else
      out.back() += c;
  }
  return out;
}

FftNorm norm_of(const std::string& name) {
  return name == "ortho" ? FftNorm::kOrtho : name == "forward" ? FftNorm::kForward : FftNorm::kBackward;
}

std::optional<Length> length_of(const std::string& text) {
  const int64_t n = std::stol(text);
  return n == 0 ? std::nullopt : std::optional<Length>(n);
}

LengthList lengths_of(const std::string& text) {
  Dims out;
  for (int64_t n : parse_list(text)) out.emplace_back(n);
  return out;
}

Expr build(const std::string& name, const std::vector<std::string>& with, const Expr& x) {
  using Along = Expr (*)(const Operand&, std::optional<Length>, int64_t, FftNorm);
  using Axes = Expr (*)(const Operand&, const std::vector<int64_t>&, const LengthList&, FftNorm);
  using Last = Expr (*)(const Operand&, const LengthList&, FftNorm);
  using Cosine = Expr (*)(const Operand&, int64_t, std::optional<Length>, int64_t, FftNorm);
  static const std::map<std::string, Along> along{{"fft", fft}, {"ifft", ifft}, {"rfft", rfft}, {"irfft", irfft}};
  static const std::map<std::string, Axes> axes{{"fftn", fftn}, {"ifftn", ifftn}, {"rfftn", rfftn}, {"irfftn", irfftn}};
  static const std::map<std::string, Last> last{{"fft2", fft2}, {"ifft2", ifft2}, {"rfft2", rfft2}, {"irfft2", irfft2}};
  static const std::map<std::string, Cosine> cosine{{"dct", dct}, {"idct", idct}};
  if (along.contains(name)) return along.at(name)(x, length_of(with[0]), std::stol(with[1]), norm_of(with[2]));
  if (axes.contains(name)) return axes.at(name)(x, parse_list(with[0]), lengths_of(with[1]), norm_of(with[2]));
  if (last.contains(name)) return last.at(name)(x, lengths_of(with[1]), norm_of(with[2]));
  if (cosine.contains(name))
    return cosine.at(name)(x, std::stol(with[0]), length_of(with[1]), std::stol(with[2]), norm_of(with[3]));
  if (name == "fftshift") return fftshift(x, parse_list(with[0]));
  if (name == "ifftshift") return ifftshift(x, parse_list(with[0]));
  if (name == "fftfreq") return fftfreq(std::stol(with[0]), std::stod(with[1]));
  return rfftfreq(std::stol(with[0]), std::stod(with[1]));
}

Tensor doubles(const Tensor& x) {
  return x.cast(is_complex(x.dtype()) ? DType::kComplex128 : DType::kFloat64);
}

void expect_near(const Tensor& got, const Tensor& want) {
  ASSERT_EQ(got.type_text(), want.type_text());
  const bool is_single = want.dtype() == DType::kFloat32 || want.dtype() == DType::kComplex64;
  const Tensor ours = doubles(got), theirs = doubles(want);
  const auto* x = static_cast<const double*>(ours.raw());
  const auto* y = static_cast<const double*>(theirs.raw());
  const auto count = static_cast<int64_t>(ours.bytes() / sizeof(double));
  double largest = 1e-3;
  for (int64_t i = 0; i < count; ++i) largest = std::max(largest, std::abs(y[i]));
  for (int64_t i = 0; i < count; ++i) ASSERT_NEAR(x[i], y[i], largest * (is_single ? 2e-6 : 1e-12)) << "element " << i;
}

// One function of all results of an input.
void compare(Mode mode) {
  std::map<std::string, Tensor> values;
  std::map<std::string, std::vector<GoldenLine>> cases;
  for (const GoldenLine& line : golden_lines("fft_ops.txt"))
    if (line.name == "input")
      values[line.arguments[0]] = line.result(*dtype_named(line.arguments[1]));
    else
      cases[line.arguments[0]].push_back(line);
  size_t compared = 0;
  for (const auto& [input, lines] : cases) {
    const Tensor& value = values.at(input);
    const Expr x = tensor("x", Dims(value.shape().begin(), value.shape().end()), value.dtype());
    std::vector<Expr> results;
    for (const GoldenLine& line : lines) results.push_back(build(line.name, settings_of(line.arguments[1]), x));
    Function f =
        function({x}, {results.begin(), results.end()}, {}, {.mode = mode, .unused_inputs = UnusedInputs::kAllowed});
    const std::vector<Tensor> got = f({value});
    for (size_t i = 0; i < lines.size(); ++i) {
      SCOPED_TRACE(lines[i].text.substr(0, 80));
      expect_near(got[i], lines[i].result(*dtype_named(lines[i].arguments[2])));
      ++compared;
    }
  }
  EXPECT_EQ(compared, 349u);
}

TEST(FftValues, AreNumPys) {
  compare(Mode::kReference);
}
TEST(FftValues, AreNumPysNatively) {
  compare(Mode::kNative);
}

}  // namespace
}  // namespace thtrain::fft_golden_test
