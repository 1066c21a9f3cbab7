#include "tests/support/rule_tester.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>

#include "compiler/ir/print.h"
#include "compiler/ir/verify.h"
#include "compiler/ops/bounded.h"
#include "compiler/ops/evaluate.h"
#include "compiler/passes/canonicalize.h"
#include "compiler/passes/merge.h"
#include "compiler/passes/stabilize.h"

namespace thtrain {
namespace {

Graph graph_of(const std::vector<Expr>& values) {
  Graph graph;
  for (const Expr& leaf : leaves_of(values))
    if (is_input(leaf)) graph.inputs.push_back(leaf);
  graph.outputs = values;
  return merge(graph, {});
}

// Bits, where any NaN equals any other.
std::string first_different(const Tensor& a, const Tensor& b) {
  for (int64_t i = 0; i < a.size(); ++i) {
    bool same = visit(a.dtype(), [&](auto zero) {
      using T = decltype(zero);
      const T x = a.contiguous().data<T>()[i], y = b.contiguous().data<T>()[i];
      return (x != x && y != y) || same_bits(Tensor(x), Tensor(y));
    });
    if (!same) return str("element ", i, ": ", a.as_double(i), " and ", b.as_double(i), " are not the same bits");
  }
  return {};
}

std::vector<const Rule*> with(const Rule* instead, std::vector<const Rule*> rules) {
  for (const Rule*& rule : rules)
    if (instead && rule->name == instead->name) rule = instead;
  return rules;
}

// canonicalize, then stabilize, with another rule instead of the one of its name.
Graph both_passes(const Graph& graph, const PassContext& context, const Rule* instead) {
  if (!instead) return stabilize(canonicalize(graph, context), context);
  const std::vector<const Rule*> canonical = with(instead, canonical_rules());
  Graph out = apply_rules(graph, canonical, context, "canonicalize");
  out = apply_rules(out, with(instead, stable_rules()), context, "stabilize", canonical);
  return apply_rules(out, with(instead, last_rules()), context, "stabilize");
}

// The value's form, and what is wrong with it: a second time must change nothing.
std::pair<Rewritten, std::string> stable_with(const Rule* instead, const Expr& value, Level level) {
  Rewritten out;
  const Graph graph = both_passes(graph_of({value}), {.level = level, .fired = &out.fired}, instead);
  verify(graph, "stabilize");
  out.value = graph.outputs[0];
  std::vector<Fired> more;
  const Graph again = both_passes(graph, {.level = level, .fired = &more}, instead);
  if (!more.empty()) return {out, str("not idempotent: ", more[0].rule, " on ", expr_text(more[0].before))};
  if (!again.outputs[0].same(out.value)) return {out, str("a second time changes ", expr_text(out.value))};
  return {out, ""};
}

}  // namespace

std::set<std::string> Rewritten::names() const {
  std::set<std::string> out;
  for (const Fired& f : fired) out.insert(f.rule);
  return out;
}

Rewritten rewritten_by(const Rule& rule, const Expr& value) {
  Rewritten out;
  PassContext context{.level = Level::kFast, .fired = &out.fired};
  const Rule* rules[] = {&rule};
  Graph graph = apply_rules(graph_of({value}), rules, context, "test");
  verify(graph, rule.name);
  out.value = graph.outputs[0];
  return out;
}

Rewritten canonical(const Expr& value, Level level) {
  Rewritten out;
  Graph graph = canonicalize(graph_of({value}), {.level = level, .fired = &out.fired});
  verify(graph, "canonicalize");
  out.value = graph.outputs[0];
  return out;
}

Rewritten stable(const Expr& value, Level level) {
  auto [out, complaint] = stable_with(nullptr, value, level);
  EXPECT_EQ(complaint, "") << expr_text(value, 400);
  return out;
}

std::vector<Expr> stable_all(const std::vector<Expr>& values, Level level) {
  return both_passes(graph_of(values), {.level = level}, nullptr).outputs;
}

const Leaves& leaves() {
  static const Leaves all = [] {
    auto input = [](const char* name, DType dtype, Dims dims) {
      return make_input({.dtype = dtype, .dims = std::move(dims)}, name);
    };
    return Leaves{input("x", DType::kFloat64, {7}), input("y", DType::kFloat64, {7}),
                  input("z", DType::kFloat64, {7}), input("m", DType::kFloat64, {3, 7}),
                  input("s", DType::kFloat64, {}),  input("i", DType::kInt64, {7}),
                  input("f", DType::kFloat32, {7}), input("b", DType::kBool, {7})};
  }();
  return all;
}

std::string broken_row(const RewriteRow& row, const Rule* instead) {
  const Expr before = row.before(leaves());
  auto [r, complaint] = stable_with(instead, before, row.level);
  if (!complaint.empty()) return complaint;
  if (!r.has(row.rule)) return str("what fired: ", join(r.names(), ", "), "; ", expr_text(r.value, 300));
  if (row.after) {
    const Graph both = both_passes(graph_of({before, row.after(leaves())}), {.level = row.level}, instead);
    if (!both.outputs[0].same(both.outputs[1]))
      return str(expr_text(both.outputs[0], 300), " is not ", expr_text(both.outputs[1], 300));
  }
  std::mt19937_64 random(7);
  for (const auto& [draw, values] :
       {std::pair(&plain_values, Values::kPlain), std::pair(&tied_values, Values::kHard)}) {
    Bindings inputs;
    for (const Expr& leaf : leaves_of(std::vector{before}))
      inputs.emplace_back(leaf, draw(leaf.dtype(), leaf.type().known_shape(), random, 0, 4));
    std::string broken = broken_promise(Safety::kRangeChanging, before, r.value, inputs, values);
    if (!broken.empty()) return broken;
  }
  return {};
}

std::string broken_row(const UnchangedRow& row, const Rule* instead) {
  auto [r, complaint] = stable_with(instead, row.value(leaves()), row.level);
  if (!complaint.empty()) return complaint;
  return row.rule.empty() ? join(r.names(), ", ") : r.has(row.rule) ? str(row.rule, " fired") : "";
}

void expect_rewrites(const std::vector<RewriteRow>& rows) {
  for (const RewriteRow& row : rows)
    EXPECT_EQ(broken_row(row), "") << row.rule << ": " << expr_text(row.before(leaves()), 300);
}

void expect_unchanged(const std::vector<UnchangedRow>& rows) {
  for (const UnchangedRow& row : rows)
    EXPECT_EQ(broken_row(row), "") << row.rule << ": " << expr_text(row.value(leaves()), 300);
}

void expect_one_form(const std::vector<std::function<Expr(const Leaves&)>>& spellings, Level level) {
  std::vector<Expr> values;
  for (const auto& spelling : spellings) values.push_back(spelling(leaves()));
  std::vector<Expr> out = stable_all(values, level);
  for (size_t i = 1; i < out.size(); ++i)
    EXPECT_TRUE(out[i].same(out[0])) << "spelling " << i << ": " << expr_text(out[i], 300) << " is not "
                                     << expr_text(out[0], 300);
}

Tensor hard_values(DType dtype, const Shape& shape, std::mt19937_64& random) {
  Tensor out = Tensor::empty(dtype, shape);
  visit(dtype, [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0; i < out.size(); ++i) {
      T& element = out.data<T>()[i];
      if constexpr (std::is_same_v<T, bool>) {
        element = random() % 2 == 0;
      } else if constexpr (std::is_integral_v<T>) {
        const T special[] = {0,
                             1,
                             2,
                             3,
                             static_cast<T>(-1),
                             std::numeric_limits<T>::min(),
                             std::numeric_limits<T>::max(),
                             static_cast<T>(100)};
        element = random() % 2 ? special[random() % std::size(special)] : static_cast<T>(random());
      } else if constexpr (std::is_floating_point_v<T>) {
        using Limits = std::numeric_limits<T>;
        const T special[] = {0,
                             1,
                             2,
                             T(0.5),
                             T(0.1),
                             Limits::infinity(),
                             Limits::quiet_NaN(),
                             Limits::max(),
                             Limits::min(),
                             Limits::denorm_min(),
                             Limits::epsilon(),
                             1 - Limits::epsilon(),
                             1 + Limits::epsilon(),
                             T(88.8),
                             T(709.8),
                             T(1000)};
        const T scales[] = {T(1e-8), T(0.1), 1, 1, 1, 10, 30, 100, 1000};
        std::normal_distribution<double> normal;
        element = random() % 3 ? static_cast<T>(normal(random)) * scales[random() % std::size(scales)]
                               : special[random() % std::size(special)];
        if (random() % 8 == 0) element = 0;  // so that zeros of both signs meet
        if (random() % 2) element = -element;
      } else {
        element = {static_cast<typename T::value_type>(static_cast<int>(random() % 9) - 4),
                   static_cast<typename T::value_type>(static_cast<int>(random() % 9) - 4)};
      }
    }
  });
  return out;
}

