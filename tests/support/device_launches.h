// The kernels of a program on a device, launched one after the other with an allocation of its own for each buffer: for
// tests of kernels whose text was changed.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "compiler/cuda/device.h"
#include "compiler/ir/graph.h"
#include "compiler/plan/program.h"

namespace thtrain {

/// Of a graph without shared variables.
class DeviceLaunches {
 public:
  /// With all passes, or the graph as it is.
  explicit DeviceLaunches(const Graph& graph, bool optimized = true);

  /// Is every step a kernel, and every length known before the first? Else it cannot run.
  bool is_whole() const;

  /// CUDA C++, with `kernels()` as names.
  const std::string& text() const { return text_; }
  const std::vector<std::string>& kernels() const { return kernels_; }

  /// Buffers of even and of odd numbers begin so many elements behind an address that the device gives, which is a
  /// multiple of 256 bytes.
  void shift(size_t even, size_t odd) { shifts_ = {even, odd}; }

  /// The outputs. Kernels of the module have the names with `suffix`, where the kernel is `changed`.
  std::vector<Tensor> run(const cuda::Device& device, const cuda::Module& module, const std::vector<Tensor>& inputs,
                          const std::string& changed = {}, const std::string& suffix = {}) const;

 private:
  Graph graph_, canonical_;
  Program program_;
  std::string text_;
  std::array<size_t, 2> shifts_ = {};
  std::vector<std::string> kernels_;   // each once
  std::vector<std::string> launched_;  // of the steps
};

}  // namespace thtrain
