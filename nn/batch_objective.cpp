#include "nn/batch_objective.h"

#include <algorithm>

#include "compiler/autodiff/gradient.h"

namespace thtrain {

std::vector<double> values_of(const std::vector<Param>& params) {
  std::vector<double> out;
  for (const Param& param : params) {
    Tensor value = param.variable.get_value().cast(DType::kFloat64);
    out.insert(out.end(), value.data<double>(), value.data<double>() + value.size());
  }
  return out;
}

void set_values(const std::vector<Param>& params, std::span<const double> x) {
  for (const Param& param : params) {
    const Type& type = param.variable.type();
    Shape shape = type.known_shape();
    auto size = static_cast<size_t>(element_count(shape));
    TH_CHECK(size <= x.size(), "too few numbers for ", param.name);
    param.variable.set_value(Tensor::of(x.first(size), shape).cast(type.dtype));
    x = x.subspan(size);
  }
  TH_CHECK(x.empty(), x.size(), " numbers for no parameter");
}

static Function cost_and_gradients(const std::vector<Param>& params, const Expr& cost, const std::vector<In>& inputs,
                                   const FunctionOptions& options) {
  std::vector<Expr> wrt;
  for (const Param& param : params) wrt.push_back(param.expr());
  std::vector<Out> outputs = {Out(cost, true)};
  for (const Expr& gradient : grad(cost, wrt)) outputs.emplace_back(gradient, true);
  return function(inputs, outputs, {}, options);
}

BatchObjective::BatchObjective(std::vector<Param> params, const Expr& cost, const std::vector<In>& inputs,
                               const FunctionOptions& options)
    : params_(std::move(params)), function_(cost_and_gradients(params_, cost, inputs, options)) {}

ValueAndGradient BatchObjective::at(std::vector<Tensor> arguments) {
  return [this, arguments = std::move(arguments)](std::span<const double> x, std::span<double> gradient) {
    set(x);
    std::vector<Tensor> results = function_(arguments);
    double* next = gradient.data();
    for (size_t i = 1; i < results.size(); ++i) {
      Tensor part = results[i].contiguous().cast(DType::kFloat64);
      next = std::copy_n(part.data<double>(), part.size(), next);
    }
    return results[0].as_double();
  };
}

}  // namespace thtrain
