#include "compiler/passes/rules/factors.h"

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/elemwise/scalar_table.h"
#include "compiler/ops/evaluate.h"

namespace thtrain {
namespace {

// The number as a scalar constant of this dtype.
Expr number_as(const Expr& value, DType dtype) {
  if (is_constant(value) && value.rank() == 0 && value.dtype() == dtype) return value;
  const Tensor* number = number_in(value);
  return number ? make_constant(number->reshape({}).cast(dtype)) : Expr();
}

// Walks the values of one type that only the walked value reads.
class Collector {
 public:
  Collector(const Expr& root, const RuleContext* context) : root_(root), context_(context) {}

 protected:
  bool is_inside(const Expr& e) const {
    return e.same(root_) || (e.type() == root_.type() && (!context_ || context_->has_one_use(e)));
  }

  const Expr& root_;
  const RuleContext* context_;
};

class TermCollector : Collector {
 public:
  using Collector::Collector;
  std::vector<Term> terms;

  void collect(const Expr& e, bool negative, size_t depth = 0) {
    const bool subtracts = is_op(e, sub_op());
    if (!is_inside(e) || depth + terms.size() >= kMaxTerms) {
      terms.push_back(term(e, negative));
    } else if (is_op(e, neg_op())) {
      collect(input_of(e, 0), !negative, depth + 1);
    } else if (subtracts || is_op(e, add_op())) {
      collect(input_of(e, 0), negative, depth + 1);
      collect(input_of(e, 1), negative != subtracts, depth + 1);
    } else {
      terms.push_back(term(e, negative));
    }
  }

 private:
  Term term(const Expr& e, bool negative) const {
    const DType dtype = root_.dtype();
    if (Expr number = number_as(e, dtype); number.has_value()) return {negative, number, {}};
    if (is_op(e, mul_op()) && e.dtype() == dtype)
      for (size_t i : {0, 1})
        if (input_of(e, 1 - i).type() == e.type())
          if (Expr number = number_as(input_of(e, i), dtype); number.has_value())
            return {negative, number, input_of(e, 1 - i)};
    return {negative, {}, cast(e, dtype)};
  }
};

class FactorCollector : Collector {
 public:
  using Collector::Collector;
  Product product;

  void collect(const Expr& e, bool below, int power, size_t depth = 0) {
    const bool divides = is_op(e, true_div_op()) && is_float(e.dtype());
    if (!is_inside(e) || depth + product.factors.size() >= kMaxTerms) {
      take(e, below, power);
    } else if (is_op(e, neg_op())) {
      product.negative ^= power % 2 == 1;
      collect(input_of(e, 0), below, power, depth + 1);
    } else if (divides || is_op(e, mul_op())) {
      collect(input_of(e, 0), below, power, depth + 1);
      collect(input_of(e, 1), below != divides, power, depth + 1);
    } else if (is_op(e, sqr_op()) && power <= 4) {
      collect(input_of(e, 0), below, 2 * power, depth + 1);
    } else {
      take(e, below, power);
    }
  }

