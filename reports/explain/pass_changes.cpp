#include "reports/explain/pass_changes.h"

#include <array>
#include <map>

#include "compiler/ir/dim.h"
#include "compiler/ir/roles.h"

namespace thtrain {

static std::vector<RuleUse> rules_of(const std::string& pass, const Explanation& explanation,
                                     const NodeNumbers& numbers) {
  std::vector<RuleUse> out;
  std::map<std::array<std::string, 3>, size_t> index;
  for (const Fired& fired : explanation.fired) {
    if (fired.pass != pass) continue;
    RuleUse use{fired.rule, short_text(fired.before, numbers), short_text(fired.after, numbers), fired.safety};
    auto [at, fresh] = index.try_emplace({use.rule, use.before, use.after}, out.size());
    if (fresh)
      out.push_back(std::move(use));
    else
      ++out[at->second].times;
  }
  return out;
}

std::vector<PassChange> pass_changes(const Explanation& explanation) {
  std::vector<PassChange> out;
  StableNumbers numbers(explanation.given);
  const Graph* before = &explanation.given;
  for (const PassRecord& pass : explanation.passes) {
    PassChange change{.pass = &pass, .before = before};
    change.difference = graph_difference(*before, pass.after, numbers);
    change.numbers = numbers.of;
    change.rules = rules_of(pass.name, explanation, numbers.of);
    for (const RuleUse& use : change.rules) change.fired += use.times;
    out.push_back(std::move(change));
    before = &pass.after;
  }
  return out;
}

const char* name_of(Safety safety) {
  switch (safety) {
    case Safety::kExact:
      return "exact";
    case Safety::kReassociating:
      return "reassociating";
    case Safety::kRangeChanging:
      return "range-changing";
    case Safety::kFiniteMath:
      return "finite-math";
  }
  return "";
}

static std::string indented(const std::string& lines) {
  std::string out = lines.empty() ? "" : "  ";
  for (size_t i = 0; i < lines.size(); ++i) {
    out += lines[i];
    if (lines[i] == '\n' && i + 1 < lines.size()) out += "  ";
  }
  return out;
}

std::string rewrites_text(const Explanation& explanation) {
  std::string out =
      "before the passes, equal expressions merged\n" + indented(readable(text_with_roles(explanation.given)));
  for (const PassChange& change : pass_changes(explanation)) {
    const PassRecord& pass = *change.pass;
    out += str("\npass ", pass.name, ": ", pass.what, "\n");
    if (change.difference.empty() && change.rules.empty()) {
      out += "  changes nothing\n";
      continue;
    }
    out += str("  nodes: ", pass.nodes_before, " before, ", pass.nodes_after, " after\n");
    for (const RuleUse& use : change.rules)
      out += str("  rule ", use.rule, " (", name_of(use.safety), use.times > 1 ? str(", ", use.times, " times") : "",
                 "): ", use.before, " -> ", use.after, "\n");
    out += indented(readable(change.difference.text));
  }
  return out;
}

}  // namespace thtrain
