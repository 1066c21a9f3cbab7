// Transforms of Fourier of one array, as compiled functions.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <complex>
#include <memory>
#include <string_view>

#include "bench/workloads.h"
#include "compiler/api.h"
#include "compiler/base/error.h"

namespace thtrain {

namespace {

constexpr int64_t kLargestLength = 1 << 28;

struct FftCall {
  Function call;
  std::vector<Tensor> arguments;
};

// Numbers as bench/peers/fft.py draws them; of complex ones real parts, then imaginary parts.
FftCall fft_call(const FftCase& c, const WorkloadOptions& options) {
  RandomState rng(7);
  const auto size = static_cast<size_t>(c.elements());
  const auto drawn = [&] { return Tensor::of(rng.uniform(-1, 1, size), Shape(c.shape.begin(), c.shape.end())); };
  const Tensor re = drawn();
  Tensor value = re.cast(options.dtype);
  if (!c.is_real) {
    const Tensor im = drawn();
    value = Tensor::zeros(DType::kComplex128, re.shape());
    for (int64_t i = 0; i < re.size(); ++i)
      value.data<std::complex<double>>()[i] = {re.data<double>()[i], im.data<double>()[i]};
    value = value.cast(options.dtype == DType::kFloat32 ? DType::kComplex64 : DType::kComplex128);
  }
  const Expr x = tensor("x", Dims(c.shape.begin(), c.shape.end()), value.dtype());
  return {function({x}, {{c.is_real ? rfftn(x) : fftn(x), options.borrow}}, {},
                   {.threads = options.threads, .name = "bench fft"}),
          {value}};
}

}  // namespace

FftCase fft_case(const std::string& text) {
  const size_t slash = std::min(text.find('/'), text.size());
  FftCase out{.is_real = text.substr(0, slash) == "rfft"};
  const char *at = text.data() + std::min(slash + 1, text.size()), *const end = text.data() + text.size();
  bool is_right = (out.is_real || text.substr(0, slash) == "fft") && at < end;
  while (is_right && at < end) {
    int64_t length = 0;
    const auto [stop, error] = std::from_chars(at, end, length);
    is_right = error == std::errc() && length >= 1 && length <= kLargestLength;
    out.shape.push_back(length);
    is_right &= stop == end || (*stop == 'x' && stop + 1 < end);
    at = stop + 1;
  }
  if (!is_right || out.shape.size() > 3 || out.elements() > static_cast<double>(kLargestLength))
    throw UserError(Message{.what = "bench: no such case",
                            .expected =
                                "fft or rfft and one to three lengths, such as fft/1024 or rfft/128x128x128, of "
                                "at most 268,435,456 elements",
                            .got = text});
  return out;
}

double FftCase::flops() const {
  return (is_real ? 2.5 : 5) * elements() * std::log2(std::max(elements(), 2.0));
}

Workload fft_workload(const std::string& text, const WorkloadOptions& options) {
  auto made = std::make_shared<FftCall>(fft_call(fft_case(text), options));
  auto run = [made](long calls) {
    for (; calls > 0; --calls) made->call(std::span<const Tensor>(made->arguments));
  };
  return {run, 1e-9 * fft_case(text).flops(), ""};
}

Tensor fft_result(const std::string& text, const WorkloadOptions& options) {
  FftCall made = fft_call(fft_case(text), options);
  return made.call(std::span<const Tensor>(made.arguments))[0].copy();
}

}  // namespace thtrain
