// What softmax and log-softmax share: types, cases, and their kernel.
#pragma once

#include <vector>

#include "compiler/ir/op.h"
#include "compiler/kernel/step_builder.h"
#include "compiler/ops/operand.h"

namespace thtrain {

/// The node's property "axis", from 0 on.
size_t softmax_axis(const Node& node);
std::vector<Type> infer_softmax(const TypeArgs& args);
/// The definition, in the next wider type, rounded once.
std::vector<Tensor> softmax_reference(const ReferenceArgs& args, bool logarithm);
/// With p the results, errors are factors (of the logarithm, terms): an element's own, the mean of p times those of
/// all, and roundings of x - max(x), exp, the sum and the quotient.
std::vector<Tensor> softmax_error(const ErrorArgs& args, bool logarithm);
/// The same by exp, max, sum and log, each elementwise or along the axis.
Expr softmax_body(const Expr& x, size_t axis, bool logarithm);
/// The node as that body where its axis is known to be longer than 1, else empty.
Expr expand_softmax(const Node& node, const Expr& x, bool logarithm);
/// The kernel of that body.
void lower_softmax(kernel::StepBuilder& b, bool logarithm);
Cost softmax_cost(const Node& node);
std::vector<OpCase> softmax_cases(const Op& op);
Expr build_softmax(const Op& op, const Operand& x, int64_t axis);

}  // namespace thtrain
