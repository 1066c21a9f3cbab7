// What a random step function computes.
#include "tests/fuzz/random_scan.h"

namespace thtrain {
namespace {

// A value of another rank made of x.
Expr fit(const Expr& x, size_t rank) {
  if (x.rank() == rank) return x;
  if (rank == 0) return 0.2 * sum(x);
  if (rank == 1) return x.rank() == 0 ? broadcast_to(x, {3}) : 0.5 * sum(x, 0);
  return x.rank() == 0 ? broadcast_to(x, {2, 3}) : broadcast_to(expand_dims(x, {0}), {2, 3});
}

Expr term_of(const RandomStep::Term& term, const std::vector<Expr>& given, size_t rank) {
  const Expr x = fit(given[term.argument], rank);
  switch (term.form) {
    case 0:
      return term.factor * x;
    case 1:
      return term.factor * sin(x);
    case 2:
      return term.factor * x * fit(given[term.other], rank);
    case 3:
      return tanh(x + term.factor * fit(given[term.other], rank));
    case 4:  // a product, with a matrix [3, 3] of the other argument
      if (rank == 0) return term.factor * sqr(x);
      return term.factor * dot(x, broadcast_to(expand_dims(fit(given[term.other], 1), {0}), {3, 3}));
    case 5:
      return rank == 0 ? cos(x) * term.factor : term.factor * subtensor(x, {Slice{.step = -1}});
    default:
      return switch_(gt(x, 0.1), sigmoid(x), term.factor * fit(given[term.other], rank));
  }
}

// Loops inside: `x` is where they begin, `c` the same in all steps.
constexpr int64_t kInnerSteps = 3;
Expr inner_step(const Expr& s, const Expr& c) {
  return tanh(0.8 * s + 0.3 * c);
}

Expr inner_loop(RandomStep::Inner inner, const Expr& x, const Expr& c, bool unrolled) {
  using Inner = RandomStep::Inner;
  const bool by_rows = inner == Inner::kRows && x.rank() > 0;
  if (inner == Inner::kNone) return x;
  if (inner == Inner::kUntil) {
    auto done = [](const Expr& s) { return gt(sum(s), 0.4); };
    if (!unrolled)
      return reduce(
                 [&](Expr s) {
                   const Expr next = inner_step(s, c);
                   return std::pair(next, until(done(next)));
                 },
                 {.outputs_info = {x}, .n_steps = kInnerSteps})
          .outputs;
    Expr s = x, runs;
    for (int64_t t = 0; t < kInnerSteps; ++t) {
      const Expr next = inner_step(s, c);
      s = t == 0 ? next : switch_(runs, next, s);
      runs = t == 0 ? logical_not(done(next)) : logical_and(runs, logical_not(done(next)));
    }
    return s;
  }
  if (by_rows) {
    const Expr first = zeros_like(x[0]), row_c = fit(c, x.rank() - 1);
    auto step = [](const Expr& row, const Expr& s, const Expr& c) { return sin(row + 0.5 * s * c); };
    if (!unrolled)
      return scan([&](Expr row, Expr s, Expr c) { return step(row, s, c); },
                  {.sequences = {x}, .outputs_info = {first}, .non_sequences = {row_c}})
          .outputs;
    std::vector<Operand> rows;
    Expr s = first;
    for (int64_t t = 0; t < (x.rank() == 1 ? 3 : 2); ++t) rows.push_back(s = step(x[t], s, row_c));
    return stack(rows);
  }
  if (inner == Inner::kTaps) {
    auto step = [](const Expr& before, const Expr& last) { return 0.5 * sin(before) + 0.4 * last; };
    const Expr second = inner_step(x, c);
    if (!unrolled)
      return sum(scan([&](Expr before, Expr last) { return step(before, last); },
                      {.outputs_info = {{stack({x, second}), {-2, -1}}}, .n_steps = kInnerSteps})
                     .outputs,
                 0);
    std::vector<Expr> all = {x, second};
    Expr out;
    for (int64_t t = 0; t < kInnerSteps; ++t) {
      all.push_back(step(all[all.size() - 2], all.back()));
      out = out.has_value() ? out + all.back() : all.back();
    }
    return out;
  }
  if (!unrolled)
    return scan([&](Expr s) { return inner_step(s, c); }, {.outputs_info = {x}, .n_steps = kInnerSteps}).outputs[-1];
  Expr s = x;
  for (int64_t t = 0; t < kInnerSteps; ++t) s = inner_step(s, c);
  return s;
}

Expr value_of(const RandomStep::Value& value, const std::vector<Expr>& given, bool unrolled) {
  Expr total;
  for (const RandomStep::Term& term : value.terms) {
    const Expr one = term_of(term, given, value.rank);
    total = total.has_value() ? total + one : one;
  }
  Expr out = tanh(total);
  if (value.inner != RandomStep::Inner::kNone)
    out = inner_loop(value.inner, out, fit(given[value.terms[0].other], value.rank), unrolled);
  if (value.mask) out = switch_(gt(given[*value.mask], 0.5), out, given[value.before]);
  return out;
}

}  // namespace

RandomStep::Result RandomStep::operator()(const std::vector<Expr>& arguments, bool unrolled) const {
  Result out;
  for (const Value& value : outputs) out.outputs.push_back(value_of(value, arguments, unrolled));
  for (const Value& value : shared) out.shared.push_back(value_of(value, arguments, unrolled));
  if (until) out.done = gt(sum(value_of(*until, arguments, unrolled)), threshold);
  return out;
}

}  // namespace thtrain
