#include "trainers/optimizers/sgd.h"

#include "compiler/autodiff/gradient.h"
#include "compiler/ops/elemwise/elemwise.h"

namespace thtrain {

static DType dtype_of_params(const std::vector<Param>& params) {
  return params.empty() ? floatX() : params.front().variable.type().dtype;
}

static Shared scalar_of(double value, const char* name, DType dtype) {
  return Shared(Tensor(value).cast(dtype), name, true);
}

Sgd::Sgd(const Options& options, std::vector<Param> params)
    : params_(std::move(params)),
      has_momentum_(options.momentum != 0),
      nesterov_(options.nesterov),
      learning_rate_(scalar_of(options.learning_rate, "learning_rate", dtype_of_params(params_))),
      momentum_(scalar_of(options.momentum, "momentum", dtype_of_params(params_))) {
  if (!has_momentum_) return;
  for (const Param& param : params_) {
    const Type& type = param.variable.type();
    std::string name = str("velocity/", param.name);
    velocities_.emplace_back(name, Shared(Tensor::zeros(type.dtype, type.known_shape()), name, true));
  }
}

std::vector<Update> Sgd::updates(const Expr& cost) const {
  std::vector<Expr> wrt;
  for (const Param& param : params_) wrt.push_back(param.expr());
  std::vector<Expr> gradients = grad(cost, wrt);
  Scope scope("sgd");
  std::vector<Update> out;
  for (size_t i = 0; i < params_.size(); ++i) {
    Scope of_param(params_[i].name, params_[i].config);
    const Expr& w = wrt[i];
    Expr step = learning_rate_ * gradients[i];
    if (!has_momentum_) {
      out.push_back({w, w - step});
      continue;
    }
    const Shared& old_velocity = velocities_[i].second;
    Expr velocity = momentum_ * old_velocity - step;
    out.push_back({old_velocity, velocity});
    out.push_back({w, nesterov_ ? w + momentum_ * velocity - step : w + velocity});
  }
  return out;
}

}  // namespace thtrain
