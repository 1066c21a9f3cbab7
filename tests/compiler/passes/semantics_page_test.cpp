// docs/semantics.md lists the rules that there are.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "compiler/ir/print.h"
#include "compiler/passes/rules.h"

namespace thtrain {
namespace {

constexpr const char* kPage = "docs/semantics.md";
const std::string kBegin = "<!-- begin rules -->\n", kEnd = "<!-- end rules -->\n";

std::string list_of(const std::vector<const Rule*>& rules, Safety safety) {
  std::string out;
  size_t count = 0;
  for (const Rule* rule : rules) {
    if (rule->safety != safety) continue;
    ++count;
    out += str("- `", rule->name, "`");
    if (rule->from.has_value()) {
      const std::string& variable = rule->to.name();
      out += str(": `", expr_text(rule->from), " -> ", variable.empty() ? expr_text(rule->to, 400) : variable, "`");
    }
    if (rule->for_gradients) out += " (also at the standard level)";
    if (rule->compares) out += " (of floats)";
    if (rule->values_only) out += " (not before differentiation)";
    out += "\n";
  }
  return str(count, " rules:\n\n", out);
}

std::string rules_text() {
  auto all = [](Safety safety) { return list_of(all_rules(), safety); };
  return str("\n### Exact\n\n", all(Safety::kExact), "\n### Reassociating\n\n", all(Safety::kReassociating),
             "\n### Range-changing\n\n", all(Safety::kRangeChanging), "\n### Finite-math\n\n", all(Safety::kFiniteMath),
             "\n### Of derivatives alone, range-changing\n\n", list_of(derivative_rules(), Safety::kRangeChanging),
             "\n");
}

TEST(SemanticsPage, ListsTheRules) {
  std::ifstream in(kPage);
  std::stringstream buffer;
  buffer << in.rdbuf();
  std::string page = buffer.str();
  const size_t begin = page.find(kBegin), end = page.find(kEnd);
  ASSERT_TRUE(begin != std::string::npos && end != std::string::npos);
  const size_t from = begin + kBegin.size();
  const std::string wanted = rules_text();
  if (std::getenv("THTRAIN_UPDATE_GOLDEN"))
    std::ofstream(kPage) << page.replace(from, end - from, wanted);
  else
    EXPECT_EQ(page.substr(from, end - from), wanted);
}

}  // namespace
}  // namespace thtrain
