// What is known of an op, as text: its doc block, and what its rules add. docs/ops.md and `thtrain info --ops` have it.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/op.h"
#include "compiler/kernel/target.h"

namespace thtrain {

/// "Shapes" and what is said of them; the label of the first one, what the op computes, is empty.
struct OpStatement {
  std::string label, text;
};

/// The lines of a doc block. A line that begins with no label goes on with the one before it.
std::vector<OpStatement> statements_of_doc(const std::string& doc);

/// Those of an op's doc block, completed: dtypes of elementwise ops, dtypes and shapes of reductions, the error bound,
/// which rules there are, and the file. In one order. What is the same for all is left out: shapes of elementwise ops,
/// and what those made by fusion have from their expressions.
std::vector<OpStatement> statements_of(const Op& op, const kernel::Target& device);

/// How far the results may be from exact ones, for exact inputs: by the op's error rule, on its cases. u is half a unit
/// in the last place of the largest element of a result.
std::string error_bound_text(const Op& op);

/// How native code computes it: "kernel", "elementwise", "region", "view", "reference" or "leaf".
std::string native_text(const Op& op);
/// What computes the op's cases on a device: "kernel", "host" (its reference), or "kernel; of integers on the host".
/// Empty: neither, as for a view, a leaf or a region.
std::string device_text(const Op& op, const kernel::Target& device);
/// The other rules that it has: "forward mode", "vmap", "in place".
std::vector<std::string> rules_of(const Op& op);
/// From the root of the tree: "compiler/ops/reduce/reductions.cpp".
std::string file_of(const Op& op);

}  // namespace thtrain
