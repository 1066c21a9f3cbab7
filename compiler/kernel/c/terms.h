// Elements and operators as C and C++ write them alike.
#pragma once

#include <string>
#include <vector>

#include "compiler/kernel/dialect.h"

namespace thtrain::kernel::c {

struct ElementName {
  const char* c;      // of the type
  const char* brief;  // in helpers' names
};

/// Of a dtype that is not complex.
ElementName name_of_element(DType dtype);

/// How a language writes the floats that have no digits.
struct SpecialFloats {
  std::string infinity, nan;
};
std::string constant_text(const TermNode& node, const SpecialFloats& special);

/// "+", "<", ...; of an operator with one or two operands.
const char* operator_of(Prim prim);

/// An operation in parentheses, a cast or a load; empty: the term is none of these. Of vectors: those operators that
/// are written as for one element.
std::string scalar_text(const TermNode& node, const std::vector<std::string>& args);

}  // namespace thtrain::kernel::c
