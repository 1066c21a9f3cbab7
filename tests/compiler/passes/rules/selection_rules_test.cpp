#include <gtest/gtest.h>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/shape/shape.h"
#include "tests/support/rule_tester.h"

namespace thtrain {
namespace {

using L = const Leaves&;
constexpr DType kF32 = DType::kFloat32, kF64 = DType::kFloat64;

TEST(SelectionRules, Rewrite) {
  expect_rewrites({
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
  });
}

TEST(SelectionRules, Stay) {
  expect_unchanged({
      {"cast_of_cast", [](L l) { return cast(cast(l.x, kF32), kF64); }},
      {"cast_of_cast", [](L l) { return cast(cast(l.i, kF64), DType::kInt64); }},
      {"cast_of_cast", [](L l) { return cast(cast(l.i, DType::kUInt64), kF64); }},
      {"cast_of_cast", [](L l) { return cast(cast(l.x, DType::kInt64), kF64); }},
      {"cast_of_cast", [](L l) { return cast(cast(l.i, DType::kBool), DType::kInt64); }},
      {"decided_switch", [](L l) { return switch_(l.x, 1, l.y); }},
      {"maximum_of_same", [](L l) { return maximum(l.x, l.y); }},
  });
}

}  // namespace
}  // namespace thtrain
