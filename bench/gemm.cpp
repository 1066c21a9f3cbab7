// A matrix product as a compiled function.
#include <array>

#include "bench/workloads.h"
#include "compiler/api.h"

namespace thtrain {

Workload gemm_workload(const std::string& text, const WorkloadOptions& options) {
  GemmCase what = gemm_case(text);
  RandomState rng(7);
  auto operand = [&](int64_t rows, int64_t columns, bool transposed) {
    if (transposed) std::swap(rows, columns);
    return Tensor::of(rng.uniform(-1, 1, static_cast<size_t>(rows * columns)), {rows, columns}).cast(options.dtype);
  };
  std::array<Tensor, 2> arguments = {operand(what.m, what.k, what.a_transposed),
                                     operand(what.k, what.n, what.b_transposed)};
  auto input = [&](const char* name, const Tensor& value) {
    return tensor(name, {value.dim(0), value.dim(1)}, options.dtype);
  };
  Expr a = input("a", arguments[0]), b = input("b", arguments[1]);
  Expr product = dot(what.a_transposed ? transpose(a) : a, what.b_transposed ? transpose(b) : b);
  auto call = std::make_shared<Function>(
      function({a, b}, {{product, options.borrow}}, {}, {.threads = options.threads, .name = "bench gemm"}));
  auto run = [call, arguments](long calls) {
    for (; calls > 0; --calls) (*call)(std::span<const Tensor>(arguments));
  };
  return {run, 1e-9 * what.flops()};
}

}  // namespace thtrain
