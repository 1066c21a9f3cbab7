// A program to text: C++, C99 for a target of that, or C++ that launches CUDA kernels. Kernels are functions, and the
// entry runs the steps.
#pragma once

#include <string>
#include <vector>

#include "compiler/codegen/graph_parts.h"
#include "compiler/codegen/source_text.h"
#include "compiler/plan/program.h"

namespace thtrain {

/// A check that the generated code can fail: its number is its index in the list.
struct CheckText {
  std::string what, expected;  // may hold {value} and {limit}
  std::string node;            // where the user built it
  ConfigPosition config;
  bool after_write = false;  // a shared variable may have changed before it fails
};

struct Source {
  SourceText text;
  std::vector<CheckText> checks;  // length checks first, then those of kernels
  std::vector<GraphPart> graphs;  // of a device's program, by their places in the entry
  std::vector<int> threads;       // of a block, of each of its kernels
};

struct EmitOptions {
  bool probes = false;         // call the context's probe around each step
  bool early_outputs = false;  // call the context's output_done behind the step that ends an output; not on a device
};

/// For program.target. Equal kernels are printed once. The text depends on the program alone: same program, same bytes.
Source emit_cpp(const Program& program, const EmitOptions& options = {});

}  // namespace thtrain
