#include "nn/optimizers/adamw.h"

namespace thtrain {

void AdamW::describe(Fields<OptimizerKind<AdamW>>& f) {
  f.about("AdamW: Adam with decoupled weight decay.");
  describe_rate_and_decay(f);
  describe_adam(f);
}

AdamW::AdamW(const Options& options, std::vector<Param> params)
    : Adam(kName, (check_options<OptimizerKind<AdamW>>(kName, options), options), std::move(params)) {}

Kind<OptimizerOptions> adamw_optimizer() {
  return kind<OptimizerKind<AdamW>, OptimizerOptions>();
}

}  // namespace thtrain
