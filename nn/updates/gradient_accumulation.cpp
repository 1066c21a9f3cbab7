#include "nn/updates/gradient_accumulation.h"

#include "compiler/ops/elemwise/elemwise.h"

namespace thtrain {

GradientAccumulation::GradientAccumulation(int64_t count, const std::vector<Param>& params)
    : count_(count), kept_(Tensor(int64_t{0}), "accumulated", true) {
  if (count < 1)
    throw UserError(Message{.what = "accumulate: the number of minibatches is out of range",
                            .expected = "an integer, at least 1 (minibatches)",
                            .got = std::to_string(count)});
  for (const Param& param : params) {
    const Type& type = param.variable.type();
    sums_.emplace_back(Tensor::zeros(type.dtype, type.known_shape()), str("accumulated/", param.name), true);
    state_.emplace_back(sums_.back().name(), sums_.back());
  }
  state_.emplace_back("accumulated", kept_);
}

std::vector<Expr> GradientAccumulation::mean(const std::vector<Expr>& gradients) const {
  TH_CHECK(gradients.size() == sums_.size(), gradients.size(), " gradients for ", sums_.size(), " sums");
  Scope scope("accumulate");
  std::vector<Expr> out;
  for (size_t i = 0; i < sums_.size(); ++i) out.push_back((sums_[i] + gradients[i]) / static_cast<double>(count_));
  return out;
}

std::vector<Update> GradientAccumulation::updates(const std::vector<Expr>& gradients,
                                                  const std::vector<Update>& of_step) const {
  Scope scope("accumulate");
  Expr is_last = eq(kept_, count_ - 1);
  std::vector<Update> out;
  for (const Update& update : of_step) out.push_back({update.variable, where(is_last, update.value, update.variable)});
  for (size_t i = 0; i < sums_.size(); ++i) out.push_back({sums_[i], where(is_last, 0, sums_[i] + gradients[i])});
  out.push_back({kept_, where(is_last, 0, kept_ + 1)});
  return out;
}

}  // namespace thtrain
