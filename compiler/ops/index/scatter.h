// Ops that write elements into a part of input 0: where the elements come from is left open, so that a loop that
// computes them can store them there.
#pragma once

#include <functional>
#include <string>

#include "compiler/ir/op.h"
#include "compiler/kernel/nest.h"
#include "compiler/ops/shape/copy_loops.h"

namespace thtrain {

/// The elements that are written: those of an input, or those that a body computes.
struct Elements {
  Dims dims;
  std::string name, text;  // "exp_", "exp(in2)": in the kernel's name and comment
  int64_t work;            // simple operations of one, with writing it
  /// Adds the element to a nest over `dims`.
  std::function<kernel::Term(kernel::Nest& nest)> add_to;
};

/// Those of input i (the parts of complex ones).
Elements elements_of_input(kernel::StepBuilder& b, size_t i);

/// The cost of an op that adds input 2 to elements of input 0, or replaces them.
Cost scatter_cost(const Node& node);
/// The same for one that reads elements of input 0.
Cost gather_cost(const Node& node);
/// Op::connection of both: the integers of input 1 name the elements.
bool is_no_index(const Node& node, size_t input, size_t output);

/// Op::scatter: how the op writes.
struct ScatterRule {
  size_t elements;  // the input that holds them
  /// The kernels of `node`, but for where the elements come from. The step's inputs are the node's, in their order, and
  /// more after them; the one at `elements` is not read.
  void (*write)(kernel::StepBuilder& b, const Node& node, const Elements& elements);
};

}  // namespace thtrain
