// Gradients as programs compute them, in two forms where one of them is stable.
#pragma once

#include <cmath>
#include <vector>

#include "compiler/ops/control/stable_gradient.h"
#include "compiler/ops/evaluate.h"
#include "compiler/passes/pipeline.h"

namespace thtrain {

using Bindings = std::vector<std::pair<Expr, Tensor>>;

// The outputs as a program of this level computes them, by the references of its steps.
inline std::vector<Tensor> computed(const std::vector<Expr>& outputs, const Bindings& inputs,
                                    Level level = Level::kStandard) {
  Graph graph{.inputs = {}, .outputs = outputs, .updates = {}};
  for (const auto& [leaf, value] : inputs) graph.inputs.push_back(leaf);
  return evaluate(optimize(graph, {.level = level, .verify = true}).outputs, inputs);
}

inline bool has_two_forms(const Expr& gradient) {
  for (const Node* node : topological_order(std::vector{gradient}))
    if (node->op == &stable_gradient_op()) return true;
  return false;
}

inline long double logistic(long double x) {
  return x > 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x));
}

}  // namespace thtrain
