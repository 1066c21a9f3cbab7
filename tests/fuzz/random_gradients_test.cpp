// Gradients of gradients of random typed programs: the same in reference mode, in debug mode and in native code, and
// where the program is smooth those that differences of the cost, and of a function of its gradients, tell.
// THTRAIN_FUZZ_SEED and THTRAIN_FUZZ_CASES make a longer run of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "compiler/api.h"
#include "compiler/ops/evaluate.h"
#include "tests/fuzz/judged_programs.h"

namespace thtrain::random_gradients_test {
namespace {

// A plan of float64 leaves where they were float32, whose outputs are a cost, a function of the cost's gradients, the
// gradients, and those of that function.
struct TwicePlan {
  ProgramPlan plan;
  std::vector<size_t> leaves;  // of the derivatives
};

std::optional<TwicePlan> differentiated_twice(const ProgramPlan& given) {
  TwicePlan out{.plan = with_inputs_alone(given), .leaves = {}};
  ProgramPlan& plan = out.plan;
  for (size_t i = 0; i < plan.leaves.size(); ++i) {
    DType& dtype = plan.leaves[i].type.dtype;
    if (dtype == DType::kFloat32) dtype = DType::kFloat64;
    plan.calls[0][i] = plan.calls[0][i].cast(dtype);
    if (is_float(dtype)) out.leaves.push_back(i);
  }
  const BuiltProgram built = build(plan);
  size_t of = 0;
  for (size_t index : plan.outputs)
    if (built.values[index].dtype() == DType::kFloat64) of = index + 1;
  if (of == 0 || out.leaves.empty()) return std::nullopt;
  const auto add = [&](std::string text, std::vector<size_t> arguments,
                       std::function<Expr(const std::vector<Expr>&)> make) {
    plan.statements.push_back({std::move(text), std::move(arguments), std::move(make)});
    return plan.leaves.size() + plan.statements.size() - 1;
  };
  const auto gradients = [&](size_t cost) {
    std::vector<size_t> all;
    for (size_t leaf : out.leaves)
      all.push_back(
          add("grad($0, $1, {.disconnected = Disconnected::kZero})", {cost, leaf},
              [](const std::vector<Expr>& a) { return grad(a[0], a[1], {.disconnected = Disconnected::kZero}); }));
    return all;
  };
  const size_t cost = add("sum(sin($0))", {of - 1}, [](const std::vector<Expr>& a) { return sum(sin(a[0])); });
  const std::vector<size_t> first = gradients(cost);
  std::string text;
  for (size_t i = 0; i < first.size(); ++i) text += str(i > 0 ? " + " : "", "sum(sin($", i, "))");
  const size_t of_first = add(text, first, [](const std::vector<Expr>& a) {
    Expr total = sum(sin(a[0]));
    for (size_t i = 1; i < a.size(); ++i) total = total + sum(sin(a[i]));
    return total;
  });
  const std::vector<size_t> second = gradients(of_first);
  plan.outputs = {cost, of_first};
  plan.outputs.insert(plan.outputs.end(), first.begin(), first.end());
  plan.outputs.insert(plan.outputs.end(), second.begin(), second.end());
  return out;
}

// A cost along a line, at 0 and at steps to both sides.
struct Differences {
  double at, near[2], far[2];  // near: half the step; [0] behind

