// Terms of the loop language between ops and text: typed scalars and vectors. docs/decisions/0004.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler/ir/dtype.h"

namespace thtrain::kernel {

/// The type of a term: one element, or a fixed-width vector of them. A vector of bools is a mask: each lane is all ones
/// or all zeros in an integer of `mask_bytes`, the size of the elements whose comparison made it.
struct TermType {
  DType dtype = DType::kInt64;
  int lanes = 1;
  int mask_bytes = 0;

  bool is_vector() const { return lanes > 1; }
  friend bool operator==(const TermType&, const TermType&) = default;
};

enum class Prim : uint8_t {
  kConstant,
  kVariable,
  kAdd,
  kSub,
  kMul,
  kDiv,
  kRemainder,
  kNegate,  // kDiv and kRemainder of integers truncate as C does
  kBitAnd,
  kBitOr,
  kBitXor,
  kBitNot,
  kShiftLeft,
  kShiftRight,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kEqual,
  kNotEqual,
  kAnd,
  kOr,
  kNot,  // of bools
  kSelect,
  kCast,
  kBitCast,     // the same bits as another dtype of that size
  kInRegister,  // the same vector, which no reader loads again
  kSqrt,
  kFabs,
  kFloor,
  kCeil,
  kRint,
  kTrunc,
  kFma,  // one instruction each, correctly rounded
  kCopySign,
  kScale,   // few instructions, correctly rounded
  kMath,    // a function of the target's table, by name
  kLoad,    // buffer[index], lanes of them `stride` apart
  kGather,  // buffer[index], for a vector of indices
  kSplat,
  kIota,         // x in all lanes; 0, 1, 2, ...
  kReduceLanes,  // by name: add, mul, max, min, and, or
  kInterleaveEven,
  kInterleaveOdd,  // blocks of two vectors in turn; `integer` lanes each
  kEvenLanes,
  kOddLanes,
  kZipLow,
  kZipHigh,    // pairs side by side, to two vectors and back
  kIsAligned,  // may a device load `integer` bytes from buffer[index] on at once?
};

struct TermNode;
/// A handle on an immutable term.
class Term {
 public:
  Term() = default;
  explicit Term(std::shared_ptr<const TermNode> node) : node_(std::move(node)) {}
  Term(int64_t value);  // int64 constant
  Term(int value) : Term(static_cast<int64_t>(value)) {}

  explicit operator bool() const { return node_ != nullptr; }
  const TermNode& node() const { return *node_; }
  const TermType& type() const;
  DType dtype() const { return type().dtype; }
  int lanes() const { return type().lanes; }

 private:
  std::shared_ptr<const TermNode> node_;
};

struct TermNode {
  Prim prim;
  TermType type;
  std::vector<Term> args;
  std::string name;     // of a variable, function, buffer or reduction
  double number = 0;    // of a floating constant
  int64_t integer = 0;  // of an integer or bool constant; width of blocks
  // kLoad: args are index, stride (int64; constant 1 reads lanes side by side) and, for a padded tail, the count of
  // lanes that exist; the others are 1. kGather: indices (int64) and, for a padded tail, the count.
};

inline const TermType& Term::type() const {
  return node_->type;
}

/// A constant of that dtype; the number is converted exactly as C++ converts.
Term constant(DType dtype, double number);
Term constant_int(DType dtype, int64_t integer);
Term variable(std::string name, TermType type);
bool is_constant(const Term& term, int64_t integer);

// Operands of one type; a scalar with a vector is splat. Constants of int64 with floats take their dtype.
Term operator+(Term a, Term b);
Term operator-(Term a, Term b);
Term operator*(Term a, Term b);
Term operator/(Term a, Term b);
Term operator%(Term a, Term b);
Term operator-(Term a);
Term operator&(Term a, Term b);
Term operator|(Term a, Term b);
Term operator^(Term a, Term b);
Term operator~(Term a);
/// By that many bits, at least 0 and less than the dtype has; to the right a signed number keeps its sign.
Term shift_left(Term a, Term bits);
Term shift_right(Term a, Term bits);
Term operator<(Term a, Term b);
Term operator<=(Term a, Term b);
Term operator>(Term a, Term b);
Term operator>=(Term a, Term b);
Term operator==(Term a, Term b);
Term operator!=(Term a, Term b);
Term operator&&(Term a, Term b);
Term operator||(Term a, Term b);
Term operator!(Term a);
Term select(Term condition, Term yes, Term no);
/// The greater or the lesser of two numbers, `a` where they are equal; NaN where either is.
Term extremum(bool is_max, const Term& a, const Term& b);
Term cast(Term a, DType dtype);
/// The bits of numbers (no bools) as another dtype of the same size.
Term bit_cast(Term a, DType dtype);
/// The same vector in a register, which a compiler may not load again in the instruction of each reader; the same
/// int64, of which a compiler does not know that another index was as large, and what was loaded there.
Term in_register(Term vector);
Term unary(Prim prim, Term a);
inline Term sqrt(Term a) {
  return unary(Prim::kSqrt, a);
}
inline Term fabs(Term a) {
  return unary(Prim::kFabs, a);
}
inline Term floor(Term a) {
  return unary(Prim::kFloor, a);
}
inline Term ceil(Term a) {
  return unary(Prim::kCeil, a);
}
inline Term rint(Term a) {
  return unary(Prim::kRint, a);
}
inline Term trunc(Term a) {
  return unary(Prim::kTrunc, a);
}
Term fma(Term a, Term b, Term c);  // a * b + c, rounded once
Term copy_sign(Term size, Term sign);
/// x times 2 to a whole `power` between -2 and 2 times the largest exponent of the dtype, rounded once. NaN stays NaN.
Term scale(Term x, Term power);
/// exp, log, tanh, pow, ... of floats, by the name in the target's table.
Term math(std::string function, std::vector<Term> args);
Term splat(Term a, int lanes);
Term iota(DType dtype, int lanes);
Term reduce_lanes(std::string operation, Term vector);
/// Interleaves two vectors in blocks of `width` lanes: the even blocks of both in turn, a0 b0 a2 b2 ...
Term interleave_even(Term a, Term b, int width);
/// The odd blocks: a1 b1 a3 b3 ...
Term interleave_odd(Term a, Term b, int width);
/// Of two vectors that lie side by side the even lanes, a0 a2 ... b0 b2 ..., and the odd ones.
Term even_lanes(Term a, Term b);
Term odd_lanes(Term a, Term b);
/// Two vectors in turn, a0 b0 a1 b1 ...: the first half of that, and the second. The way back from even and odd lanes.
Term zip_low(Term a, Term b);
Term zip_high(Term a, Term b);

}  // namespace thtrain::kernel
