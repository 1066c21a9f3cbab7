#include "compiler/runtime/arguments.h"

#include <algorithm>

#include "compiler/runtime/function_state.h"

namespace thtrain {

std::optional<Tensor> in_dtype(const Tensor& value, DType dtype, const InOptions& options) {
  if (value.dtype() == dtype || options.strict) return std::nullopt;
  if (std::optional<Tensor> same_numbers = value.integers_as(dtype)) return same_numbers;
  if (options.allow_downcast && !is_complex(value.dtype()) && !is_complex(dtype)) return value.cast(dtype);
  return std::nullopt;
}

std::span<const Tensor> with_own_values(const Function::State& s, std::span<const Tensor> given,
                                        std::vector<Tensor>& copies) {
  const size_t all = s.inputs.size();
  if (given.size() >= all || !s.inputs[given.size()].value) return given;
  copies.assign(given.begin(), given.end());
  while (copies.size() < all && s.inputs[copies.size()].value) copies.push_back(*s.inputs[copies.size()].value);
  return copies;
}

std::span<const Tensor> in_own_dtypes(const Function::State& s, std::span<const Tensor> given,
                                      std::vector<Tensor>& copies) {
  for (size_t i = 0; i < std::min(given.size(), s.graph.inputs.size()); ++i) {
    const DType dtype = s.graph.inputs[i].dtype();
    if (given[i].dtype() == dtype) continue;
    std::optional<Tensor> converted = in_dtype(given[i].on_host(), dtype, s.inputs[i]);
    if (!converted) continue;
    if (copies.empty()) copies.assign(given.begin(), given.end());
    copies[i] = std::move(*converted);
  }
  return copies.empty() ? given : std::span<const Tensor>(copies);
}

std::span<const Tensor> in_reach(const Function::State& s, std::span<const Tensor> given, std::vector<Tensor>& copies) {
  const bool may_stay = s.device && s.program && s.options.mode == Mode::kNative && !s.observer;
  const AddressSpace* const space = may_stay ? &s.device->on().memory : nullptr;
  const auto is_in_reach = [&](size_t i) {
    if (!given[i].is_contiguous()) return false;
    return given[i].is_on_host() || (given[i].space() == space && !s.program->image.read_by_host[i]);
  };
  for (size_t i = 0; i < given.size(); ++i) {
    if (is_in_reach(i)) continue;
    if (copies.empty()) copies.assign(given.begin(), given.end());
    copies[i] = given[i].on_host().contiguous();
  }
  return copies.empty() ? given : std::span<const Tensor>(copies);
}

std::span<const Tensor> in_own_memory(const Function::State& s, std::span<const Tensor> given,
                                      std::vector<Tensor>& copies) {
  for (size_t i = 0; i < given.size(); ++i) {
    const InOptions& input = s.inputs[i];
    if (s.graph.updates.empty() && !input.is_mutable) continue;
    auto is_shared_with = [&](const Tensor& other) { return given[i].shares_memory_with(other); };
    bool is_read = std::any_of(s.storages.begin(), s.storages.end(),
                               [&](const auto& storage) { return is_shared_with(storage->value); });
    if (input.is_mutable) {
      for (size_t k = 0; k < given.size(); ++k) {
        is_read |= k != i && is_shared_with(given[k]);
        is_read |= s.inputs[k].value && !s.inputs[k].update.has_value() && is_shared_with(*s.inputs[k].value);
      }
    }
    if (!is_read) continue;
    Tensor copy = given[i].copy(given[i].space());
    if (copies.empty()) copies.assign(given.begin(), given.end());
    copies[i] = std::move(copy);
    given = copies;
  }
  return given;
}

void take_next_values(Function::State& s, std::vector<Tensor>& returned) {
  for (size_t i = s.resized.size(); i-- > 0;) {
    const Expr& variable = s.resized[i];
    SharedStorage& storage = *s.storage_of(variable);
    const bool is_resized = returned.back().shape() != storage.value.shape();
    give_value(storage, variable, returned.back(), /*borrow=*/is_resized, "the update of ");
    returned.pop_back();
  }
  for (size_t i = s.inputs.size(); i-- > 0;) {
    InOptions& input = s.inputs[i];
    if (!input.update.has_value()) continue;
    input.value = std::move(returned.back());
    returned.pop_back();
  }
}

}  // namespace thtrain
