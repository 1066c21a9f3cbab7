// What a header declares for users, read from its text: signatures and the comments above them.
#pragma once

#include <string>
#include <vector>

namespace thtrain {

struct Declared {
  std::string header;     // "compiler/ops/shape/shape.h"
  std::string task;       // the heading above it: // ---- shape ----
  std::string owner;      // the class that it is a member of
  std::string name;       // "reshape", "operator+"
  std::string signature;  // "Expr reshape(Operand x, LengthList lengths)"
  std::string doc;        // the comment above it, or above the group without blank lines that it is in
  std::string remark;     // the comment behind it
  bool is_type = false;
};

/// Functions, classes with their public members, and enums, in the order of the text. Signatures are without
/// `const ...&` and without the argument that notes the caller's line.
std::vector<Declared> declarations_of(const std::string& header, const std::string& text);

/// Up to the first full stop.
std::string first_sentence(const std::string& doc);

}  // namespace thtrain