  // Of a function that is smooth there, to a share of what it is; nullopt: it is not, or too rough for these steps.
  std::optional<double> slope(double step) const {
    const double coarse = (far[1] - far[0]) / (2 * step), fine = (near[1] - near[0]) / step;
    // The slopes to both sides become equal with the step, unless there is a corner.
    const double bend = (far[1] - 2 * at + far[0]) / step, half = (near[1] - 2 * at + near[0]) / (step / 2);
    const double noise = 1e-11 * (1 + std::abs(at)) / step;
    if (!std::isfinite(coarse) || !std::isfinite(fine) || !std::isfinite(bend) || !std::isfinite(half)) return {};
    if (std::abs(half) > 0.6 * std::abs(bend) + noise) return {};
    if (std::abs(coarse - fine) > 1e-4 * (std::abs(fine) + 0.1) + noise) return {};
    return (4 * fine - coarse) / 3;
  }
};

int64_t compared = 0;

// The inputs of the plan's call, moved by a little each: no two are equal, and none is 0, where functions have corners,
// the data decides how many elements there are, and second derivatives of prod() are not right.
std::vector<Tensor> apart_from_ties(const TwicePlan& twice, std::mt19937_64& random) {
  std::vector<Tensor> out = twice.plan.calls[0];
  for (size_t leaf : twice.leaves) {
    out[leaf] = out[leaf].copy();
    for (int64_t i = 0; i < out[leaf].size(); ++i)
      out[leaf].data<double>()[i] += 0.01 + 1e-7 * static_cast<double>(random() % 1'000'000);
  }
  return out;
}

// Where the derivatives along one direction are others than those of differences. Nothing is said of programs that
// round to float32, of numbers that a step does not change, and of extrema, of which each of equal elements gets the
// derivative.
std::string unlike_differences(const TwicePlan& twice) {
  for (const Statement& statement : twice.plan.statements)
    if (statement.text.starts_with("max(") || statement.text.starts_with("min(")) return "";
  const BuiltProgram built = build(twice.plan);
  for (const Expr& value : built.values)
    if (value.has_value() && (value.dtype() == DType::kFloat32 || value.dtype() == DType::kComplex64)) return "";
  std::mt19937_64 random(twice.plan.seed);
  const std::vector<Tensor> given = apart_from_ties(twice, random);
  for (size_t leaf : twice.leaves)
    for (int64_t i = 0; i < given[leaf].size(); ++i)
      if (!(std::abs(given[leaf].as_double(i)) < 1000)) return "";
  std::vector<Tensor> direction;
  for (size_t leaf : twice.leaves) {
    Tensor d = twice.plan.calls[0][leaf].copy();
    for (int64_t i = 0; i < d.size(); ++i) d.data<double>()[i] = static_cast<double>(random() % 2001) / 1000 - 1;
    direction.push_back(d);
  }
  const auto values_at = [&](double t) {
    std::vector<Tensor> inputs = given;
    for (size_t k = 0; k < twice.leaves.size(); ++k) {
      Tensor moved = inputs[twice.leaves[k]].copy();
      for (int64_t i = 0; i < moved.size(); ++i) moved.data<double>()[i] += t * direction[k].data<double>()[i];
      inputs[twice.leaves[k]] = moved;
    }
    const ProgramCase c = case_of(built, inputs);
    return evaluate_with(c.canonical.graph.outputs, c.leaves, c.lengths);
  };
  constexpr double kStep = 2e-4;
  const std::vector<Tensor> at = values_at(0), behind = values_at(-kStep), before = values_at(kStep),
                            near_behind = values_at(-kStep / 2), near_before = values_at(kStep / 2);
  for (size_t order = 0; order < 2; ++order) {
    const auto of = [&](const std::vector<Tensor>& values) { return values[order].as_double(); };
    const std::optional<double> slope =
        Differences{of(at), {of(near_behind), of(near_before)}, {of(behind), of(before)}}.slope(kStep);
    double got = 0;
    for (size_t k = 0; k < twice.leaves.size(); ++k) {
      const Tensor gradient = at[2 + order * twice.leaves.size() + k].contiguous();
      for (int64_t i = 0; i < gradient.size(); ++i) got += gradient.as_double(i) * direction[k].as_double(i);
    }
    if (!slope || !std::isfinite(got)) continue;
    ++compared;
    if (std::abs(got - *slope) > 1e-3 * (std::abs(*slope) + 0.1))
      return str(order == 0 ? "the gradient" : "the gradient of the gradients", " along a line is ", got,
                 ", and by differences ", *slope);
  }
  return "";
}

// What `judge` says of a plan's gradients of gradients.
template <class Judge>
std::optional<std::string> judged(const ProgramPlan& plan, const Judge& judge) {
  try {
    const std::optional<TwicePlan> twice = differentiated_twice(plan);
    return twice ? judge(*twice) : std::nullopt;
  } catch (const UserError&) {
    return std::nullopt;
  } catch (const std::exception& error) {
    return error.what();
  }
}

TEST(RandomGradients, OfGradientsAreThoseOfDifferences) {
  const FuzzSettings settings = fuzz_settings(1, 100);
  fuzz_programs(settings, [](const ProgramPlan& plan, bool) {
    return judged(plan, [](const TwicePlan& twice) { return std::optional(unlike_differences(twice)); });
  });
  EXPECT_GE(compared, settings.cases / 2) << "too few are smooth";
}

TEST(RandomGradients, OfGradientsAreTheSameInEveryMode) {
  fuzz_programs(fuzz_settings(1, 25), [](const ProgramPlan& plan, bool) {
    return judged(plan, [](const TwicePlan& twice) { return wrong_in_some_mode(twice.plan, true); });
  });
}

}  // namespace
}  // namespace thtrain::random_gradients_test
