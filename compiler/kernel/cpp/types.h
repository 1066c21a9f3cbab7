// C++'s types for the loop language's: explicit vectors by GCC's and clang's vector_size, and masks.
#pragma once

#include <string>

#include "compiler/kernel/c/terms.h"
#include "compiler/kernel/dialect.h"

namespace thtrain::kernel::cpp {

// One instruction each: left to themselves, compilers stop inlining where a kernel is long.
inline constexpr const char* kInline = "static inline __attribute__((always_inline)) ";
/// Of long helpers for the rest of a vector: once in a unit, however many calls it has. g++ compiles a softmax in a
/// fifth less time.
inline constexpr const char* kOutOfLine = "static __attribute__((noinline)) ";

using c::ElementName, c::name_of_element;

/// The integer of so many bytes that a lane of a mask is.
DType mask_dtype(int bytes);

std::string type_text(const TermType& type, Helpers& helpers);
/// "f32x8", and its definition.
std::string vector_type(DType element, int lanes, Helpers& helpers);
/// A vector that lies anywhere in memory. (A memcpy is as good, but takes compilers longer.)
std::string unaligned_type(DType element, int lanes, Helpers& helpers);

/// A mask whose lanes are `from` bytes wide, as one whose lanes are `to` bytes wide.
std::string convert_mask(const std::string& mask, int from, int to, int lanes, Helpers& helpers);
/// The text of `arg`; where that is a mask, with lanes of so many bytes.
std::string as_mask(const Term& arg, const std::string& text, int bytes, Helpers& helpers);

}  // namespace thtrain::kernel::cpp
