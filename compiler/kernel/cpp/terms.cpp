#include "compiler/kernel/cpp/terms.h"

#include "compiler/kernel/cpp/functions.h"
#include "compiler/kernel/cpp/gathers.h"
#include "compiler/kernel/cpp/types.h"
#include "compiler/kernel/cpp/vectors.h"

namespace thtrain::kernel::cpp {
namespace {

std::string select_text(const TermNode& n, const std::vector<std::string>& a, Helpers& h) {
  int bytes = n.type.dtype == DType::kBool ? n.type.mask_bytes : static_cast<int>(size_of(n.type.dtype));
  std::string mask = convert_mask(a[0], n.args[0].type().mask_bytes, bytes, n.type.lanes, h);
  if (n.type.dtype == DType::kBool)
    return str("((", mask, " & ", as_mask(n.args[1], a[1], bytes, h), ") | (~", mask, " & ",
               as_mask(n.args[2], a[2], bytes, h), "))");
  if (const std::string text = extremum_text(n, a, h); !text.empty()) return text;
  return str("(", mask, " ? ", a[1], " : ", a[2], ")");
}

}  // namespace

std::string constant_text(const TermNode& node) {
  const std::string suffix = node.type.dtype == DType::kFloat32 ? "f" : "";
  return c::constant_text(node, {str("__builtin_inf", suffix, "()"), str("__builtin_nan", suffix, "(\"\")")});
}

std::string term_text(const TermNode& n, const std::vector<std::string>& a, const Dialect& dialect,
                      const Target& target, Helpers& h) {
  if (!n.type.is_vector())
    if (std::string text = c::scalar_text(n, a); !text.empty()) return text;
  switch (n.prim) {
    case Prim::kNot:
      return str("(~", a[0], ")");
    case Prim::kAnd:
    case Prim::kOr:
    case Prim::kEqual:
    case Prim::kNotEqual:
    case Prim::kLess:
    case Prim::kLessEqual:
    case Prim::kGreater:
    case Prim::kGreaterEqual: {
      const int bytes = n.type.mask_bytes;
      const char* by = n.prim == Prim::kAnd ? "&" : n.prim == Prim::kOr ? "|" : c::operator_of(n.prim);
      return str("(", as_mask(n.args[0], a[0], bytes, h), " ", by, " ", as_mask(n.args[1], a[1], bytes, h), ")");
    }
    case Prim::kSelect:
      return select_text(n, a, h);
    case Prim::kCast:
      return str("__builtin_convertvector(", a[0], ", ", type_text(n.type, h), ")");
    case Prim::kNegate:
    case Prim::kBitNot:
    case Prim::kBitAnd:
    case Prim::kBitOr:
    case Prim::kBitXor:
    case Prim::kAdd:
    case Prim::kSub:
    case Prim::kMul:
    case Prim::kDiv:
    case Prim::kRemainder:
    case Prim::kShiftLeft:
    case Prim::kShiftRight:
      return c::scalar_text(n, a);
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
      return math_text(n, a, dialect, target, h);
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
    case Prim::kIsAligned:
      break;
  }
  TH_CHECK(false, "a term without a printed form");
  return {};
}

}  // namespace thtrain::kernel::cpp
