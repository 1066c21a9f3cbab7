#include "compiler/kernel/term.h"

#include <optional>

#include "compiler/ir/convert.h"

namespace thtrain::kernel {
namespace {

Term make(Prim prim, TermType type, std::vector<Term> args, std::string name = {}) {
  auto node = std::make_shared<TermNode>();
  node->prim = prim;
  node->type = type;
  node->args = std::move(args);
  node->name = std::move(name);
  return Term(std::move(node));
}

Term recast_constant(const Term& c, DType dtype) {
  const TermNode& node = c.node();
  bool real = is_float(node.type.dtype);
  if (is_float(dtype)) return constant(dtype, real ? node.number : static_cast<double>(node.integer));
  if (!real) return constant_int(dtype, node.integer);
  return constant_int(dtype, dtype == DType::kUInt64 ? static_cast<int64_t>(convert<uint64_t>(node.number))
                                                     : convert<int64_t>(node.number));
}

// Brings two operands to one type: an int64 constant takes the other's dtype, a scalar is splat.
void unify(Term& a, Term& b) {
  if (a.dtype() != b.dtype()) {
    if (b.node().prim == Prim::kConstant && b.dtype() == DType::kInt64)
      b = recast_constant(b, a.dtype());
    else if (a.node().prim == Prim::kConstant && a.dtype() == DType::kInt64)
      a = recast_constant(a, b.dtype());
  }
  TH_CHECK(a.dtype() == b.dtype(), "loop language: ", name_of(a.dtype()), " with ", name_of(b.dtype()));
  if (a.lanes() < b.lanes()) a = splat(a, b.lanes());
  if (b.lanes() < a.lanes()) b = splat(b, a.lanes());
  TH_CHECK(a.lanes() == b.lanes(), "loop language: ", a.lanes(), " lanes with ", b.lanes());
}

Term binary(Prim prim, Term a, Term b) {
  unify(a, b);
  TermType type = a.type();
  return make(prim, type, {std::move(a), std::move(b)});
}

Term integer_folded(Prim prim, Term a, Term b) {
  if (a.dtype() == DType::kInt64 && b.dtype() == DType::kInt64 && a.lanes() == 1 && b.lanes() == 1) {
    const TermNode &x = a.node(), &y = b.node();
    bool cx = x.prim == Prim::kConstant, cy = y.prim == Prim::kConstant;
    if (prim == Prim::kAdd) {
      if (cx && cy) return Term(x.integer + y.integer);
      if (cx && x.integer == 0) return b;
      if (cy && y.integer == 0) return a;
    } else if (prim == Prim::kMul) {
      if (cx && cy) return Term(x.integer * y.integer);
      if ((cx && x.integer == 0) || (cy && y.integer == 0)) return Term(0);
      if (cx && x.integer == 1) return b;
      if (cy && y.integer == 1) return a;
    } else if (prim == Prim::kSub) {
      if (cx && cy) return Term(x.integer - y.integer);
      if (cy && y.integer == 0) return a;
    }
  }
  return binary(prim, std::move(a), std::move(b));
}

// A signed integer that is known, and that its dtype holds.
bool is_known_integer(const Term& a) {
  if (a.node().prim != Prim::kConstant || !is_signed_int(a.dtype())) return false;
  const int64_t half = int64_t{1} << (8 * size_of(a.dtype()) - 2);
  return a.dtype() == DType::kInt64 || (a.node().integer / 2 > -half && a.node().integer / 2 < half);
}

// Nullopt: not two integers that are known.
std::optional<bool> known_comparison(Prim prim, const Term& a, const Term& b) {
  if (!is_known_integer(a) || !is_known_integer(b)) return std::nullopt;
  const TermNode &x = a.node(), &y = b.node();
  switch (prim) {
    case Prim::kLess:
      return x.integer < y.integer;
    case Prim::kLessEqual:
      return x.integer <= y.integer;
    case Prim::kGreater:
      return x.integer > y.integer;
    case Prim::kGreaterEqual:
      return x.integer >= y.integer;
    case Prim::kEqual:
      return x.integer == y.integer;
    default:
      return x.integer != y.integer;
  }
}

bool is_known_bool(const Term& a) {
  return a.node().prim == Prim::kConstant && a.dtype() == DType::kBool;
}

Term compare(Prim prim, Term a, Term b) {
  unify(a, b);
  if (const std::optional<bool> known = known_comparison(prim, a, b)) return constant_int(DType::kBool, *known);
  int bytes = a.type().mask_bytes ? a.type().mask_bytes : static_cast<int>(size_of(a.dtype()));
  TermType type{DType::kBool, a.lanes(), a.lanes() > 1 ? bytes : 0};
  return make(prim, type, {std::move(a), std::move(b)});
}

Term logical(Prim prim, Term a, Term b) {
  TH_CHECK(a.dtype() == DType::kBool && b.dtype() == DType::kBool, "loop language: logic of ", name_of(a.dtype()));
  if (is_known_bool(a) && is_known_bool(b)) {
    const bool x = a.node().integer != 0, y = b.node().integer != 0;
    return constant_int(DType::kBool, prim == Prim::kAnd ? x && y : x || y);
  }
  unify(a, b);
  TermType type = a.type();
  type.mask_bytes = std::max(a.type().mask_bytes, b.type().mask_bytes);
  return make(prim, type, {std::move(a), std::move(b)});
}

}  // namespace

Term::Term(int64_t value) {
  *this = constant_int(DType::kInt64, value);
}

Term constant(DType dtype, double number) {
  TH_CHECK(is_float(dtype), "loop language: a floating constant of ", name_of(dtype));
  auto node = std::make_shared<TermNode>();
  node->prim = Prim::kConstant;
  node->type = {dtype, 1, 0};
  node->number = dtype == DType::kFloat32 ? static_cast<double>(static_cast<float>(number)) : number;
  return Term(std::move(node));
}

Term constant_int(DType dtype, int64_t integer) {
  if (is_float(dtype)) return constant(dtype, static_cast<double>(integer));
  auto node = std::make_shared<TermNode>();
  node->prim = Prim::kConstant;
  node->type = {dtype, 1, 0};
  node->integer = integer;
  return Term(std::move(node));
}

Term variable(std::string name, TermType type) {
  return make(Prim::kVariable, type, {}, std::move(name));
}

bool is_constant(const Term& term, int64_t integer) {
  return term.node().prim == Prim::kConstant && !is_float(term.dtype()) && term.node().integer == integer;
}

Term operator+(Term a, Term b) {
  return integer_folded(Prim::kAdd, std::move(a), std::move(b));
}
Term operator-(Term a, Term b) {
  return integer_folded(Prim::kSub, std::move(a), std::move(b));
}
Term operator*(Term a, Term b) {
  return integer_folded(Prim::kMul, std::move(a), std::move(b));
}
Term operator/(Term a, Term b) {
  return binary(Prim::kDiv, std::move(a), std::move(b));
}
Term operator%(Term a, Term b) {
  return binary(Prim::kRemainder, std::move(a), std::move(b));
}
Term operator-(Term a) {
  return unary(Prim::kNegate, std::move(a));
}
Term operator&(Term a, Term b) {
  return binary(Prim::kBitAnd, std::move(a), std::move(b));
}
Term operator|(Term a, Term b) {
  return binary(Prim::kBitOr, std::move(a), std::move(b));
}
Term operator^(Term a, Term b) {
  return binary(Prim::kBitXor, std::move(a), std::move(b));
}
Term shift_left(Term a, Term bits) {
  return binary(Prim::kShiftLeft, std::move(a), std::move(bits));
}
Term shift_right(Term a, Term bits) {
  return binary(Prim::kShiftRight, std::move(a), std::move(bits));
}
Term operator~(Term a) {
  return unary(Prim::kBitNot, std::move(a));
}
Term operator<(Term a, Term b) {
  return compare(Prim::kLess, std::move(a), std::move(b));
}
Term operator<=(Term a, Term b) {
  return compare(Prim::kLessEqual, std::move(a), std::move(b));
}
Term operator>(Term a, Term b) {
  return compare(Prim::kGreater, std::move(a), std::move(b));
}
Term operator>=(Term a, Term b) {
  return compare(Prim::kGreaterEqual, std::move(a), std::move(b));
}
Term operator==(Term a, Term b) {
  return compare(Prim::kEqual, std::move(a), std::move(b));
}
Term operator!=(Term a, Term b) {
  return compare(Prim::kNotEqual, std::move(a), std::move(b));
}
Term operator&&(Term a, Term b) {
  return logical(Prim::kAnd, std::move(a), std::move(b));
}
Term operator||(Term a, Term b) {
  return logical(Prim::kOr, std::move(a), std::move(b));
}

Term operator!(Term a) {
  TH_CHECK(a.dtype() == DType::kBool, "loop language: not of ", name_of(a.dtype()));
  return unary(Prim::kNot, std::move(a));
}

Term select(Term condition, Term yes, Term no) {
  unify(yes, no);
  TH_CHECK(condition.dtype() == DType::kBool, "loop language: select by ", name_of(condition.dtype()));
  if (is_known_bool(condition)) return condition.node().integer ? yes : no;
  int lanes = std::max(condition.lanes(), yes.lanes());
  if (yes.lanes() < lanes) {
    yes = splat(yes, lanes);
    no = splat(no, lanes);
  }
  if (condition.lanes() < lanes) condition = splat(condition, lanes);
  TermType type = yes.type();
  type.mask_bytes = std::max(type.mask_bytes, no.type().mask_bytes);
  return make(Prim::kSelect, type, {std::move(condition), std::move(yes), std::move(no)});
}

// Two selections, of which the inner one is an instruction.
Term extremum(bool is_max, const Term& a, const Term& b) {
  const Term out = select(is_max ? b > a : b < a, b, a);
  return is_float(a.dtype()) ? select(b != b, b, out) : out;
}

Term cast(Term a, DType dtype) {
  if (a.dtype() == dtype) return a;
  if (a.node().prim == Prim::kConstant && dtype != DType::kBool) return recast_constant(a, dtype);
  if (dtype == DType::kBool) return a != constant_int(a.dtype(), 0);
  if (a.dtype() == DType::kBool) return select(a, constant_int(dtype, 1), constant_int(dtype, 0));
  TermType type{dtype, a.lanes(), 0};
  return make(Prim::kCast, type, {std::move(a)});
}

Term bit_cast(Term a, DType dtype) {
  if (a.dtype() == dtype) return a;
  TH_CHECK(size_of(a.dtype()) == size_of(dtype) && !is_bool(a.dtype()) && !is_bool(dtype),
           "loop language: the bits of ", name_of(a.dtype()), " as ", name_of(dtype));
  TermType type{dtype, a.lanes(), 0};
  return make(Prim::kBitCast, type, {std::move(a)});
}

Term in_register(Term vector) {
  return unary(Prim::kInRegister, std::move(vector));
}

Term unary(Prim prim, Term a) {
  TermType type = a.type();
  return make(prim, type, {std::move(a)});
}

Term fma(Term a, Term b, Term c) {
  unify(a, b);
  unify(a, c);
  unify(b, c);
  TermType type = a.type();
  return make(Prim::kFma, type, {std::move(a), std::move(b), std::move(c)});
}

Term copy_sign(Term size, Term sign) {
  return binary(Prim::kCopySign, std::move(size), std::move(sign));
}
Term scale(Term x, Term power) {
  return binary(Prim::kScale, std::move(x), std::move(power));
}

Term math(std::string function, std::vector<Term> args) {
  if (args.size() == 2) unify(args[0], args[1]);
  TermType type = args[0].type();
  TH_CHECK(is_float(type.dtype), "loop language: ", function, " of ", name_of(type.dtype));
  return make(Prim::kMath, type, std::move(args), std::move(function));
}

Term splat(Term a, int lanes) {
  if (lanes == a.lanes()) return a;
  TH_CHECK(a.lanes() == 1, "loop language: splat of a vector");
  TermType type{a.dtype(), lanes, a.dtype() == DType::kBool ? 1 : 0};
  return make(Prim::kSplat, type, {std::move(a)});
}

Term iota(DType dtype, int lanes) {
  return make(Prim::kIota, {dtype, lanes, 0}, {});
}

Term reduce_lanes(std::string operation, Term vector) {
  if (vector.lanes() == 1) return vector;
  TermType type{vector.dtype(), 1, 0};
  return make(Prim::kReduceLanes, type, {std::move(vector)}, std::move(operation));
}

static Term blocks(Prim prim, Term a, Term b, int width) {
  const TermType type = a.type();
  TH_CHECK(type == b.type() && width > 0 && type.lanes % (2 * width) == 0, "loop language: blocks of ", width,
           " lanes of ", type.lanes);
  auto node = std::make_shared<TermNode>(TermNode{.prim = prim, .type = type, .args = {}, .name = {}});
  node->args = {std::move(a), std::move(b)};
  node->integer = width;
  return Term(std::move(node));
}
Term interleave_even(Term a, Term b, int width) {
  return blocks(Prim::kInterleaveEven, std::move(a), std::move(b), width);
}
Term interleave_odd(Term a, Term b, int width) {
  return blocks(Prim::kInterleaveOdd, std::move(a), std::move(b), width);
}

static Term paired(Prim prim, Term a, Term b) {
  const TermType type = a.type();
  TH_CHECK(type == b.type() && type.is_vector(), "loop language: pairs of ", type.lanes, " and ", b.lanes(), " lanes");
  return make(prim, type, {std::move(a), std::move(b)});
}
Term even_lanes(Term a, Term b) {
  return paired(Prim::kEvenLanes, std::move(a), std::move(b));
}
Term odd_lanes(Term a, Term b) {
  return paired(Prim::kOddLanes, std::move(a), std::move(b));
}
Term zip_low(Term a, Term b) {
  return paired(Prim::kZipLow, std::move(a), std::move(b));
}
Term zip_high(Term a, Term b) {
  return paired(Prim::kZipHigh, std::move(a), std::move(b));
}

}  // namespace thtrain::kernel
