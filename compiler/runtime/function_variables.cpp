// Shared variables of a function before a call: in the memory that its program computes in, and what is kept of them.
#include "compiler/base/escape.h"
#include "compiler/runtime/function_state.h"

namespace thtrain {

using State = Function::State;

void bring_to_host(const State& s, size_t k) {
  SharedStorage& variable = *s.storages[k];
  if (is_on_device(variable.value)) return move_value(variable, s.leaves[k], nullptr);
  throw UserError({.what = str(escaped(s.options.name), ": the shared variable ", escaped(variable.name),
                               " is not in the memory that the program computes in"),
                   .expected = "the host's memory",
                   .got = variable.value.space()->name()});
}

void move_to_device(State& s) {
  const ProgramImage& image = s.program->image;
  for (size_t i = 0; i < image.shared_order.size(); ++i) {
    const size_t k = image.shared_order[i];
    const AddressSpace* const wanted = image.on_device[i] ? &s.device->on().memory : nullptr;
    const Tensor& value = s.storages[k]->value;
    if ((value.is_on_host() ? nullptr : value.space()) == wanted) continue;
    if (wanted)
      move_value(*s.storages[k], s.leaves[k], wanted);
    else
      bring_to_host(s, k);
  }
}

void keep_up(State& s) {
  const auto storage_of = [&](const Expr& leaf) -> SharedStorage& {
    size_t i = 0;
    while (!s.leaves[i].same(leaf)) ++i;
    if (!s.storages[i]->value.is_on_host()) bring_to_host(s, i);
    return *s.storages[i];
  };
  for (KeptTranspose& one : s.kept) keep_up(one, storage_of);
}

void forget_kept(State& s) {
  for (KeptTranspose& one : s.kept) {
    one = {.of = one.of, .transposed = one.transposed};
    for (const Expr& leaf : {one.transposed.data, one.transposed.indices, one.transposed.indptr})
      for (size_t i = 0; i < s.leaves.size(); ++i) {
        if (!s.leaves[i].same(leaf)) continue;
        s.storages[i] = std::make_shared<SharedStorage>(*s.storages[i]);
        s.storages[i]->value = Tensor::empty(s.storages[i]->type.dtype, {0});
      }
  }
}

}  // namespace thtrain
