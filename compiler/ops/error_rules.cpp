#include "compiler/ops/error_rules.h"

#include <algorithm>
#include <cmath>

#include "compiler/ir/graph.h"

namespace thtrain {
namespace {

bool is_connected(const Node& node, size_t input) {
  return node.types[0].kind == TypeKind::kTensor && node.inputs[input].type().kind == TypeKind::kTensor &&
         thtrain::is_connected(node, input, 0);
}

// The node on float64 in place of what is connected.
std::shared_ptr<const Node> widened(const Node& node) {
  bool is_wide = true;
  std::vector<Expr> inputs;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const Expr& input = node.inputs[i];
    const bool stays = !is_connected(node, i);
    is_wide = is_wide && (stays || input.dtype() == DType::kFloat64);
    inputs.push_back(stays ? input : make_input({.dtype = DType::kFloat64, .dims = input.dims()}, "e"));
  }
  return is_wide ? node.self.lock() : clone_with_inputs(node, std::move(inputs), node.bodies);
}

// What is not connected decides where elements come from: with an error there, nothing is known.
bool locations_are_known(const ErrorArgs& args) {
  for (size_t i = 0; i < args.inputs.size(); ++i)
    if (!is_connected(args.node, i) && !all_zero(args.errors[i])) return false;
  return true;
}

// The op on values[i] where input i is connected, else on the inputs themselves.
Tensor on_wide(const ErrorArgs& args, const std::shared_ptr<const Node>& wide, const std::vector<Tensor>& values) {
  std::vector<Tensor> given;
  for (size_t i = 0; i < args.inputs.size(); ++i)
    given.push_back(is_connected(args.node, i) ? values[i] : args.inputs[i]);
  return args.evaluate(*wide, given)[0].contiguous();
}

// An infinity that is read gives the same everywhere, unless the finite numbers with it become too large too; numbers
// that became too large need not do so in another order. `size` is the op on the inputs' magnitudes.
void bound_infinities(const ErrorArgs& args, const std::shared_ptr<const Node>& wide, std::vector<Tensor> magnitude,
                      bool is_exact, const Tensor& size, Tensor& error) {
  if (all_finite(args.outputs[0])) return;
  const Tensor result = magnitudes(args.outputs[0]);
  const double *of = result.data<double>(), *of_all = size.data<double>();
  const int64_t n = error.size();
  for (size_t i = 0; i < magnitude.size(); ++i) {
    if (!is_connected(args.node, i)) continue;
    magnitude[i] = magnitude[i].copy();
    double* x = magnitude[i].data<double>();
    std::replace_if(
        x, x + magnitude[i].size(), [](double y) { return !std::isfinite(y); }, 0);
  }
  const Tensor of_finite = on_wide(args, wide, magnitude);
  const double largest = float_limits(args.node.types[0].dtype).largest;
  for (int64_t k = 0; k < n; ++k) {
    const bool is_known = is_exact && !std::isfinite(of_all[k]) && of_finite.data<double>()[k] < largest / 4;
    if (!std::isfinite(of[k])) error.data<double>()[k] = is_known ? 0 : kUnknownError;
  }
}

}  // namespace

std::vector<Tensor> unknown_errors(const ErrorArgs& args) {
  std::vector<Tensor> out;
  for (size_t o = 0; o < args.outputs.size(); ++o) {
    out.push_back(args.make_error(o));
    std::fill_n(out[o].data<double>(), out[o].size(), kUnknownError);
  }
  return out;
}

FloatLimits float_limits(DType dtype) {
  if (dtype == DType::kFloat32 || dtype == DType::kComplex64) return {0x1p-24, 0x1p-149, 3.4e38};
  return {0x1p-53, 0x1p-1074, 1.79e308};
}

bool all_zero(const Tensor& error) {
  const double* e = error.data<double>();
  return std::all_of(e, e + error.size(), [](double x) { return x == 0; });
}

bool all_finite(const Tensor& x) {
  return visit(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* from = x.data<T>();
    return std::all_of(from, from + x.size(), [](T y) {
      if constexpr (is_complex_v<T>)
        return std::isfinite(y.real()) && std::isfinite(y.imag());
      else
        return std::isfinite(static_cast<double>(y));
    });
  });
}

Tensor magnitudes(const Tensor& x) {
  Tensor out = Tensor::empty(DType::kFloat64, x.shape());
  visit(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* from = x.data<T>();
    double* to = out.data<double>();
    for (int64_t i = 0, n = x.size(); i < n; ++i) {
      if constexpr (is_complex_v<T>)
        to[i] = static_cast<double>(std::abs(from[i]));
      else
        to[i] = std::abs(static_cast<double>(from[i]));
    }
  });
  return out;
}

double roundings_of_sum(int64_t count) {
  return static_cast<double>(std::min(count, 72 + count / 64)) + 1;
}

std::vector<Tensor> moved_error(const ErrorArgs& args) {
  if (!locations_are_known(args)) return unknown_errors(args);
  if (std::all_of(args.errors.begin(), args.errors.end(), all_zero)) return {args.make_error()};
  return {on_wide(args, widened(args.node), {args.errors.begin(), args.errors.end()}).copy()};
}

std::vector<Tensor> passed_error(const ErrorArgs& args) {
  std::vector<Tensor> out{args.errors[0].copy()};
  for (size_t o = 1; o < args.outputs.size(); ++o) out.push_back(args.make_error(o));
  return out;
}

std::vector<Tensor> multilinear_error(const ErrorArgs& args, double roundings) {
  if (!locations_are_known(args)) return unknown_errors(args);
  const std::shared_ptr<const Node> wide = widened(args.node);
  std::vector<Tensor> plain, enlarged;
  for (size_t i = 0; i < args.inputs.size(); ++i) {
    plain.push_back(is_connected(args.node, i) ? magnitudes(args.inputs[i]) : args.inputs[i]);
    enlarged.push_back(plain[i]);
    if (!is_connected(args.node, i) || all_zero(args.errors[i])) continue;
    enlarged[i] = plain[i].copy();
    double* x = enlarged[i].data<double>();
    const double* e = args.errors[i].data<double>();
    for (int64_t k = 0, n = plain[i].size(); k < n; ++k) x[k] += e[k];
  }
  const FloatLimits limits = float_limits(args.node.types[0].dtype);
  const bool is_exact = std::all_of(args.errors.begin(), args.errors.end(), all_zero);
  const Tensor size = on_wide(args, wide, plain), largest = is_exact ? size : on_wide(args, wide, enlarged);
  Tensor out = args.make_error();
  double* error = out.data<double>();
  const double *below = size.data<double>(), *above = largest.data<double>();
  for (int64_t k = 0, n = out.size(); k < n; ++k)
    error[k] = (above[k] - below[k]) + roundings * (limits.unit * above[k] + limits.tiny);
  bound_infinities(args, wide, plain, is_exact, size, out);
  return {out};
}

}  // namespace thtrain
