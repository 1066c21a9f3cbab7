#include "tests/fuzz/smooth_body.h"

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/api.h"
#include "compiler/base/str.h"
#include "tests/fuzz/smooth_functions.h"

namespace thtrain {
namespace {

using Below = std::function<size_t(size_t)>;
using Build = std::function<Expr(const SmoothPoint&, bool)>;

SmoothBody smooth_leaf(const Below& below) {
  if (below(3) == 0) return {"c", [](const SmoothPoint& at, bool) { return at.c; }};
  return {"s", [](const SmoothPoint& at, bool) { return at.s; }};
}

// One of the functions that has all derivatives.
const NamedFunction& smooth_function(const Below& below) {
  static const std::vector<const NamedFunction*> smooth = [] {
    std::vector<const NamedFunction*> out;
    for (const NamedFunction& f : smooth_functions()) {
      const std::string_view text = f.text;
      if (text.find("abs") == text.npos && text.find("maximum") == text.npos && text.find("clip") == text.npos)
        out.push_back(&f);
    }
    return out;
  }();
  return *smooth[below(smooth.size())];
}

// A product or a reduction of two vectors and the matrix.
SmoothBody combined(const Below& below, const SmoothBody& x, const SmoothBody& y) {
  struct Form {
    const char* text;
    Expr (*make)(const Expr& a, const Expr& b, const Expr& w);
  };
  static const Form forms[] = {
      {"a w", [](const Expr& a, const Expr&, const Expr& w) { return dot(a, w); }},
      {"w a + b", [](const Expr& a, const Expr& b, const Expr& w) { return dot(w, a) + b; }},
      {"a (a w b)", [](const Expr& a, const Expr& b, const Expr& w) { return a * dot(dot(a, w), b); }},
      {"(a b^T + w) b", [](const Expr& a, const Expr& b, const Expr& w) { return dot(outer(a, b) + w, b); }},
      {"w [a] as a column",
       [](const Expr& a, const Expr& b, const Expr& w) { return flatten(dot(w, expand_dims(a, {1}))) * b; }},
      {"rows of w", [](const Expr& a, const Expr& b, const Expr& w) { return sum(w * a, 1) - b; }},
      {"w w a", [](const Expr& a, const Expr&, const Expr& w) { return dot(dot(w, transpose(w)), a); }},
      {"a |b|^2", [](const Expr& a, const Expr& b, const Expr&) { return a * sum(sqr(b)); }},
      {"a - mean(b)", [](const Expr& a, const Expr& b, const Expr&) { return a - mean(b); }},
      {"softmax(a) b", [](const Expr& a, const Expr& b, const Expr&) { return softmax(a) * b; }},
      {"cumsum(a) + b", [](const Expr& a, const Expr& b, const Expr&) { return cumsum(a) + b; }},
      {"a reversed b", [](const Expr& a, const Expr& b, const Expr&) { return a[Slice{.step = -1}] * b; }},
      {"a / (1 + b^2)", [](const Expr& a, const Expr& b, const Expr&) { return a / (1 + sqr(b)); }},
  };
  const Form& form = forms[below(std::size(forms))];
  return {str("[", form.text, "; a = ", x.text, ", b = ", y.text, "]"),
          [=, &form](const SmoothPoint& at, bool inlined) {
            return form.make(x.build(at, inlined), y.build(at, inlined), at.w);
          }};
}

// `in_body`: what is drawn is part of a body, which cannot have a scan with a condition: its length is the data's.
SmoothBody random_formula(const Below& below, size_t depth, bool in_body);

// The next value of a state: bounded, so that no loop grows.
SmoothBody next_value(const Below& below, size_t depth) {
  const SmoothBody x = random_formula(below, depth, true);
  if (below(2) == 0)
    return {str("tanh(", x.text, ")"), [=](const SmoothPoint& at, bool inlined) { return tanh(x.build(at, inlined)); }};
  return {str("sin(", x.text, ")"), [=](const SmoothPoint& at, bool inlined) { return sin(x.build(at, inlined)); }};
}

// An op made of the formula, of whose inputs c and w are arguments or captured; its gradient may be given.
SmoothBody smooth_call(const Below& below, size_t depth) {
  using Values = std::vector<Expr>;
  const SmoothBody x = smooth_leaf(below), body = next_value(below, depth), other = random_formula(below, 0, true);
  const bool captures = below(2) == 0, reads_both = below(2) == 0, is_given = below(3) == 0;
  const std::string text = str("call(s = ", x.text, captures ? "" : ", c, w", "; ", body.text,
                               reads_both ? ", " + other.text : "", is_given ? "; its gradient" : "", ")");
  return {text, [=](const SmoothPoint& at, bool inlined) {
            auto results = [&](const Values& in) {
              const SmoothPoint inner = captures ? SmoothPoint{in[0], at.c, at.w} : SmoothPoint{in[0], in[1], in[2]};
              return Values{body.build(inner, inlined), other.build(inner, inlined)};
            };
            const GraphGradient derived = [&](const Values& in, const Values&, const Values& cotangents) {
              return vjp(results(in), in, cotangents, {.disconnected = Disconnected::kZero});
            };
            Values arguments{x.build(at, inlined)};
            if (!captures) arguments.insert(arguments.end(), {at.c, at.w});
            const Values made = inlined    ? results(arguments)
                                : is_given ? OpFromGraph(results, derived)(arguments)
                                           : OpFromGraph(results)(arguments);
            return reads_both ? made[0] + made[1] : made[0];
          }};
}

SmoothBody smooth_branch(const Below& below, size_t depth) {
  const SmoothBody decides = smooth_leaf(below), then = random_formula(below, depth, true),
                   otherwise = random_formula(below, depth, true);
  const double limit = static_cast<double>(below(5)) / 2 - 1.1;
  return {str("if sum(", decides.text, ") > ", limit, " {", then.text, "} else {", otherwise.text, "}"),
          [=](const SmoothPoint& at, bool inlined) {
            const Expr condition = gt(sum(decides.build(at, inlined)), limit);
            if (inlined) return switch_(condition, then.build(at, true), otherwise.build(at, true));
            return if_else(
                condition, [&] { return then.build(at, false); }, [&] { return otherwise.build(at, false); });
          }};
}

// Loops of two states: `next` of the first, which begins as `first`, and half of it added to the second.
struct SmoothLoop {
  SmoothBody first, next;
  int64_t steps = 0;
  std::optional<double> limit = {};  // ends when the sum of the first state is above it
  bool walks = false;                // each step takes a row of w instead of c
  bool gives_all = false;            // what is summed over the steps is the result; else what is left after the last
  size_t kind = 0;

