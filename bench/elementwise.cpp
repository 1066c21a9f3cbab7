// The formulae of Fig. 7 of the Theano paper, and 1/(1+exp(-a))*tanh(b), as compiled functions.
#include <array>
#include <cmath>

#include "bench/workloads.h"
#include "compiler/api.h"

namespace thtrain {

namespace {

Expr formula(const std::string& name, const Expr& a, const Expr& b) {
  if (name == "a+1") return a + 1;
  if (name == "2a+3b") return 2 * a + 3 * b;
  if (name == "poly2") return pow(a, 2) + pow(b, 2) + 2 * a * b;
  if (name == "2a+b^10") return 2 * a + pow(b, 10);
  return 1 / (1 + exp(-a)) * tanh(b);
}

// bench/peers/elementwise.py has the same.
Tensor values(const ElementwiseCase& what, DType dtype) {
  Tensor out = Tensor::empty(DType::kFloat64, {what.size});
  for (int64_t i = 0; i < what.size; ++i) {
    double value = static_cast<double>(i);
    if (what.formula == "sigm_tanh")
      value = std::fmod(value, 4096) / 512 - 4;
    else if (dtype == DType::kFloat32)
      value = std::fmod(value, 4096);
    out.data<double>()[i] = value;
  }
  return out.cast(dtype);
}

}  // namespace

Workload elementwise_workload(const std::string& text, const WorkloadOptions& options) {
  ElementwiseCase what = elementwise_case(text);
  Expr a = tensor("a", {"n"}, options.dtype), b = tensor("b", {"n"}, options.dtype);
  std::vector<In> inputs = {In(a), In(b)};
  if (what.formula == "a+1") inputs.pop_back();
  Out output(formula(what.formula, a, b), options.borrow);
  auto call = std::make_shared<Function>(
      function(inputs, {output}, {}, {.threads = options.threads, .name = "bench " + what.formula}));
  std::array<Tensor, 2> arguments = {values(what, options.dtype), values(what, options.dtype)};
  auto run = [call, arguments, count = inputs.size()](long calls) {
    for (; calls > 0; --calls) (*call)(std::span<const Tensor>(arguments.data(), count));
  };
  return {run, static_cast<double>(what.size)};
}

}  // namespace thtrain
