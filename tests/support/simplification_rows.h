// Rows of simplifications: an expression, and how many steps its program may have at most. Values must stay equal.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compiler/passes/pass.h"

namespace thtrain {

/// What rows are written with. float64: x, y, z [7], a [5, 7], b [7, 4], c [5, 4], w [7, 4], cube [2, 3, 4], s and t
/// scalars; int64: i, j [7], labels [5] from 0 to 3; float32 f [7]; bool p, q [7].
struct Operands {
  Expr x, y, z, a, b, c, w, cube, s, t, i, j, labels, f, p, q;
};
const Operands& operands();

constexpr Level kFast = Level::kFast, kStrict = Level::kStrict;

struct SimplificationRow {
  std::string name;
  std::function<Expr(const Operands&)> build;
  size_t steps;  // kernels and library calls; views, and copies before a write in place, are not counted
  Level level = Level::kStandard;
};

/// Optimizes and plans each row's expression. Its program has `steps` steps at most, and its values are those of the
/// expression as it was built, by the references: 1e-9 of their size (1e-4 for float32) where these are finite.
void expect_simplified(const std::vector<SimplificationRow>& rows);

}  // namespace thtrain
