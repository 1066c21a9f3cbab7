// The text of a program in parts, and how it reads as a whole.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/kernel/target.h"

namespace thtrain {

/// A kernel as text. It depends on the kernel alone: equal kernels of any programs have equal texts.
struct KernelText {
  std::string name;               // in this program: "k3_sum_rows"
  std::string label;              // "sum_rows"
  std::string comment;            // whole lines
  std::string code;               // from the parenthesis of the parameters on
  std::vector<uint32_t> helpers;  // what it calls, as indices in SourceText::helpers, in their order

  friend bool operator==(const KernelText&, const KernelText&) = default;
};

/// Its parts make one translation unit (whole_text), or several that are compiled apart (host/compile_units.h).
struct SourceText {
  kernel::Language language = kernel::Language::kCpp;
  std::string comment;               // what the program's arguments are
  std::vector<std::string> helpers;  // definitions, each before those that need it
  std::vector<KernelText> kernels;
  std::string entry;                        // the definition of thtrain_entry, which calls the kernels by name
  std::vector<std::string> libraries = {};  // names of the functions outside, in the order of ThContext::library

  friend bool operator==(const SourceText&, const SourceText&) = default;
};

/// The parameters of every kernel, as a declaration has them.
inline constexpr const char* kKernelParameters = "(ThContext*, void* const*, const long*, long, long)";

/// What opens every translation unit: the entry's interface.
const std::string& interface_text();

/// What must be before code that calls these helpers: types and declarations as they are, "static inline" functions
/// without their bodies. What is between #if and #endif counts as a declaration.
std::string declarations_of(std::string_view helpers);
/// The functions that declarations_of() left without bodies.
std::string definitions_of(std::string_view helpers);

/// The kernels of a program for a device, and their helpers: what a compiler of CUDA C++ takes.
std::string device_text(const SourceText& source);

/// One of them with its helpers, under a name that does not depend on the program: what is kept by its text.
struct NamedText {
  std::string name, text;
};
NamedText device_text_of(const SourceText& source, const KernelText& kernel);

/// What the host's compiler takes: all but the kernels of a device.
std::string host_text(const SourceText& source);

/// For people, and for compilers where no device is: the program's arguments, the interface, the entry, the kernels,
/// and last the helpers, which are declared before what calls them; in C99 helpers are defined before. Kernels of a
/// device are compiled apart.
std::string whole_text(const SourceText& source);

}  // namespace thtrain
