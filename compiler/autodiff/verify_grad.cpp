#include "compiler/autodiff/verify_grad.h"

#include <algorithm>
#include <cmath>

#include "compiler/autodiff/differentiation.h"
#include "compiler/base/random_state.h"
#include "compiler/ops/evaluate.h"

namespace thtrain {
namespace {

using Bindings = std::vector<std::pair<Expr, Tensor>>;

double number(const Tensor& x, int64_t i) {
  return x.dtype() == DType::kFloat32 ? x.data<float>()[i] : x.data<double>()[i];
}

// A copy whose element i is moved, and by how much it really was.
std::pair<Tensor, double> moved(const Tensor& x, int64_t i, double by) {
  Tensor out = x.copy();
  if (x.dtype() == DType::kFloat32)
    out.data<float>()[i] += static_cast<float>(by);
  else
    out.data<double>()[i] += by;
  return {out, number(out, i) - number(x, i)};
}

std::vector<int64_t> index_of(int64_t element, const Shape& shape) {
  std::vector<int64_t> out(shape.size());
  for (size_t axis = shape.size(); axis-- > 0; element /= shape[axis]) out[axis] = element % shape[axis];
  return out;
}

std::string text_of(const GradReport& report, const Expr& argument) {
  if (report.compared == 0) return "there are no elements to compare";
  std::string at = described(argument);
  if (!report.index.empty()) at += str(" at [", join(report.index, ", ", [](int64_t i) { return str(i); }), "]");
  return str(report.is_right
                 ? str(report.compared, " elements agree; the largest error is ", report.largest_error, ", of ")
                 : str("of ", report.compared, " elements the error is largest, ", report.largest_error, ", of "),
             at, ": derivative ", report.derivative, ", difference ", report.difference);
}

}  // namespace

GradReport verify_grad(const std::vector<Expr>& outputs, const std::vector<Expr>& wrt, const Bindings& values,
                       const VerifyGradOptions& options, std::source_location where) {
  const DerivativeCall called{"verify_grad", "no output depends on", "the outputs", where};
  for (const Expr& output : outputs) require_value(output, called.what("an output"), where);
  for (const auto& [input, value] : values) require_value(input, called.what("an input"), where);
  std::vector<size_t> numbers;  // of wrt among the values
  for (const Expr& x : wrt) {
    require_value(x, called.what("what the derivative is taken to"), where);
    const auto at = std::find_if(values.begin(), values.end(), [&](const auto& v) { return v.first.same(x); });
    if (at == values.end() || !is_float(x.dtype()))
      throw UserError({.what = called.what("derivatives are compared with respect to floating inputs with values"),
                       .expected = join(values, ", ", [](const auto& v) { return described(v.first); }),
                       .got = described(x),
                       .node = called.node(x)});
    numbers.push_back(static_cast<size_t>(at - values.begin()));
  }
  std::vector<Expr> smooth;
  for (const Expr& output : outputs)
    if (is_float(output.dtype())) smooth.push_back(output);

  RandomState random(static_cast<int64_t>(options.seed));
  std::vector<Expr> cotangents;
  std::vector<Tensor> weights;
  Bindings bound = values;
  const std::vector<Tensor> at_values = evaluate(smooth, values);
  for (size_t k = 0; k < smooth.size(); ++k) {
    cotangents.push_back(make_input(smooth[k].type(), "weights", where));
    weights.push_back(
        Tensor::of(random.uniform(0.5, 1.5, at_values[k].size()), at_values[k].shape()).cast(smooth[k].dtype()));
    bound.emplace_back(cotangents[k], weights[k]);
  }
  const std::vector<Expr> gradients =
      derivatives_of_cotangents(called, smooth, wrt, cotangents, {.disconnected = Disconnected::kZero});
  const std::vector<Tensor> exact = evaluate(gradients, bound);
  // Element by element: what does not change cancels without rounding.
  const auto change = [&](const Bindings& up, const Bindings& down) {
    double out = 0;
    const std::vector<Tensor> above = evaluate(smooth, up), below = evaluate(smooth, down);
    for (size_t k = 0; k < above.size(); ++k)
      for (int64_t i = 0; i < above[k].size(); ++i)
        out += (number(above[k], i) - number(below[k], i)) * number(weights[k], i);
    return out;
  };

  GradReport out;
  for (size_t k = 0; k < wrt.size(); ++k) {
    const Tensor at = values[numbers[k]].second.contiguous();
    const bool is_single = wrt[k].dtype() == DType::kFloat32 ||
                           std::ranges::any_of(smooth, [](const Expr& y) { return y.dtype() == DType::kFloat32; });
    const double step = options.step > 0 ? options.step : is_single ? 3e-3 : 1e-6;
    const double tolerance = options.tolerance > 0 ? options.tolerance : is_single ? 1e-2 : 1e-5;
    const int64_t stride = options.elements > 0 ? 1 + at.size() / options.elements : 1;
    for (int64_t i = 0; i < at.size(); i += stride) {
      Bindings up = values, down = values;
      const auto [above, rise] = moved(at, i, step);
      const auto [below, fall] = moved(at, i, -step);
      up[numbers[k]].second = above;
      down[numbers[k]].second = below;
      const double difference = change(up, down) / (rise - fall), derivative = number(exact[k], i);
      const double error = std::fabs(derivative - difference) / std::max(1.0, std::fabs(derivative));
      out.is_right = out.is_right && error <= tolerance;  // false of NaN
      if (out.compared++ == 0 || !(error <= out.largest_error)) {
        if (std::isnan(out.largest_error)) continue;
        out.largest_error = error;
        out.argument = k;
        out.index = index_of(i, at.shape());
        out.derivative = derivative;
        out.difference = difference;
      }
    }
  }
  out.text = text_of(out, wrt.empty() ? Expr() : wrt[out.argument]);
  return out;
}

}  // namespace thtrain
