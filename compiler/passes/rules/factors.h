// Sums as lists of terms and products as lists of factors, for rules that look at more than two of them.
#pragma once

#include <vector>

#include "compiler/passes/rules.h"

namespace thtrain {

/// One term of a sum: sign * number * base, or sign * number alone. Numbers are scalar constants of the sum's dtype.
struct Term {
  bool negative = false;
  Expr number = {};  // empty: 1
  Expr base = {};    // empty: the term is a number
};

/// The terms of a value, through sums, differences and signs of its type that nobody else reads (without a context:
/// also those that are read elsewhere). Of a long sum the first kMaxTerms or so, and what is left as one term: so that
/// a chain of n sums costs n steps, not n * n.
std::vector<Term> terms_of(const Expr& value, const RuleContext* context);
/// The sum in order: what is added, what is subtracted, the number.
Expr sum_of(const std::vector<Term>& terms, DType dtype);
Expr value_of(const Term& term);

/// A base that divides `below` times and multiplies `above` times.
struct Factor {
  Expr base;
  int above = 0, below = 0;
};

struct Product {
  bool negative = false;
  std::vector<Expr> numbers_above = {}, numbers_below = {};  // scalar constants of the product's dtype
  std::vector<Factor> factors = {};                          // each base once

  Factor* find(const Expr& base);
  void multiply(const Expr& base, int above, int below);
  void multiply(const Product& other);
  /// Multiplications and divisions that value() makes.
  size_t operations() const;
  /// number * a * b / (c * d)
  Expr value(DType dtype) const;
};

/// The factors of a value, through products, quotients, squares and signs of its type that nobody else reads (without a
/// context: also those that are read elsewhere); of integers through products and signs. Limited as terms_of() is.
Product factors_of(const Expr& value, const RuleContext* context);

/// The value of an expression over constants: a constant.
Expr folded(const Expr& numbers);

/// Does `value`, or what a few steps of arithmetic make it from, still occur in one of `kept`? Then a NaN in it is not
/// lost where the value itself is cancelled.
bool is_covered(const Expr& value, const std::vector<Expr>& kept);

/// exp(x) + exp(y) + ..., of one dtype throughout; exp(x) alone is none.
bool is_sum_of_exponentials(const Expr& value);

inline constexpr size_t kMaxTerms = 16;

}  // namespace thtrain
