#include "compiler/kernel/schedule/widen.h"

namespace thtrain::kernel {
namespace {

Term with_args(const TermNode& node, std::vector<Term> a) {
  switch (node.prim) {
    case Prim::kAdd:
      return a[0] + a[1];
    case Prim::kSub:
      return a[0] - a[1];
    case Prim::kMul:
      return a[0] * a[1];
    case Prim::kDiv:
      return a[0] / a[1];
    case Prim::kRemainder:
      return a[0] % a[1];
    case Prim::kBitAnd:
      return a[0] & a[1];
    case Prim::kBitOr:
      return a[0] | a[1];
    case Prim::kBitXor:
      return a[0] ^ a[1];
    case Prim::kBitNot:
      return ~a[0];
    case Prim::kShiftLeft:
      return shift_left(a[0], a[1]);
    case Prim::kShiftRight:
      return shift_right(a[0], a[1]);
    case Prim::kLess:
      return a[0] < a[1];
    case Prim::kLessEqual:
      return a[0] <= a[1];
    case Prim::kGreater:
      return a[0] > a[1];
    case Prim::kGreaterEqual:
      return a[0] >= a[1];
    case Prim::kEqual:
      return a[0] == a[1];
    case Prim::kNotEqual:
      return a[0] != a[1];
    case Prim::kAnd:
      return a[0] && a[1];
    case Prim::kOr:
      return a[0] || a[1];
    case Prim::kNot:
      return !a[0];
    case Prim::kSelect:
      return select(a[0], a[1], a[2]);
    case Prim::kCast:
      return cast(a[0], node.type.dtype);
    case Prim::kBitCast:
      return bit_cast(a[0], node.type.dtype);
    case Prim::kFma:
      return fma(a[0], a[1], a[2]);
    case Prim::kCopySign:
      return copy_sign(a[0], a[1]);
    case Prim::kScale:
      return scale(a[0], a[1]);
    case Prim::kMath:
      return math(node.name, std::move(a));
    case Prim::kInRegister:
    case Prim::kNegate:
    case Prim::kSqrt:
    case Prim::kFabs:
    case Prim::kFloor:
    case Prim::kCeil:
    case Prim::kRint:
    case Prim::kTrunc:
      return unary(node.prim, a[0]);
    default:
      break;
  }
  TH_CHECK(false, "a nest is scalar: it has no vectors and loads only at its locations");
  return {};
}

}  // namespace

Term widened(const Term& term, const std::function<Term(const Term& variable)>& replace) {
  const TermNode& node = term.node();
  if (node.prim == Prim::kVariable) {
    const Term other = replace(term);
    return other ? other : term;
  }
  if (node.args.empty()) return term;
  std::vector<Term> args;
  bool is_same = true;
  for (const Term& arg : node.args) {
    args.push_back(widened(arg, replace));
    is_same = is_same && &args.back().node() == &arg.node();
  }
  return is_same ? term : with_args(node, std::move(args));
}

}  // namespace thtrain::kernel