 private:
  void take(const Expr& e, bool below, int power) {
    if (Expr number = number_as(e, root_.dtype()); number.has_value()) {
      std::vector<Expr>& numbers = below ? product.numbers_below : product.numbers_above;
      numbers.insert(numbers.end(), static_cast<size_t>(power), number);
    } else {
      product.multiply(cast(e, root_.dtype()), below ? 0 : power, below ? power : 0);
    }
  }
};

Expr power_of(const Expr& base, int n) {
  if (n == 1) return base;
  Expr half = power_of(base, n / 2);
  return n % 2 == 0 ? sqr(half) : sqr(half) * base;
}

Expr product_of(const std::vector<Expr>& values) {
  Expr out;
  for (const Expr& value : values) out = out.has_value() ? out * value : value;
  return out;
}

Expr one(DType dtype) {
  return make_constant(Tensor(1.0).cast(dtype));
}

// Does `from` compute with `target`, a few steps away? Integers and bools carry no NaN.
bool reaches(const Expr& from, const Expr& target, int steps) {
  if (from.same(target)) return true;
  if (steps == 0 || !is_float(from.dtype())) return false;
  for (const Expr& input : from.node().inputs)
    if (reaches(input, target, steps - 1)) return true;
  return false;
}

bool is_covered(const Expr& value, const std::vector<Expr>& kept, int steps) {
  if (number_in(value)) return true;
  for (const Expr& k : kept)
    if (reaches(k, value, 4)) return true;
  if (steps == 0 || value.node().inputs.empty() || !value.node().op->scalar) return false;
  for (const Expr& input : value.node().inputs)
    if (!is_covered(input, kept, steps - 1)) return false;
  return true;
}

}  // namespace

std::vector<Term> terms_of(const Expr& value, const RuleContext* context) {
  TermCollector collector(value, context);
  collector.collect(value, false);
  return std::move(collector.terms);
}

Expr value_of(const Term& term) {
  if (!term.base.has_value()) return term.number;
  return term.number.has_value() ? term.number * term.base : term.base;
}

Expr sum_of(const std::vector<Term>& terms, DType dtype) {
  Expr plus, minus, out;
  std::vector<Expr> negatives, numbers;
  for (const Term& term : terms) {
    Expr value = value_of(term);
    if (!term.base.has_value())
      numbers.push_back(term.negative ? -value : value);
    else if (term.negative)
      negatives.push_back(value);
    else
      out = out.has_value() ? out + value : value;
  }
  for (size_t i = 0; i < numbers.size(); ++i) plus = plus.has_value() ? plus + numbers[i] : numbers[i];
  const bool starts_with_number = !out.has_value() && plus.has_value();
  if (starts_with_number) out = plus;
  for (const Expr& value : negatives)
    if (out.has_value())
      out = out - value;
    else
      minus = minus.has_value() ? minus + value : value;
  if (minus.has_value()) out = -minus;
  if (plus.has_value() && !starts_with_number) out = out + plus;
  return out.has_value() ? out : make_constant(Tensor(0.0).cast(dtype));
}

Product factors_of(const Expr& value, const RuleContext* context) {
  FactorCollector collector(value, context);
  collector.collect(value, false, 1);
  return std::move(collector.product);
}

Factor* Product::find(const Expr& base) {
  for (Factor& factor : factors)
    if (factor.base.same(base)) return &factor;
  return nullptr;
}

void Product::multiply(const Expr& base, int above, int below) {
  Factor* factor = find(base);
  if (!factor) factor = &factors.emplace_back(Factor{base});
  factor->above += above;
  factor->below += below;
}

void Product::multiply(const Product& other) {
  negative ^= other.negative;
  numbers_above.insert(numbers_above.end(), other.numbers_above.begin(), other.numbers_above.end());
  numbers_below.insert(numbers_below.end(), other.numbers_below.begin(), other.numbers_below.end());
  for (const Factor& factor : other.factors) multiply(factor.base, factor.above, factor.below);
}

size_t Product::operations() const {
  size_t count = numbers_above.size() + numbers_below.size();
  for (const Factor& factor : factors) count += static_cast<size_t>(factor.above + factor.below);
  return count == 0 ? 0 : count - 1;
}

Expr Product::value(DType dtype) const {
  std::vector<Expr> above = numbers_above, below = numbers_below;
  for (const Factor& factor : factors) {
    if (factor.above) above.push_back(power_of(factor.base, factor.above));
    if (factor.below) below.push_back(power_of(factor.base, factor.below));
  }
  Expr out = above.empty() ? one(dtype) : product_of(above);
  if (!below.empty()) out = out / product_of(below);
  return negative ? -out : out;
}

Expr folded(const Expr& numbers) {
  return make_constant(evaluate({numbers}, {})[0]);
}

bool is_covered(const Expr& value, const std::vector<Expr>& kept) {
  return is_covered(value, kept, 3);
}

}  // namespace thtrain
