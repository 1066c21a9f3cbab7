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

std::string list_of(Safety safety) {
  std::string out;
  size_t count = 0;
  for (const Rule* rule : all_rules()) {
    if (rule->safety != safety) continue;
    ++count;
    out += str("- `", rule->name, "`");
    if (rule->from.has_value()) {
      const std::string& variable = rule->to.name();
      out += str(": `", expr_text(rule->from), " -> ", variable.empty() ? expr_text(rule->to, 400) : variable, "`");
    }
    if (rule->for_gradients) out += " (also at the standard level)";
    if (rule->compares) out += " (of floats)";
    out += "\n";
  }
  return str(count, " rules:\n\n", out);
}

std::string rules_text() {
  return str("\n### Exact\n\n", list_of(Safety::kExact), "\n### Reassociating\n\n", list_of(Safety::kReassociating),
             "\n### Range-changing\n\n", list_of(Safety::kRangeChanging), "\n### Finite-math\n\n",
             list_of(Safety::kFiniteMath), "\n");
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
