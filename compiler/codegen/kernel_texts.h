// The kernels of a program as texts, equal ones once.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <utility>

#include "compiler/codegen/source_text.h"
#include "compiler/kernel/dialect.h"
#include "compiler/kernel/statement.h"

namespace thtrain {

class KernelTexts {
 public:
  /// Adds to the text's kernels and helpers.
  KernelTexts(const kernel::Target& target, const kernel::Dialect& dialect, SourceText& text)
      : target_(target), dialect_(dialect), text_(text) {}

  /// The kernel's number in the text, where it is printed under a name of its own unless an equal one is there already.
  /// `reads_failure`: Function::reads_failure of what is printed.
  size_t number_of(const kernel::Function& function, bool reads_failure);

 private:
  uint32_t index_of_helper(const std::string& definition);

  const kernel::Target& target_;
  const kernel::Dialect& dialect_;
  SourceText& text_;
  std::map<std::pair<const kernel::Function*, bool>, size_t> numbers_;
  std::unordered_map<std::string, size_t> kernels_;    // by their texts
  std::unordered_map<std::string, uint32_t> helpers_;  // likewise
};

}  // namespace thtrain
