// What tests of rewriting rules share: rewriting one value, values that are hard on arithmetic, and the promise of each
// class of safety.
#pragma once

#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "compiler/passes/rules.h"

namespace thtrain {

using Bindings = std::vector<std::pair<Expr, Tensor>>;

struct Rewritten {
  Expr value;
  std::vector<Fired> fired;

  std::set<std::string> names() const;
  bool has(const std::string& rule) const { return names().count(rule) != 0; }
};

/// By one rule alone; whatever its safety.
Rewritten rewritten_by(const Rule& rule, const Expr& value);
/// By canonicalize.
Rewritten canonical(const Expr& value, Level level = Level::kStandard);
/// By canonicalize, then stabilize. Verified, and a second time changes nothing (a test failure otherwise).
Rewritten stable(const Expr& value, Level level = Level::kStandard);
/// What rows of rewrites are written with: float64[7] x, y, z; float64[3, 7] m; a float64 scalar s; int64[7] i;
/// float32[7] f; bool[7] b.
struct Leaves {
  Expr x, y, z, m, s, i, f, b;
};
const Leaves& leaves();

/// A value, and what it becomes: the same node as `after`, once that is rewritten too. The rule must be among those
/// that fire.
struct RewriteRow {
  std::string rule;
  std::function<Expr(const Leaves&)> before, after = {};
  Level level = Level::kStandard;
};
/// What is wrong with the row where `instead` replaces the rule of its name (null: with the tables as they
/// are), empty where nothing is. Also compares values by the references, on ordinary inputs.
std::string broken_row(const RewriteRow& row, const Rule* instead = nullptr);
void expect_rewrites(const std::vector<RewriteRow>& rows);

/// A value that no rule of this name may rewrite; no name: no rule at all.
struct UnchangedRow {
  std::string rule;
  std::function<Expr(const Leaves&)> value;
  Level level = Level::kFast;
};
std::string broken_row(const UnchangedRow& row, const Rule* instead = nullptr);
void expect_unchanged(const std::vector<UnchangedRow>& rows);

/// Spellings of one value: the same node after the passes.
void expect_one_form(const std::vector<std::function<Expr(const Leaves&)>>& spellings, Level level = Level::kStandard);

/// All of them in one graph, so that equal ones become one node.
std::vector<Expr> stable_all(const std::vector<Expr>& values, Level level = Level::kStandard);

/// Elements of every kind: zeros of both signs, infinities, NaN, the largest and the smallest numbers, numbers near 1,
/// ordinary ones.
Tensor hard_values(DType dtype, const Shape& shape, std::mt19937_64& random);
/// The same without infinities and NaN.
Tensor finite_values(const Tensor& hard);
/// Ordinary ones only: normally distributed, integers in [low, high).
Tensor plain_values(DType dtype, const Shape& shape, std::mt19937_64& random, int64_t low = 0, int64_t high = 4);
/// Few numbers, so that elements are equal and meet the kinks of functions: -1, 0, 0.5, 1, 1.5; of other dtypes than
/// floats, plain ones.
Tensor tied_values(DType dtype, const Shape& shape, std::mt19937_64& random, int64_t low = 0, int64_t high = 4);

/// What the inputs of a comparison are like. Ordinary ones must not become infinite or NaN by a rewrite of any class.
enum class Values { kPlain, kHard };

/// Does `after` keep what the safety of a rewrite promises for `before`, on these inputs? Empty where it does, else
/// what differs. Integers, bools and exact rewrites: the same bits (any NaN for a NaN).
std::string broken_promise(Safety safety, const Expr& before, const Expr& after, const Bindings& inputs, Values values);
/// Is a NaN that `before` has gone in `after`? Empty if not.
std::string lost_nan(const Expr& before, const Expr& after, const Bindings& inputs);

}  // namespace thtrain
