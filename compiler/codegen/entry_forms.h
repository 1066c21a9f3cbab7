// What C++, C99 and the C++ that launches CUDA kernels write differently in an entry. Texts are whole statements or
// expressions, without indentation.
#pragma once

#include <string>
#include <vector>

#include "compiler/codegen/length_code.h"
#include "compiler/kernel/target.h"

namespace thtrain {

/// Buffers, lengths and iterations are given as lists: "x, y + 8"; empty: none.
class EntryForms {
 public:
  virtual ~EntryForms() = default;
  /// The head of the entry. `is_long`: compilers take long to optimize it, and gain nothing.
  virtual std::string head(bool is_long) const = 0;

  struct KernelRun {
    std::string kernel, buffers, lengths;
    std::vector<std::string> numbers;  // constants
    std::string range = {};
    std::string grain = {}, multiple = {};  // of the parts that threads take; empty: one thread takes all
    // Of a device, in place of these: the kernel's number, the buffers that it uses, the grid, the threads of a block.
    std::string number = {}, uses = {}, blocks = {}, threads = {};
    bool may_fail = false, reads_failure = false;
  };
  virtual std::string run(const KernelRun& run) const = 0;
  virtual std::string run_reference(int step, const std::string& buffers) const = 0;
  virtual std::string probe(int step, int after, const std::string& buffers, const std::string& iterations) const = 0;

  /// A length as a ThNumber, which knows whether the arithmetic stayed within 2^63.
  virtual std::string checked(const Dim& dim, const LengthVariables& variables) const = 0;
  /// The condition that two checked lengths differ, or are too large: then that check has failed.
  virtual std::string differ(size_t check, int too_large, const std::string& left, const std::string& right) const = 0;
};

const EntryForms& entry_forms(kernel::Language language);

}  // namespace thtrain
