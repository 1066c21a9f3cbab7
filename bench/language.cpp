// Operations on arrays, as compiled functions: sorting, the largest elements, different elements.
#include <algorithm>
#include <cmath>
#include <memory>

#include "bench/workloads.h"
#include "compiler/api.h"

namespace thtrain {

namespace {

constexpr int64_t kLargest = 100;

Expr operation(const LanguageCase& what, const Expr& x) {
  if (what.what == "sort") return sort(x);
  if (what.what == "argsort") return argsort(x);
  if (what.what == "topk") return topk(x, std::min(kLargest, what.shape.back()));
  return unique(x).values;
}

// Standard normal numbers, or integers below 10^9; for `unique` such that many come several times.
// bench/peers/language.py has the same.
Tensor values(const LanguageCase& what, DType dtype) {
  RandomState random(7);
  const bool repeats = what.what == "unique";
  if (what.is_int64) {
    Tensor out = Tensor::empty(DType::kInt64, what.shape);
    for (int64_t i = 0; i < out.size(); ++i)
      out.data<int64_t>()[i] = random.integer(0, repeats ? 100'000 : 1'000'000'000);
    return out;
  }
  Tensor out = Tensor::empty(DType::kFloat64, what.shape);
  for (int64_t i = 0; i < out.size(); ++i) {
    const double number = random.normal();
    out.data<double>()[i] = repeats ? std::rint(1000 * number) : number;
  }
  return out.cast(dtype);
}

Function compiled(const LanguageCase& what, const std::string& text, DType dtype, const WorkloadOptions& options) {
  const Expr x = tensor("x", Dims(what.shape.begin(), what.shape.end()), dtype);
  return function({x}, {Out(operation(what, x), options.borrow)}, {},
                  {.threads = options.threads, .name = "bench " + text});
}

}  // namespace

Workload language_workload(const std::string& text, const WorkloadOptions& options) {
  const LanguageCase what = language_case(text);
  const Tensor x = values(what, options.dtype);
  auto call = std::make_shared<Function>(compiled(what, text, x.dtype(), options));
  auto run = [call, x](long calls) {
    for (; calls > 0; --calls) (*call)({x});
  };
  return {run, static_cast<double>(x.size())};
}

}  // namespace thtrain
