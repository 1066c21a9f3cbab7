// A pass: a function from graph to graph, as one row of the pipeline's table.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/kernel/choice.h"
#include "compiler/kernel/target.h"

namespace thtrain {

// ---- functions ------------------------------------------------------------------------------------------------------

/// How a rewrite may change results. docs/semantics.md has examples.
enum class Safety : uint8_t {
  kExact,          // same bits, NaN and infinities included
  kReassociating,  // equal within a derived bound where every intermediate is finite
  kRangeChanging,  // finite in more cases than the plain form, and equal where that is finite
  kFiniteMath,     // assumes finite values: x - x is 0
};

/// Which rewrites run: strict only the exact ones; standard all but kFiniteMath; fast all.
enum class Level : uint8_t { kStrict, kStandard, kFast };
// ---- for other parts of the compiler --------------------------------------------------------------------------------

bool allowed(Safety safety, Level level);

// ---- functions ------------------------------------------------------------------------------------------------------

/// One rewrite that took place, for logs and for the debug mode.
struct Fired {
  std::string pass, rule;
  Expr before, after;
  Safety safety;
};

/// What a pass may use, and where it notes what it did.
struct PassContext {
  Level level = Level::kStandard;
  std::vector<Fired>* fired = nullptr;       // where rewrites are noted; may be null
  const kernel::Chooser* chooser = nullptr;  // among implementations; null: nothing is known of them
  kernel::Target target = {};                // that the graph is compiled for
  std::set<std::string> without = {};        // names of rules that are left out

  void note(const std::string& pass, const std::string& rule, const Expr& before, const Expr& after,
            Safety safety = Safety::kReassociating) const {
    if (fired) fired->push_back({pass, rule, before, after, safety});
  }
};

/// A pass over a graph. FunctionOptions::extra_passes takes passes of a program's own.
struct Pass {
  std::string name;
  std::string what;  // example: before -> after
  /// Rewrites one graph. The runner takes it to the bodies of loops and branches, too.
  Graph (*run)(const Graph&, const PassContext&);
  Safety safety = Safety::kExact;  // it runs at the levels that allow this
  bool needs_chooser = false;      // it runs where PassContext::chooser is known
  bool bodies_last = false;        // the graph comes before its bodies: what it needs of them changes
};

}  // namespace thtrain
