// Lowers nodes to kernels and library calls. The code of a node is kept and used for equal nodes: the layers of a deep
// model are lowered once, and share their kernels.
#pragma once

#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/plan/program.h"

namespace thtrain {

/// Where the operands of a node lie.
struct Placement {
  std::span<const BufferView> inputs = {}, outputs = {};
  bool writes_variable = false;  // does an output lie in a shared variable?
  bool is_unread = false;        // does nothing in the program read any output?
};

/// What a node became.
struct LoweredNode {
  std::vector<kernel::StepCode> code;  // operand numbers count the inputs, then the outputs, then the workspaces
  std::vector<kernel::Workspace> workspaces;
  std::string candidate = {};       // that the lowering took; empty where it asked for none
  std::string candidate_file = {};  // the shared object that this is of
};

class Lowering {
 public:
  explicit Lowering(const PlanOptions& options) : options_(options) {}

  LoweredNode lower(const Node& node, const Placement& at);
  /// Elements of one view into another of the same type.
  std::vector<kernel::StepCode> copy(const BufferView& from, const BufferView& to);

 private:
  const PlanOptions& options_;
  std::unordered_map<std::string, LoweredNode> known_;  // by all that Op::lower may depend on
};

}  // namespace thtrain
