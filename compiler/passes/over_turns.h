// Values of a loop's body, computed outside the loop for all turns at once.
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "compiler/ir/graph.h"

namespace thtrain {

/// Knows of some values of a body what they are outside: one value for all turns, or the values of all turns along a
/// new first axis; and gives what follows from them by elementwise operations, products with a value that no turn
/// changes, and shuffles and repetitions of axes.
class OverTurns {
 public:
  explicit OverTurns(Dim turns) : turns_(std::move(turns)) {}

  /// `outside` is [turns, ...] where the value varies from turn to turn.
  void know(const Expr& in_body, const Expr& outside, bool varies);
  /// Finds out what follows for `roots` and all that they need.
  void find(const std::vector<Expr>& roots);

  bool is_known(const Expr& value) const { return facts_.contains(key(value)); }
  bool varies(const Expr& value) const { return facts_.at(key(value)).varies; }
  /// Is it computed faster for all turns at once than in each (TurnsRule::pays)?
  bool pays(const Expr& value) const { return facts_.at(key(value)).pays; }
  /// The values of all turns, [turns, ...]; of a known value.
  Expr all(const Expr& value);

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

  Dim turns_;
  std::map<Key, Fact> facts_;
};

}  // namespace thtrain
