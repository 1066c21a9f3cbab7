// A graph compiled by a compiler and for a vector width of the test's choice; functions take the process's own.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/plan/program.h"

namespace thtrain {

struct Target {
  std::string compiler;  // "g++" or "clang++"
  int vector_bytes;
  kernel::MemoryLimits memory = {};
  const kernel::Chooser* chooser = nullptr;   // of passes and plan
  std::optional<kernel::Target> device = {};  // in place of vectors
  std::string text() const;                   // "clang_32": a name for tests
};

/// How GoogleTest names it.
inline void PrintTo(const Target& target, std::ostream* out) {
  *out << target.text();
}

/// Why nothing can be compiled or run for it here: the processor's vectors are shorter, or only g++ goes with the
/// sanitizers that the build has. Empty where all is well.
std::string why_not(const Target& target);

/// Every target, and those of one compiler with the width that functions take.
std::vector<Target> all_targets();
Target usual_width(const std::string& compiler);

/// No step of the graph as it is runs through the reference of its op.
bool is_all_native(const Graph& graph);

/// The program of the graph as it is.
Program unoptimized_program(const Graph& graph, const Target& target);

class NativeProgram {
 public:
  /// `optimized`: with all passes; else the graph as it is. The graph has no shared variables and is all native.
  /// `edit` changes the program before it is printed, for tests of what wrong programs compute.
  NativeProgram(const Graph& graph, const Target& target, bool optimized = true,
                const std::function<void(Program&)>& edit = nullptr);
  ~NativeProgram();
  NativeProgram(NativeProgram&&) noexcept;

  /// The outputs for dense inputs, on one thread. InternalError where the call fails, or writes behind an output.
  std::vector<Tensor> operator()(std::span<const Tensor> inputs) const;
  std::vector<Tensor> operator()(const std::vector<Tensor>& inputs) const {
    return (*this)(std::span<const Tensor>(inputs));
  }

 private:
  struct Compiled;
  std::unique_ptr<Compiled> compiled_;
};

}  // namespace thtrain
