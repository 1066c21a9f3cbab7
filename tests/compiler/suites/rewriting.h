// Rows of the suite of rewriting: expressions of the same operands.
#pragma once

#include "compiler/api.h"
#include "tests/compiler/suites/suite.h"

namespace thtrain::rewriting_suite {

/// float64, above 0: x, y, z [7], t a number, a [5, 7], cube [2, 3, 4]; of both signs: b [7, 4]; int64: i [7].
struct Operands {
  Expr x, y, z, t, a, b, cube, i;
};

struct RewritingRow {
  std::string name;
  Expr (*build)(const Operands&);
  int steps = -1;
};

inline void expect_rewritten(const std::string& group, const std::vector<RewritingRow>& rows) {
  std::vector<SuiteCase> cases;
  for (const RewritingRow& row : rows) {
    cases.push_back(made_case(row.name, [build = row.build](Given& g) {
      return All{build({g.known(positive({7})), g.known(positive({7}, 1)), g.known(positive({7}, 2)), g(number(1.25)),
                        g.known(positive({5, 7})), g.known(spread({7, 4})), g.known(positive({2, 3, 4})),
                        g.known(whole({7}, -2))})};
    }));
    cases.back().steps = row.steps;
  }
  expect_suite("rewriting", group, cases);
}

}  // namespace thtrain::rewriting_suite