Tensor finite_values(const Tensor& hard) {
  Tensor out = hard.copy();
  visit(hard.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_floating_point_v<T>)
      for (int64_t i = 0; i < out.size(); ++i)
        if (T& element = out.data<T>()[i]; !std::isfinite(element)) element = std::signbit(element) ? T(-1e4) : T(1e4);
  });
  return out;
}

Tensor plain_values(DType dtype, const Shape& shape, std::mt19937_64& random, int64_t low, int64_t high) {
  if (!is_float(dtype) && !is_int(dtype)) return hard_values(dtype, shape, random);
  Tensor out = Tensor::empty(DType::kFloat64, shape);
  std::normal_distribution<double> normal;
  for (int64_t i = 0; i < out.size(); ++i)
    out.data<double>()[i] =
        is_float(dtype) ? normal(random) : static_cast<double>(low) + static_cast<double>(random() % (high - low));
  return out.cast(dtype);
}

Tensor tied_values(DType dtype, const Shape& shape, std::mt19937_64& random, int64_t low, int64_t high) {
  if (!is_float(dtype)) return plain_values(dtype, shape, random, low, high);
  constexpr double kFew[] = {-1, 0, 0.5, 1, 1.5};
  Tensor out = Tensor::empty(DType::kFloat64, shape);
  for (int64_t i = 0; i < out.size(); ++i) out.data<double>()[i] = kFew[random() % std::size(kFew)];
  return out.cast(dtype);
}

