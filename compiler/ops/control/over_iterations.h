// Values of a loop's body, computed outside the loop for all iterations at once.
#pragma once

#include <map>
#include <span>
#include <unordered_set>
#include <utility>
#include <vector>

#include "compiler/ir/graph.h"

namespace thtrain {

/// Knows of some values of a body what they are outside: one value for all iterations, or the values of all iterations
/// along a new first axis; and gives what follows from them by elementwise operations and by the rules of ops
/// (Op::iterations).
class OverIterations {
 public:
  /// What follows besides elementwise operations: in a loop with states, what is one computation, and views of whole
  /// values (a part of a product would be taken out in place of the product); in one without, what has a rule; with
  /// kMapped everything, a node whose op has no rule by a loop of that node alone.
  enum class Follows { kOneComputation, kByRules, kMapped };
  explicit OverIterations(Dim iterations, Follows follows = Follows::kByRules)
      : iterations_(std::move(iterations)), others_(follows) {}

  /// `outside` is [iterations, ...] where the value varies from iteration to iteration.
  void know(const Expr& in_body, const Expr& outside, bool varies);
  /// Whatever `roots` need and follows from no value that varies is one value for all iterations, the same in the body
  /// and outside. Gives the nodes that follow from one that varies, with those of `varying`.
  std::unordered_set<const Node*> know_fixed(const std::vector<Expr>& roots, std::unordered_set<const Node*> varying);
  /// Finds out what follows for `roots` and all that they need.
  void find(const std::vector<Expr>& roots);

  bool is_known(const Expr& value) const { return facts_.contains(key(value)); }
  bool varies(const Expr& value) const { return facts_.at(key(value)).varies; }
  /// Is it computed faster for all iterations at once than in each (IterationsRule::pays)?
  bool pays(const Expr& value) const { return facts_.at(key(value)).pays; }
  /// The values of all iterations, [iterations, ...]; of a known value.
  Expr all(const Expr& value);
  /// The one value of all; of a known value that does not vary.
  Expr one(const Expr& value);

 private:
  using Key = std::pair<const Node*, size_t>;
  struct Fact {
    Expr value;    // in the body
    Expr outside;  // empty until it is asked for
    bool varies = false, pays = false;
  };
  static Key key(const Expr& value) { return {&value.node(), value.output()}; }

  bool follows(const Node& node) const;
  std::vector<bool> inputs_that_vary(const Node& node) const;
  Expr outside(const Expr& value);
  Expr made(const Node& node, size_t output);
  Expr aligned(const Expr& value, size_t rank);

  Dim iterations_;
  Follows others_;
  std::map<Key, Fact> facts_;
};

/// The graph of a body for all iterations, as vmap() makes it: outputs are [iterations, ...], and so are the inputs
/// that vary, of those types; any other input is that of the body. `fixed`: outputs that do not vary, and stay one
/// value.
GraphPtr body_of_iterations(const Graph& body, const Dim& iterations, std::span<const Type> types,
                            const std::vector<bool>& varies, const std::vector<bool>& fixed = {});

}  // namespace thtrain
