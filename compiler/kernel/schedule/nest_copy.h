// Values of one nest in another one, by which a schedule says a part of a nest as a nest.
#pragma once

#include "compiler/kernel/schedule/locations.h"

namespace thtrain::kernel {

/// Loads of affine locations, terms, and what iterations combine or hand on.
bool may_be_copied(const Nest::Value& value);
/// Does an axis of the nest move what the value loads, or is the value its number?
bool moves(const Nest& nest, size_t value, size_t axis);
/// Adds a load or a term of `nest` to `out`, which has the same axes; what it reads is in `values`, and it is then too.
void copy_value(const Nest& nest, size_t value, Nest& out, std::vector<Term>& values);

}  // namespace thtrain::kernel
