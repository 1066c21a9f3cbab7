// An op without a kernel, for tests of programs of which some steps are the host's.
#pragma once

#include "compiler/ir/op.h"
#include "compiler/ops/order/order.h"

namespace thtrain {

/// sort() along the last axis, by its reference on every target.
inline Expr host_sort(const Expr& x) {
  static const Op op = [] {
    Op out = sort_op();
    out.name = "host_sort";
    out.lower = nullptr;
    out.calls_reference = true;
    return out;
  }();
  return apply(op, {x});
}

}  // namespace thtrain
