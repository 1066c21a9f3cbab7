#include <gtest/gtest.h>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/reduce/reduce.h"
#include "tests/compiler/passes/rules/rows.h"

namespace thtrain {
namespace {

Expr part_of(const Expr& x, const std::vector<Index>& indices) {
  return subtensor(x, indices);
}
Expr set(const Expr& x, const std::vector<Index>& indices, const Operand& y) {
  return set_subtensor(part_of(x, indices), y);
}
Expr inc(const Expr& x, const std::vector<Index>& indices, const Operand& y) {
  return inc_subtensor(part_of(x, indices), y);
}

}  // namespace

std::vector<RewriteRow> write_rewrites() {
  return {
      {"write_of_nothing",
       [](L l) {
         return set(l.x, {Slice{3, 3}}, 1.0);
       },
       [](L l) { return l.x; }, Level::kStrict},
      {"set_of_own_slice", [](L l) { return set(l.m, {1}, part_of(l.m, {1})); }, [](L l) { return l.m; },
       Level::kStrict},
      {"write_of_whole", [](L l) { return inc(l.x, {all()}, l.y); }, [](L l) { return l.x + l.y; }, Level::kStrict},
      {"increment_by_zeros", [](L l) { return inc(l.m, {1}, 0.0); }, [](L l) { return l.m; }},
      {"set_again", [](L l) { return set(set(l.m, {1}, l.x), {1}, l.y); }, [](L l) { return set(l.m, {1}, l.y); },
       Level::kStrict},
      {"increment_again", [](L l) { return inc(inc(l.m, {1}, l.x), {1}, l.y); },
       [](L l) { return inc(l.m, {1}, l.x + l.y); }},
      {"slice_of_written", [](L l) { return part_of(set(l.m, {1}, l.x), {1}); }, [](L l) { return l.x; },
       Level::kStrict},
      {"slice_of_written", [](L l) { return part_of(inc(l.m, {1}, l.x), {2}); }, [](L l) { return part_of(l.m, {2}); },
       Level::kStrict},
  };
}

TEST(WriteRules, Rewrite) {
  expect_rewrites(write_rewrites());
}

std::vector<UnchangedRow> write_unchanged() {
  return {
      // -0 + 0 is 0.
      {"increment_by_zeros", [](L l) { return inc(l.m, {1}, 0.0); }, Level::kStrict},
      {"increment_again", [](L l) { return inc(inc(l.m, {1}, l.x), {1}, l.y); }, Level::kStrict},
      // Other parts, and parts that overlap.
      {"set_again", [](L l) { return set(set(l.m, {1}, l.x), {2}, l.y); }},
      {"set_of_own_slice", [](L l) { return set(l.m, {1}, part_of(l.m, {2})); }},
      {"slice_of_written",
       [](L l) {
         return part_of(set(l.x, {Slice{1, 4}}, 2.0), {Slice{2, 5}});
       }},
      {"slice_of_written",
       [](L l) {
         return part_of(set(l.x, {Slice{1, 6, 2}}, 2.0), {Slice{5, 7}});
       }},
      {"write_of_whole", [](L l) { return set(l.x, {Slice{.step = -1}}, l.y); }},
      // What was written first is wanted too.
      {"set_again",
       [](L l) {
         Expr first = set(l.m, {1}, l.x);
         return sum(set(first, {1}, l.y)) + sum(first);
       }},
  };
}

TEST(WriteRules, Stay) {
  expect_unchanged(write_unchanged());
}

}  // namespace thtrain
