// A program's text in units that are compiled apart: some with kernels, and one with the entry.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "compiler/codegen/source_text.h"

namespace thtrain {

/// The name of a kernel among all kernels: its label and a hash of its text, of its helpers' and of the interface's.
std::string kernel_symbol(const SourceText& source, const KernelText& kernel);

/// A unit with these kernels, under their symbols. Units that hold the same kernel may be linked together.
std::string unit_text(const SourceText& source, std::span<const std::string> symbols,
                      const std::vector<size_t>& kernels);

/// The unit that exports the entry and calls the kernels by their symbols.
std::string entry_text(const SourceText& source, std::span<const std::string> symbols);

/// How much work a kernel is for the compiler, in bytes of long texts: short ones, and helpers, take longer for each.
size_t compile_work(const SourceText& source, const KernelText& kernel);

/// Is the program so short that one unit is compiled sooner than several are compiled and linked?
bool is_short(const SourceText& source);

/// Deals kernels out to units of about equal work: one for each of `processes` where that is worth starting the
/// compiler, and more for each where units became too long to keep all processes busy.
std::vector<std::vector<size_t>> deal_kernels(const std::vector<size_t>& kernels, const SourceText& source,
                                              size_t processes);

}  // namespace thtrain
