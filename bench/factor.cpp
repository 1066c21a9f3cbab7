// Factorizations and equations of one matrix, or of a batch of small ones, as compiled functions.
#include <algorithm>
#include <charconv>
#include <memory>

#include "bench/workloads.h"
#include "compiler/api.h"
#include "compiler/base/error.h"

namespace thtrain {
namespace {

constexpr int64_t kLargestMatrices = 1 << 26;  // elements

struct FactorCall {
  Function call;
  std::vector<Tensor> arguments;
};

// Matrices as bench/peers/factor.py makes them: uniform numbers, as definite ones x . x^T / n + the identity.
FactorCall factor_call(const FactorCase& c, const WorkloadOptions& options) {
  RandomState rng(7);
  const bool is_batch = c.count > 1, is_definite = c.what == "cholesky" || c.what == "eigh";
  const Shape shape = is_batch ? Shape{c.count, c.n, c.n} : Shape{c.n, c.n};
  Tensor a = Tensor::of(rng.uniform(-1, 1, static_cast<size_t>(c.count * c.n * c.n)), shape);
  if (is_definite) {
    const Expr x = tensor("x", Dims(shape.begin(), shape.end()), DType::kFloat64);
    a = function({x}, {matmul(x, matrix_transpose(x)) / static_cast<double>(c.n) + eye(c.n)})({a})[0].copy();
  }
  const Expr x = tensor("a", Dims(shape.begin(), shape.end()), options.dtype);
  std::vector<In> inputs = {x};
  std::vector<Tensor> arguments = {a.cast(options.dtype)};
  std::vector<Expr> out;
  if (c.what == "cholesky") out = {cholesky(x)};
  if (c.what == "qr") {
    const QrFactors f = qr(x);
    out = {f.q, f.r};
  }
  if (c.what == "eigh") {
    const EigenPairs f = eigh(x);
    out = {f.values, f.vectors};
  }
  if (c.what == "svd") {
    const SingularValues f = svd(x);
    out = {f.u, f.s, f.vh};
  }
  if (c.what == "solve") {
    Shape of_b = shape;
    of_b.back() = 1;
    const Tensor b = Tensor::of(rng.uniform(-1, 1, static_cast<size_t>(c.count * c.n)), of_b);
    const Expr right = tensor("b", Dims(of_b.begin(), of_b.end()), options.dtype);
    inputs.emplace_back(right);
    arguments.push_back(b.cast(options.dtype));
    out = {solve(x, right)};
  }
  std::vector<Out> outputs;
  for (const Expr& value : out) outputs.emplace_back(value, options.borrow);
  return {function(inputs, outputs, {}, {.threads = options.threads, .name = "bench factor"}), arguments};
}

}  // namespace

FactorCase factor_case(const std::string& text) {
  const size_t slash = std::min(text.find('/'), text.size());
  FactorCase out{.what = text.substr(0, slash)};
  const char *at = text.data() + std::min(slash + 1, text.size()), *const end = text.data() + text.size();
  const auto read = [&](int64_t& length) {
    const auto [stop, error] = std::from_chars(at, end, length);
    at = stop;
    return error == std::errc() && length >= 1 && length <= kLargestMatrices;
  };
  bool is_right = std::ranges::count(std::vector<std::string>{"cholesky", "solve", "qr", "eigh", "svd"}, out.what) > 0;
  is_right = is_right && read(out.n);
  if (is_right && at < end && *at == 'x') {
    ++at;
    out.count = out.n;
    is_right = read(out.n);
  }
  if (!is_right || at != end || out.elements() > static_cast<double>(kLargestMatrices))
    throw UserError(Message{.what = "bench: no such case",
                            .expected = "cholesky, solve, qr, eigh or svd, and the side of one matrix, or how many of "
                                        "which side: eigh/500 or svd/10000x6, of at most 67,108,864 elements",
                            .got = text});
  return out;
}

double FactorCase::flops() const {
  const double of_what = what == "cholesky" ? 1.0 / 3
                         : what == "solve"  ? 2.0 / 3
                         : what == "qr"     ? 8.0 / 3
                         : what == "eigh"   ? 9
                                            : 20;
  return of_what * elements() * static_cast<double>(n);
}

Workload factor_workload(const std::string& text, const WorkloadOptions& options) {
  auto made = std::make_shared<FactorCall>(factor_call(factor_case(text), options));
  auto run = [made](long calls) {
    for (; calls > 0; --calls) made->call(std::span<const Tensor>(made->arguments));
  };
  return {run, 1e-9 * factor_case(text).flops(), ""};
}

std::vector<Tensor> factor_results(const std::string& text, const WorkloadOptions& options) {
  FactorCall made = factor_call(factor_case(text), options);
  std::vector<Tensor> out;
  for (const Tensor& result : made.call(std::span<const Tensor>(made.arguments))) out.push_back(result.copy());
  return out;
}

}  // namespace thtrain
