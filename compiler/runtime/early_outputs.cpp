#include "compiler/runtime/early_outputs.h"

#include <algorithm>

#include "compiler/runtime/arguments.h"

namespace thtrain {

void EarlyOutputs::begin(const Function::State& state, std::span<const Tensor> of_call) {
  outputs = of_call.first(state.output_names.size());
  told.assign(outputs.size(), false);
}

void EarlyOutputs::tell(size_t output) {
  told[output] = true;
  on_output(output, outputs[output]);
}

void on_output_done(ThContext* context, int number) {
  Function::State& s = *static_cast<Function::State*>(context->host);
  const auto output = static_cast<size_t>(number);
  if (!s.early || s.failure || context->failure.word || output >= s.early->outputs.size()) return;
  if (is_data_dependent(s.graph.outputs[output].dims())) return;  // its tensor gets its lengths behind the call
  try {
    s.early->tell(output);
  } catch (...) {
    s.fail(std::current_exception());
  }
}

std::vector<Tensor> Function::call_early(std::span<const Tensor> inputs,
                                         const std::function<void(size_t, const Tensor&)>& on_output) {
  State& s = state_behind(state_);
  const CallScope scope(*s.mark, name());
  EarlyOutputs early{on_output};
  std::vector<Tensor> out;
  if (s.options.mode != Mode::kDebug) s.early = &early;
  try {
    out = call_of(s, s, inputs);
  } catch (...) {
    s.early = nullptr;
    throw;
  }
  s.early = nullptr;
  early.outputs = out;
  early.told.resize(out.size(), false);
  for (size_t k = 0; k < out.size(); ++k)
    if (!early.told[k]) early.tell(k);
  return out;
}

}  // namespace thtrain
