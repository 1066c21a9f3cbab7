#include "compiler/runtime/shared.h"

namespace thtrain {

Shared::Shared(const Tensor& value, std::string name, bool borrow, std::source_location where) {
  auto storage = std::make_shared<SharedStorage>();
  storage->name = std::move(name);
  storage->type = type_of(value);
  storage->value = borrow ? value.contiguous() : value.copy();
  leaf_ = make_shared_leaf(std::move(storage), where);
}

Tensor Shared::get_value(bool borrow) const {
  return borrow ? storage().value : storage().value.copy();
}

void Shared::set_value(const Tensor& value, bool borrow) const {
  SharedStorage& s = storage();
  if (!(type_of(value) == s.type))
    throw UserError({.what = str("set_value of ", s.name.empty() ? "a shared variable" : s.name,
                                 ": the value does not fit the variable's type"),
                     .expected = s.type.text(),
                     .got = value.type_text(),
                     .node = leaf_.node().origin.text()});
  if (borrow)
    s.value = value.contiguous();
  else
    s.value.assign(value);
}

}  // namespace thtrain
