#include "compiler/kernel/schedule/nest_copy.h"

namespace thtrain::kernel {

using Kind = Nest::Value::Kind;

bool may_be_copied(const Nest::Value& value) {
  switch (value.kind) {
    case Kind::kLoad:
      return !value.location.is_indexed() && value.location.pair == Location::Pair::kNone &&
             !static_cast<bool>(value.otherwise);
    case Kind::kLet:
    case Kind::kReduction:
    case Kind::kCarried:
    case Kind::kSet:
    case Kind::kLast:
      return true;
    default:
      return false;
  }
}

bool moves(const Nest& nest, size_t value, size_t axis) {
  const Nest::Value& now = nest.values()[value];
  return now.kind == Kind::kLoad && !now.location.strides[axis].is(0);
}

void copy_value(const Nest& nest, size_t value, Nest& out, std::vector<Term>& values) {
  const Nest::Value& now = nest.values()[value];
  TH_CHECK(now.kind == Kind::kLoad || now.kind == Kind::kLet, "only loads and terms are copied");
  values[value] =
      now.kind == Kind::kLoad ? out.load(now.name, now.location) : out.let(now.name, bound(nest, now.term, values));
}

}  // namespace thtrain::kernel
