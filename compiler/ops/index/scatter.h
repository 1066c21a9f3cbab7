// Ops that write elements into a part of input 0: where the elements come from is left open, so that a loop that
// computes them can store them there.
#pragma once

#include <functional>
#include <string>

#include "compiler/ir/op.h"
#include "compiler/kernel/nest.h"
#include "compiler/ops/shape/copy_loops.h"

namespace thtrain {

/// The input of a node with Op::scatter that holds the elements.
inline constexpr size_t kScattered = 1;

/// The elements that are written: those of an input, or those that a body computes.
struct Elements {
  Dims dims;
  std::string name, text;  // "exp_", "exp(in2)": in the kernel's name and comment
  int64_t work;            // simple operations of one, with writing it
  /// Adds the element to a nest over `dims`.
  std::function<kernel::Term(kernel::Nest& nest)> add_to;
};

/// Those of input 1 (the parts of complex ones).
Elements given_elements(kernel::StepBuilder& b);

/// Op::cost of an op that adds the elements to others, or replaces them.
Cost scatter_cost(const Node& node);

/// x with y added to the elements that `like`, a gather or a scatter of a value of the same lengths, names; `set`: with
/// y stored there, the last one where an element is named twice.
Expr scatter_like(const Node& like, const Expr& x, const Expr& y, bool set,
                  std::source_location where = std::source_location::current());

}  // namespace thtrain
