#include "compiler/kernel/c/terms.h"

#include <cmath>
#include <cstdio>

namespace thtrain::kernel::c {

ElementName name_of_element(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return {"bool", "b8"};
    case DType::kInt8:
      return {"signed char", "i8"};
    case DType::kInt16:
      return {"short", "i16"};
    case DType::kInt32:
      return {"int", "i32"};
    case DType::kInt64:
      return {"long", "i64"};
    case DType::kUInt8:
      return {"unsigned char", "u8"};
    case DType::kUInt16:
      return {"unsigned short", "u16"};
    case DType::kUInt32:
      return {"unsigned", "u32"};
    case DType::kUInt64:
      return {"unsigned long", "u64"};
    case DType::kFloat32:
      return {"float", "f32"};
    case DType::kFloat64:
      return {"double", "f64"};
    default:
      break;
  }
  TH_CHECK(false, "the loop language has no ", thtrain::name_of(dtype));
  __builtin_unreachable();
}

std::string constant_text(const TermNode& node, const SpecialFloats& special) {
  DType dtype = node.type.dtype;
  if (is_float(dtype)) {
    const char* suffix = dtype == DType::kFloat32 ? "f" : "";
    if (std::isnan(node.number)) return special.nan;
    if (std::isinf(node.number)) return str(node.number < 0 ? "-" : "", special.infinity);
    // Exact as hexadecimal; the decimal next to it is for people. Small whole numbers need neither.
    if (node.number == std::floor(node.number) && std::fabs(node.number) < 1e6)
      return str(std::signbit(node.number) ? "-" : "", static_cast<int64_t>(std::fabs(node.number)), ".0", suffix);
    char hex[48];
    std::snprintf(hex, sizeof hex, "%a", node.number);
    return str(hex, suffix, " /* ", node.number, " */");
  }
  if (dtype == DType::kBool) return node.integer ? "true" : "false";
  if (dtype == DType::kInt64) return node.integer == INT64_MIN ? "(-9223372036854775807L - 1)" : str(node.integer, "L");
  if (dtype == DType::kUInt64) return str(static_cast<uint64_t>(node.integer), "UL");
  return str("((", name_of_element(dtype).c, ")", node.integer, ")");
}

const char* operator_of(Prim prim) {
  static constexpr const char* kOperators[] = {"",   "",   "+", "-",  "*", "/",  "%",  "-",  "&",  "|",  "^", "~",
                                               "<<", ">>", "<", "<=", ">", ">=", "==", "!=", "&&", "||", "!"};
  return kOperators[static_cast<int>(prim)];
}

namespace {

// Small integers are computed as int: back to the element's type.
std::string as_element(const TermNode& n, std::string text) {
  if (n.type.is_vector() || !is_int(n.type.dtype) || size_of(n.type.dtype) >= 4) return text;
  return str("((", name_of_element(n.type.dtype).c, ")", text, ")");
}

// An index that is one operation in parentheses.
std::string unwrapped(const std::string& text) {
  bool whole = text.size() > 2 && text.front() == '(' && text.find(')') == text.size() - 1;
  return whole ? text.substr(1, text.size() - 2) : text;
}

}  // namespace

std::string scalar_text(const TermNode& n, const std::vector<std::string>& a) {
  switch (n.prim) {
    case Prim::kNot:
    case Prim::kNegate:
    case Prim::kBitNot:
      // "--x" would be another operator.
      return str("(", operator_of(n.prim), a[0].starts_with('-') ? " " : "", a[0], ")");
    case Prim::kAdd:
    case Prim::kSub:
    case Prim::kMul:
    case Prim::kDiv:
    case Prim::kRemainder:
    case Prim::kBitAnd:
    case Prim::kBitOr:
    case Prim::kBitXor:
    case Prim::kShiftLeft:
    case Prim::kShiftRight:
      return as_element(n, str("(", a[0], " ", operator_of(n.prim), " ", a[1], ")"));
    case Prim::kEqual:
    case Prim::kNotEqual:
    case Prim::kLess:
    case Prim::kLessEqual:
    case Prim::kGreater:
    case Prim::kGreaterEqual:
    case Prim::kAnd:
    case Prim::kOr:
      return str("(", a[0], " ", operator_of(n.prim), " ", a[1], ")");
    case Prim::kSelect:
      return as_element(n, str("(", a[0], " ? ", a[1], " : ", a[2], ")"));
    case Prim::kCast:
      return str("((", name_of_element(n.type.dtype).c, ")", a[0], ")");
    case Prim::kLoad:
      return str(n.name, "[", unwrapped(a[0]), "]");
    default:
      return {};
  }
}

}  // namespace thtrain::kernel::c
