// Copies of functions, and the memory that they hold.
#include <algorithm>
#include <numeric>

#include "compiler/base/escape.h"
#include "compiler/runtime/function.h"
#include "compiler/runtime/function_state.h"
#include "compiler/runtime/nan_guard.h"
#include "compiler/runtime/profiler.h"

namespace thtrain {

// Program, graph and shared variables are the same; arena and borrowed outputs are not.
Function::Function(const Function& other)
    : state_(
          (require_no_call(*state_behind(other.state_).mark, other.name()), std::make_shared<State>(*other.state_))) {
  State& s = *state_;
  s.mark = std::make_shared<CallMark>();
  s.arena = std::make_shared<Arena>();
  if (s.device) s.device = std::make_shared<DeviceCalls>(s.device->on());
  s.context.device = s.device.get();
  s.bound = false;
  s.own_outputs.assign(s.own_outputs.size(), {});
  s.lengths.forget_buffers();
  forget_kept(s);
  s.subsets.clear();  // they have one caller
  for (InOptions& input : s.inputs)
    if (input.is_mutable && input.value) input.value = input.value->copy();  // calls write over it
  if (s.fixed_arguments) s.fixed_arguments.emplace();
  if (s.profiler) s.profiler = std::make_shared<Profiler>(s);
  if (s.guard) s.guard = std::make_shared<NanGuard>(s);
}

static std::shared_ptr<Function::State> without_updates(const Function::State& s) {
  std::vector<size_t> outputs(s.output_names.size());
  std::iota(outputs.begin(), outputs.end(), size_t{0});
  return subset(s, outputs, /*with_updates=*/false);
}

Function Function::copy(const std::vector<std::pair<Shared, Shared>>& swap, const CopyOptions& options) const {
  Function out(*this);
  if (options.delete_updates) out.state_ = without_updates(*out.state_);
  State& s = *out.state_;
  if (!options.name.empty()) s.options.name = options.name;
  if (options.share_memory) s.arena = state_->arena, s.mark = state_->mark;
  const std::vector<std::shared_ptr<SharedStorage>> before = s.storages;
  for (const auto& [from, to] : swap) {
    if (!(from.type() == to.type()))
      throw UserError(
          {.what = str("copy: ", escaped(to.name()), " cannot stand for ", escaped(from.name()), ": its type differs"),
           .expected = from.type().text(),
           .got = to.type().text()});
    const auto& used = before;
    const auto at = std::find(used.begin(), used.end(), from.expr().node().shared);
    if (at == used.end()) throw UserError({.what = str("copy: the function does not use ", escaped(from.name()))});
    std::shared_ptr<SharedStorage>& given = s.storages[static_cast<size_t>(at - used.begin())];
    if (given != *at && given != to.expr().node().shared)
      throw UserError({.what = str("copy: two variables would stand for ", escaped(from.name())),
                       .got = str(escaped(given->name), " and ", escaped(to.name()))});
    given = to.expr().node().shared;
  }
  const std::vector<std::shared_ptr<SharedStorage>>& storages = s.storages;
  for (size_t i = 0; i < storages.size(); ++i)
    for (size_t k = 0; k < i; ++k)
      if (storages[i] == storages[k])
        throw UserError(
            {.what = str("copy: ", escaped(storages[i]->name), " would stand for two variables of the function"),
             .got = str(escaped(s.leaves[k].name()), " and ", escaped(s.leaves[i].name()))});
  return out;
}

static void free_buffers(Function::State& s) {
  s.arena->replace(Tensor::empty(DType::kUInt8, {0}));
  s.own_outputs.assign(s.own_outputs.size(), {});
  s.lengths.forget_buffers();
  forget_kept(s);
  if (s.fixed_arguments) s.fixed_arguments.emplace();
  if (s.device) s.device->free();
  for (auto& [outputs, part] : s.subsets) free_buffers(*part);
}

void Function::free() {
  State& s = state_behind(state_);
  const CallScope scope(*s.mark, name());
  settle(s);
  free_buffers(s);
}

}  // namespace thtrain
