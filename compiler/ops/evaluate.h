// Running a graph by the references of its ops: the definition of what every program computes.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/ir/lengths.h"

namespace thtrain {

/// Values of `outputs` where the inputs have these values; shared variables have their own. Iterative and
/// deterministic; a value is freed after its last reader. UserError where an input is missing or does not fit its type.
std::vector<Tensor> evaluate(std::span<const Expr> outputs, std::span<const std::pair<Expr, Tensor>> inputs);
std::vector<Tensor> evaluate(const std::vector<Expr>& outputs, const std::vector<std::pair<Expr, Tensor>>& inputs);

/// As above with named lengths bound already (a body inside a call).
std::vector<Tensor> evaluate_with(std::span<const Expr> outputs, std::span<const std::pair<Expr, Tensor>> inputs,
                                  const Lengths& lengths);

/// The outputs of one node on these inputs. `read`: for each output, does anybody read it? Empty: all are read. Of a
/// loop, an output that nobody reads has no elements: the states of all iterations may be as many as its limit.
std::vector<Tensor> evaluate_node(const Node& node, std::span<const Tensor> inputs, const Lengths& lengths,
                                  const std::vector<bool>& read = {});

}  // namespace thtrain
