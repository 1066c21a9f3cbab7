// What pick_rows and scatter_add_rows share: x [n, classes] is input 0, labels [n] input 1.
#pragma once

#include "compiler/ir/op.h"
#include "compiler/ops/elemwise/checked_index.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/shape/copy_loops.h"

namespace thtrain {

void check_pick_rows(const TypeArgs& args);
/// Of a pick_rows or scatter_add_rows: what its property from_end says.
Negative negative_of(const Node& node);
Props pick_rows_props(Negative negative);
/// {value} is the label, {limit} its row.
IndexCheck label_check(const Node& node);

}  // namespace thtrain
