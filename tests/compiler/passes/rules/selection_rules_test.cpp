#include <gtest/gtest.h>

#include "compiler/ops/effect/effect.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/shape/shape.h"
#include "tests/compiler/passes/rules/rows.h"

namespace thtrain {
namespace {

using L = const Leaves&;
constexpr DType kF32 = DType::kFloat32, kF64 = DType::kFloat64;

}  // namespace

std::vector<RewriteRow> selection_rewrites() {
  return {
      {"cast_of_cast", [](L l) { return cast(cast(l.f, kF64), kF32); }, [](L l) { return l.f; }, Level::kStrict},
      {"cast_of_cast", [](L l) { return cast(cast(l.b, DType::kInt8), kF64); }, [](L l) { return cast(l.b, kF64); },
       Level::kStrict},
      {"decided_switch", [](L l) { return switch_(true, l.x, l.m); }, [](L l) { return broadcast_like(l.x, l.m); },
       Level::kStrict},
      {"decided_switch", [](L l) { return switch_(false, l.x, l.y); }, [](L l) { return l.y; }, Level::kStrict},
      {"decided_switch", [](L l) { return switch_(eq(make_constant(Tensor(2.0)), 2), l.x, l.y); },
       [](L l) { return l.x; }, Level::kStrict},
      {"switch_of_same", [](L l) { return switch_(l.b, l.x, l.x); }, [](L l) { return l.x; }, Level::kStrict},
      {"switch_of_not", [](L l) { return switch_(logical_not(l.b), l.x, l.y); },
       [](L l) { return switch_(l.b, l.y, l.x); }, Level::kStrict},
      {"not_of_not", [](L l) { return logical_not(logical_not(l.i)); }, [](L l) { return cast(l.i, DType::kBool); },
       Level::kStrict},
      {"and_of_same", [](L l) { return logical_and(l.b, l.b); }, [](L l) { return l.b; }, Level::kStrict},
      {"maximum_of_same", [](L l) { return maximum(l.x, l.x); }, [](L l) { return l.x; }, Level::kStrict},
  };
}

TEST(SelectionRules, Rewrite) {
  expect_rewrites(selection_rewrites());
}

std::vector<UnchangedRow> selection_unchanged() {
  return {
      {"check_that_holds", [](L l) { return check(l.x, false, "always"); }},
      {"check_that_holds", [](L l) { return check(l.x, l.b, "sometimes"); }},
      {"switch_in_first", [](L l) { return switch_(l.b, switch_(logical_and(l.b, l.x > 0), l.x, l.y), l.z); }},
      {"switch_of_true_false", [](L l) { return switch_(l.b, 1, 0); }},  // no bools
      {"mul_of_switch_zero", [](L l) { return l.y * switch_(l.b, l.x, 0); }, Level::kStrict},
      {"mul_of_switch_zero", [](L l) { return l.y * switch_(l.b, l.x, 1); }},
      {"order_of_same", [](L l) { return neq(l.x, l.x); }},  // true of a NaN
      {"equal_floats", [](L l) { return eq(l.x, l.x); }, Level::kStandard},
      {"not_of_eq", [](L l) { return logical_and(logical_not(eq(l.x, l.y)), eq(l.x, l.y)); }},
      {"not_of_neq", [](L l) { return logical_and(logical_not(neq(l.x, l.y)), neq(l.x, l.y)); }},
      {"neg_of_maximum_of_negs", [](L l) { return -maximum(-l.x, l.y); }},
      // What others read too is not computed in two ways.
      {"neg_of_maximum_of_negs", [](L l) { return -maximum(-l.x, -l.y) * exp(maximum(-l.x, -l.y)); }},
      {"neg_of_minimum_of_negs", [](L l) { return -minimum(-l.x, -l.y) * exp(minimum(-l.x, -l.y)); }},
      {"mul_of_switch_zero", [](L l) { return l.y * switch_(l.b, l.x, 0) + exp(switch_(l.b, l.x, 0)); }},
      {"mul_of_switch_zero_first", [](L l) { return l.y * switch_(l.b, 0, l.x) + exp(switch_(l.b, 0, l.x)); }},
      {"div_of_switch_zero", [](L l) { return switch_(l.b, l.x, 0) / l.y + exp(switch_(l.b, l.x, 0)); }},
      {"div_of_switch_zero_first", [](L l) { return switch_(l.b, 0, l.x) / l.y + exp(switch_(l.b, 0, l.x)); }},
      {"cast_of_cast", [](L l) { return cast(cast(l.x, kF32), kF64); }},
      {"cast_of_cast", [](L l) { return cast(cast(l.i, kF64), DType::kInt64); }},
      {"cast_of_cast", [](L l) { return cast(cast(l.i, DType::kUInt64), kF64); }},
      // The nearest number, and the one modulo 2^8.
      {"cast_of_cast", [](L l) { return cast(cast(cast(l.i, DType::kInt16), kF64), DType::kInt8); }},
      {"cast_of_cast", [](L l) { return cast(cast(l.x, DType::kInt64), kF64); }},
      {"cast_of_cast", [](L l) { return cast(cast(l.i, DType::kBool), DType::kInt64); }},
      {"decided_switch", [](L l) { return switch_(l.x, 1, l.y); }},
      {"maximum_of_same", [](L l) { return maximum(l.x, l.y); }},
  };
}

TEST(SelectionRules, Stay) {
  expect_unchanged(selection_unchanged());
}

}  // namespace thtrain
