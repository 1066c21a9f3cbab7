#include "nn/optimizer.h"

#include <cmath>

#include "compiler/autodiff/gradient.h"
#include "compiler/ir/bad_values.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/index/index.h"

namespace thtrain {

static DType dtype_of_params(const std::vector<Param>& params) {
  return params.empty() ? floatX() : params.front().variable.type().dtype;
}

static Tensor finite_scalar(double value, DType dtype, const std::string& what) {
  Tensor out = Tensor(value).cast(dtype);
  if (first_non_finite(out))
    throw UserError(Message{.what = str(what, " is not finite"),
                            .expected = str("a number that is finite in ", name_of(dtype)),
                            .got = str(value)});
  return out;
}

static void check_factor(double value, const Param& param, const char* what) {
  if (std::isfinite(value) && value >= 0) return;
  throw UserError(Message{.what = str(param.name, ": the ", what, " is out of range"),
                          .expected = "a finite number, at least 0",
                          .got = str(value),
                          .config = param.config});
}

Optimizer::Optimizer(std::string_view name, double learning_rate, double weight_decay, bool decoupled,
                     std::vector<Param> params)
    : name_(name), params_(std::move(params)), dtype_(dtype_of_params(params_)), decoupled_(decoupled) {
  add_number("learning_rate", learning_rate);
  Expr common = weight_decay != 0 ? add_number("weight_decay", weight_decay) : Expr();
  for (const Param& param : params_) {
    check_factor(param.rate_factor, param, "factor of the learning rate");
    check_factor(param.weight_decay.value_or(0), param, "weight decay");
    auto own = [&](const char* what, double value) { return checked_scalar(str(what, "/", param.name), value).expr(); };
    rate_factors_.push_back(param.rate_factor == 1 ? Expr() : own("rate_factor", param.rate_factor));
    if (param.weight_decay)
      decays_.push_back(*param.weight_decay == 0 ? Expr() : own("weight_decay", *param.weight_decay));
    else
      decays_.push_back(param.penalized ? common : Expr());
  }
}

Shared Optimizer::checked_scalar(const std::string& name, double value) const {
  return Shared(finite_scalar(value, dtype_, str(name_, ": ", name)), name, true);
}

Expr Optimizer::add_number(const std::string& name, double value) {
  numbers_.push_back({name, checked_scalar(name, value), value});
  return numbers_.back().variable.expr();
}

std::vector<Shared> Optimizer::add_state(const std::string& name, double start) {
  std::vector<Shared> out;
  for (const Param& param : params_) {
    const Type& type = param.variable.type();
    Tensor value = Tensor::zeros(DType::kFloat64, type.known_shape());
    for (int64_t k = 0; start != 0 && k < value.size(); ++k) value.data<double>()[k] = start;
    out.emplace_back(value.cast(type.dtype), str(name, "/", param.name), true);
    state_.emplace_back(out.back().name(), out.back());
  }
  return out;
}

void Optimizer::count_steps() {
  step_ = Shared(Tensor(int64_t{0}), "step", true);
  state_.emplace_back("step", *step_);
}

Expr Optimizer::step_number() const {
  return cast(*step_ + 1, DType::kFloat64);
}

Expr Optimizer::precise(const Expr& number) {
  return cast(number, DType::kFloat64);
}

const OptimizerNumber& Optimizer::number(std::string_view name) const {
  for (const OptimizerNumber& number : numbers_)
    if (number.name == name) return number;
  throw UserError(Message{.what = str(name_, " has no number ", name),
                          .expected = str("one of ", join(numbers_, ", ", [](const auto& n) { return n.name; })),
                          .got = std::string(name),
                          .hint = "a number that the options set to 0 is left out of the program"});
}

void Optimizer::set_number(std::string_view name, double value) const {
  number(name).variable.set_value(finite_scalar(value, dtype_, str(name_, ": ", name)));
}

void Optimizer::scale_number(std::string_view name, double factor) const {
  set_number(name, number(name).value * factor);
}

std::vector<Update> Optimizer::updates(const Expr& cost) const {
  std::vector<Expr> wrt;
  for (const Param& param : params_) wrt.push_back(param.expr());
  return updates(grad(cost, wrt));
}

std::vector<Update> Optimizer::updates(const std::vector<Expr>& gradients) const {
  std::vector<ParamGradient> whole;
  for (const Expr& gradient : gradients) whole.push_back({gradient});
  return updates(whole);
}

std::vector<Update> Optimizer::updates(const std::vector<ParamGradient>& gradients) const {
  if (gradients.size() != params_.size())
    throw UserError(Message{.what = str(name_, ": there is not one gradient for each parameter"),
                            .expected = str(params_.size(), " gradients"),
                            .got = std::to_string(gradients.size())});
  Scope scope(name_);
  std::vector<Update> out;
  if (step_) out.push_back({*step_, *step_ + 1});
  for (size_t i = 0; i < params_.size(); ++i) {
    Scope of_param(params_[i].name, params_[i].config);
    ParamStep of(i, gradients[i], params_[i].variable, out);
    of.rate = learning_rate();
    if (rate_factors_[i].has_value()) of.rate = of.rate * rate_factors_[i];
    if (decays_[i].has_value()) {
      if (decoupled_)
        of.w = of.w - of.rate * decays_[i] * of.w;
      else
        of.gradient = of.gradient + decays_[i] * of.w;
    }
    const Expr next = step(of);
    out.push_back({params_[i].expr(), of.with_rows(params_[i].variable, next)});
  }
  return out;
}

Expr ParamStep::rows_of(const Shared& all) const {
  return rows_.has_value() ? take(all, rows_) : all.expr();
}

Expr ParamStep::with_rows(const Shared& all, const Expr& value) const {
  return rows_.has_value() ? set_subtensor(all.expr()[{rows_}], value) : value;
}

#define TH_OPTIMIZER(name) Kind<OptimizerOptions> name##_optimizer();
#include "nn/optimizer_list.inc"
#undef TH_OPTIMIZER

const std::vector<Kind<OptimizerOptions>>& OptimizerOptions::kinds() {
  static const std::vector<Kind<OptimizerOptions>> kinds = {
#define TH_OPTIMIZER(name) name##_optimizer(),
#include "nn/optimizer_list.inc"
#undef TH_OPTIMIZER
  };
  return kinds;
}

}  // namespace thtrain