// Complex numbers: close, where they are finite.
static std::string first_apart(const Tensor& a, const Tensor& b) {
  Tensor x = a.cast(DType::kComplex128).contiguous(), y = b.cast(DType::kComplex128).contiguous();
  for (int64_t i = 0; i < x.size(); ++i) {
    std::complex<double> p = x.data<std::complex<double>>()[i], q = y.data<std::complex<double>>()[i];
    if (std::isfinite(std::abs(p)) && !(std::abs(p - q) <= 1e-5 * std::abs(p))) return str("element ", i, " differs");
  }
  return {};
}

std::string broken_promise(Safety safety, const Expr& before, const Expr& after, const Bindings& inputs,
                           Values values) {
  if (!(before.type() == after.type()))
    return str("the types are ", before.type().text(), " and ", after.type().text());
  std::string difference;
  if (is_float(before.dtype()) && safety != Safety::kExact) {
    const bool range = safety == Safety::kRangeChanging;
    const Infinities infinities = range ? Infinities::kKnown : Infinities::kUnknown;
    difference = beyond_bounds(evaluate_bounded(after, inputs, infinities),
                               evaluate_bounded(before, inputs, infinities), range || values == Values::kPlain)
                     .value_or("");
  } else {
    Tensor x = evaluate({before}, inputs)[0], y = evaluate({after}, inputs)[0];
    difference = safety != Safety::kExact && is_complex(before.dtype()) ? first_apart(x, y) : first_different(x, y);
  }
  if (difference.empty()) return {};
  return str(difference, "\n  before: ", expr_text(before, 300), "\n  after:  ", expr_text(after, 300));
}

std::string lost_nan(const Expr& before, const Expr& after, const Bindings& inputs) {
  if (!is_float(before.dtype())) return {};
  Tensor x = evaluate({before}, inputs)[0], y = evaluate({after}, inputs)[0];
  for (int64_t i = 0; i < x.size(); ++i)
    if (std::isnan(x.as_double(i)) && !std::isnan(y.as_double(i)))
      return str("element ", i, " is no NaN but ", y.as_double(i), "\n  before: ", expr_text(before, 300),
                 "\n  after:  ", expr_text(after, 300));
  return {};
}

}  // namespace thtrain
