#include "nn/updates/weight_average.h"

#include <algorithm>
#include <cstddef>

#include "compiler/ops/elemwise/elemwise.h"

namespace thtrain {

WeightAverage::WeightAverage(const Options& options, std::vector<Param> params)
    : options_(options), params_(std::move(params)), count_(Tensor(int64_t{0}), "averaged", true) {
  if (!(options.decay >= 0 && options.decay < 1))
    throw UserError(Message{.what = "average: decay is out of range",
                            .expected = "a number at least 0 and below 1",
                            .got = str(options.decay)});
  if (options.start < 0)
    throw UserError(Message{.what = "average: start is out of range",
                            .expected = "an integer, at least 0 (steps)",
                            .got = std::to_string(options.start)});
  for (const Param& param : params_) {
    averages_.emplace_back(param.variable.get_value(), str("average/", param.name), true);
    state_.emplace_back(averages_.back().name(), averages_.back());
  }
  state_.emplace_back("averaged", count_);
}

std::vector<Update> WeightAverage::updates(const std::vector<Update>& of_step) const {
  Scope scope("average");
  std::vector<Update> out;
  // The number of this step among those that are averaged: 1 or less is the first.
  Expr number = count_ + 2 - std::max<int64_t>(options_.start, 1);
  auto moved = [&](const Expr& away) {
    if (options_.kind == Kind::kExponential) return (1 - options_.decay) * away;
    return away / cast(maximum(number, 1), away.dtype());
  };
  for (size_t i = 0; i < params_.size(); ++i) {
    Scope of_param(params_[i].name, params_[i].config);
    auto found = std::find_if(of_step.begin(), of_step.end(),
                              [&](const Update& update) { return update.variable.same(params_[i].expr()); });
    TH_CHECK(found != of_step.end(), "no update of ", params_[i].name);
    const Expr& w = found->value;
    Expr average = averages_[i] + moved(w - averages_[i]);
    out.push_back({averages_[i], where(number <= 1, w, average)});
  }
  out.push_back({count_, count_ + 1});
  return out;
}

std::vector<std::pair<Shared, Shared>> WeightAverage::pairs() const {
  std::vector<std::pair<Shared, Shared>> out;
  for (size_t i = 0; i < params_.size(); ++i) out.emplace_back(params_[i].variable, averages_[i]);
  return out;
}

void WeightAverage::swap() const {
  for (size_t i = 0; i < params_.size(); ++i) params_[i].variable.swap_value(averages_[i]);
}

}  // namespace thtrain
