// The ops one by one, for rules that name elementwise ones; scalar_ops() lists their records.
#pragma once

#include "compiler/ops/elemwise/scalar_op.h"

namespace thtrain {

/// All elementwise ops, in the order of op_list.inc.
const std::vector<const Op*>& elementwise_ops();

#define TH_FAMILY(name)
#define TH_OP(function) const Op& function();
#include "compiler/ops/op_list.inc"
#undef TH_OP
#undef TH_FAMILY

}  // namespace thtrain
