// The C++ text of a program in parts, and how it reads as a whole.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace thtrain {

/// A kernel as text. It depends on the kernel alone: equal kernels of any programs have equal texts.
struct KernelText {
  std::string name;               // in this program: "k3_sum_rows"
  std::string label;              // "sum_rows"
  std::string comment;            // whole lines
  std::string code;               // from the parenthesis of the parameters on
  std::vector<uint32_t> helpers;  // what it calls, as places in SourceText::helpers, in their order

  friend bool operator==(const KernelText&, const KernelText&) = default;
};

/// Its parts make one translation unit (whole_text), or several that are compiled apart (runtime/compile_units.h).
struct SourceText {
  std::string comment;               // what the program's arguments are
  std::vector<std::string> helpers;  // definitions, each before those that need it
  std::vector<KernelText> kernels;
  std::string entry;  // the definition of thtrain_entry, which calls the kernels by name, after what it calls besides
  std::vector<std::string> libraries = {};  // names of the functions outside, in the order of ThContext::library

  friend bool operator==(const SourceText&, const SourceText&) = default;
};

/// What opens every translation unit: the entry's interface.
std::string interface_text();

/// Definitions of the functions and types that the entry's text calls, and of no others: arithmetic of lengths, how a
/// kernel is run. They stand before it.
std::string entry_helpers(std::string_view entry);

/// One translation unit, for people and for compilers.
std::string whole_text(const SourceText& source);

}  // namespace thtrain