  using Values = std::vector<Expr>;
  Values step(const SmoothPoint& at, const Expr& a, const Expr& b, const Expr& row, bool inlined) const {
    const Expr value = next.build({a, walks ? row : at.c, at.w}, inlined);
    return {value, b + 0.5 * value * a};
  }

  Expr unrolled(const SmoothPoint& at) const {
    Expr a = first.build(at, true), b = at.s, done, all = zeros({3}, DType::kFloat64);
    for (int64_t t = 0; t < steps; ++t) {
      const Values made = step(at, a, b, walks ? at.w[t] : at.c, true);
      auto kept = [&](const Expr& before, const Expr& after) {
        return done.has_value() ? switch_(done, before, after) : after;
      };
      all = kept(all, all + made[1]);
      a = kept(a, made[0]);
      b = kept(b, made[1]);
      if (limit) done = gt(sum(a), *limit);
    }
    return gives_all ? all : a + b;
  }

  Expr looped(const SmoothPoint& at) const {
    const Expr begin = first.build(at, false);
    ScanOptions options{.outputs_info = {begin, at.s}, .name = "smooth"};
    if (walks)
      options.sequences = {at.w[Slice{.stop = steps}]};
    else
      options.n_steps = steps;
    auto given = [&](const Values& v) { return step(at, v[walks], v[walks + 1], walks ? v[0] : at.c, false); };
    auto given_until = [&](const Values& v) {
      const Values made = given(v);
      return std::pair(made, until(gt(sum(made[0]), *limit)));
    };
    if (gives_all) return sum((limit ? scan(given_until, options) : scan(given, options)).outputs[1], 0);
    Values last;
    if (kind == 0)
      last = (limit ? reduce(given_until, options) : reduce(given, options)).outputs;
    else if (kind == 1 && !limit)
      last = checkpointed_scan(given, options, 2).outputs;
    else if (kind == 2 && !walks)
      last = repeat_loop(at, begin);
    else
      for (const Expr& values : (limit ? scan(given_until, options) : scan(given, options)).outputs)
        last.push_back(values[-1]);
    return last[0] + last[1];
  }

 private:
  Values repeat_loop(const SmoothPoint& at, const Expr& begin) const {
    auto given = [&](const Values& v) { return step(at, v[0], v[1], at.c, false); };
    if (!limit) return repeat(steps, {begin, at.s}, given);
    return repeat_until(steps, {begin, at.s},
                        [&](const Values& v) {
                          const Values made = given(v);
                          return Iteration{made, gt(sum(made[0]), *limit)};
                        })
        .state;
  }
};

SmoothBody smooth_loop(const Below& below, size_t depth, bool in_body) {
  SmoothLoop out{.first = smooth_leaf(below), .next = next_value(below, depth)};
  out.steps = 1 + static_cast<int64_t>(below(3));
  if (below(2) == 0) out.limit = static_cast<double>(below(5)) / 2 - 0.9;
  out.walks = below(3) == 0;
  const bool may_scan = !in_body || !out.limit;
  out.gives_all = may_scan && below(3) == 0;
  out.kind = may_scan ? below(4) : 0;
  if (!may_scan && !out.walks && below(2) == 0) out.kind = 2;
  const std::string text = str("loop ", out.gives_all ? "sum" : "last", " kind ", out.kind, " steps ", out.steps,
                               out.walks ? " over rows" : "", out.limit ? str(" until ", *out.limit) : "",
                               " (s = ", out.first.text, "; ", out.next.text, ")");
  return {text, [out](const SmoothPoint& at, bool inlined) { return inlined ? out.unrolled(at) : out.looped(at); }};
}

SmoothBody random_formula(const Below& below, size_t depth, bool in_body) {
  if (depth == 0) {
    const SmoothBody x = smooth_leaf(below);
    if (below(4) == 0) return x;
    if (below(2) == 0) return combined(below, x, smooth_leaf(below));
    const NamedFunction& f = smooth_function(below);
    return {str(f.text, " of ", x.text),
            [x, &f](const SmoothPoint& at, bool inlined) { return f.make(x.build(at, inlined)); }};
  }
  switch (below(6)) {
    case 0:
      return smooth_call(below, depth - 1);
    case 1:
      return smooth_branch(below, depth - 1);
    case 2: {
      const SmoothBody x = random_formula(below, depth - 1, in_body);
      return combined(below, x, smooth_leaf(below));
    }
    default:
      return smooth_loop(below, depth - 1, in_body);
  }
}

}  // namespace

SmoothBody random_smooth_body(const std::function<size_t(size_t)>& below, size_t depth) {
  return random_formula(below, depth, false);
}

}  // namespace thtrain
