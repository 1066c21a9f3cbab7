// The kernels of a program as texts, equal ones once.
#pragma once

#include <string>
#include <unordered_map>

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
  size_t number_of(const kernel::Function& function);

 private:
  uint32_t index_of_helper(const std::string& definition);

  const kernel::Target& target_;
  const kernel::Dialect& dialect_;
  SourceText& text_;
  std::unordered_map<const kernel::Function*, size_t> numbers_;
  std::unordered_map<std::string, size_t> kernels_;    // by their texts
  std::unordered_map<std::string, uint32_t> helpers_;  // likewise
};

}  // namespace thtrain
