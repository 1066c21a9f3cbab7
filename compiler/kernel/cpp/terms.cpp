#include "compiler/kernel/cpp/terms.h"

#include <cmath>
#include <cstdio>

#include "compiler/kernel/cpp/functions.h"
#include "compiler/kernel/cpp/gathers.h"
#include "compiler/kernel/cpp/types.h"
#include "compiler/kernel/cpp/vectors.h"

namespace thtrain::kernel::cpp {
namespace {

std::string vector_logic(const TermNode& n, const std::vector<std::string>& a, const char* vector, const char* scalar,
                         Helpers& h) {
  if (!n.type.is_vector()) return str("(", a[0], " ", scalar, " ", a[1], ")");
  int bytes = n.type.mask_bytes;
  return str("(", as_mask(n.args[0], a[0], bytes, h), " ", vector, " ", as_mask(n.args[1], a[1], bytes, h), ")");
}

std::string select_text(const TermNode& n, const std::vector<std::string>& a, Helpers& h) {
  if (!n.type.is_vector()) {
    std::string text = str("(", a[0], " ? ", a[1], " : ", a[2], ")");
    return is_int(n.type.dtype) && size_of(n.type.dtype) < 4
               ? str("((", name_of_element(n.type.dtype).c, ")", text, ")")
               : text;
  }
  int bytes = n.type.dtype == DType::kBool ? n.type.mask_bytes : static_cast<int>(size_of(n.type.dtype));
  std::string mask = convert_mask(a[0], n.args[0].type().mask_bytes, bytes, n.type.lanes, h);
  if (n.type.dtype == DType::kBool)
    return str("((", mask, " & ", as_mask(n.args[1], a[1], bytes, h), ") | (~", mask, " & ",
               as_mask(n.args[2], a[2], bytes, h), "))");
  return str("(", mask, " ? ", a[1], " : ", a[2], ")");
}

}  // namespace

std::string constant_text(const TermNode& node) {
  DType dtype = node.type.dtype;
  if (is_float(dtype)) {
    const char* suffix = dtype == DType::kFloat32 ? "f" : "";
    if (std::isnan(node.number)) return str("__builtin_nan", suffix, "(\"\")");
    if (std::isinf(node.number)) return str(node.number < 0 ? "-" : "", "__builtin_inf", suffix, "()");
    // Exact as hexadecimal; the decimal beside it is for people. Small whole numbers need neither.
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

std::string term_text(const TermNode& n, const std::vector<std::string>& a, const Dialect& dialect, int vector_bytes,
                      Helpers& h) {
  static constexpr const char* kInfix[] = {"",   "",   "+", "-",  "*", "/",  "%",  "-",  "&",  "|",  "^", "~",
                                           "<<", ">>", "<", "<=", ">", ">=", "==", "!=", "&&", "||", "!"};
  switch (n.prim) {
    case Prim::kAnd:
      return vector_logic(n, a, "&", "&&", h);
    case Prim::kOr:
      return vector_logic(n, a, "|", "||", h);
    case Prim::kNot:
      return str(n.type.is_vector() ? "(~" : "(!", a[0], ")");
    case Prim::kNegate:
    case Prim::kBitNot:
      // "--x" would be another operator.
      return str("(", kInfix[static_cast<int>(n.prim)], a[0].starts_with('-') ? " " : "", a[0], ")");
    case Prim::kBitAnd:
    case Prim::kBitOr:
    case Prim::kBitXor:
    case Prim::kAdd:
    case Prim::kSub:
    case Prim::kMul:
    case Prim::kDiv:
    case Prim::kRemainder:
    case Prim::kShiftLeft:
    case Prim::kShiftRight: {
      std::string text = str("(", a[0], " ", kInfix[static_cast<int>(n.prim)], " ", a[1], ")");
      // C++ computes small integers as int: back to the element's type.
      if (!n.type.is_vector() && is_int(n.type.dtype) && size_of(n.type.dtype) < 4)
        return str("((", name_of_element(n.type.dtype).c, ")", text, ")");
      return text;
    }
    case Prim::kEqual:
    case Prim::kNotEqual:
    case Prim::kLess:
    case Prim::kLessEqual:
    case Prim::kGreater:
    case Prim::kGreaterEqual: {
      int bytes = n.type.mask_bytes;
      return str("(", as_mask(n.args[0], a[0], bytes, h), " ", kInfix[static_cast<int>(n.prim)], " ",
                 as_mask(n.args[1], a[1], bytes, h), ")");
    }
    case Prim::kSelect:
      return select_text(n, a, h);
    case Prim::kCast:
      if (!n.type.is_vector()) return str("((", name_of_element(n.type.dtype).c, ")", a[0], ")");
      return str("__builtin_convertvector(", a[0], ", ", type_text(n.type, h), ")");
    case Prim::kBitCast:
      return bit_cast_text(n, a[0], h);
    case Prim::kInRegister:
      return in_register_text(n, a[0], h);
    case Prim::kSqrt:
      return lanewise_text("sqrt", n, a, h);
    case Prim::kFabs:
      return lanewise_text("fabs", n, a, h);
    case Prim::kFloor:
      return lanewise_text("floor", n, a, h);
    case Prim::kCeil:
      return lanewise_text("ceil", n, a, h);
    case Prim::kRint:
      return lanewise_text("rint", n, a, h);
    case Prim::kTrunc:
      return lanewise_text("trunc", n, a, h);
    case Prim::kFma:
      return lanewise_text("fma", n, a, h);
    case Prim::kCopySign:
      return lanewise_text("copysign", n, a, h);
    case Prim::kScale:
      return scale_text(n, a, h);
    case Prim::kMath:
      return math_text(n, a, dialect, vector_bytes, h);
    case Prim::kLoad:
      return load_text(n, a, h);
    case Prim::kGather:
      return gather_text(n, a, h);
    case Prim::kSplat:
      return splat_text(n, a[0], h);
    case Prim::kIota:
      return iota_text(n, h);
    case Prim::kReduceLanes:
      return reduce_text(n, a[0], h);
    case Prim::kInterleaveEven:
    case Prim::kInterleaveOdd:
      return interleave_text(n, a);
    case Prim::kEvenLanes:
    case Prim::kOddLanes:
    case Prim::kZipLow:
    case Prim::kZipHigh:
      return pairs_text(n, a);
    case Prim::kConstant:
    case Prim::kVariable:
      break;
  }
  TH_CHECK(false, "a term without a printed form");
  return {};
}

}  // namespace thtrain::kernel::cpp
