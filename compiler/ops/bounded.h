// How far a computed value may be from the exact one: rounding errors followed through a graph, by the rules of its
// ops.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/ir/lengths.h"

namespace thtrain {

/// A value by the references, and for each element a bound on its distance from exact arithmetic on the same inputs
/// (float64; 0 where it is exact, an infinity where nothing can be said). It holds for native code too, so that two
/// ways to compute one value differ by the sum of their errors at most.
struct Bounded {
  Tensor value, error;
};

/// What an infinity or a NaN says of the elements that are computed from it.
enum class Infinities {
  kUnknown,  // nothing: only where every value on the way is finite, something is said
  kKnown,    // an infinite input is what it is; a number that became too large leaves what is divided by it small
  kSame,     // the same operations run elsewhere: what is not finite is so there too, but near overflow
};

/// A bounded value for each node of graphs that share their leaves. Every node is computed once, and kept.
class BoundedEvaluator {
 public:
  /// The leaves (or inner values) are exact and have these values; shared variables have their own.
  BoundedEvaluator(std::span<const std::pair<Expr, Tensor>> inputs, Lengths lengths, Infinities infinities);
  /// UserError where an input is missing. Iterative.
  const Bounded& operator()(const Expr& value);
  /// These will be asked for. An output of a loop that nothing reads is not kept: where one is read that was not
  /// expected, the loop runs again.
  void expect(std::span<const Expr> values);
  void set(const Expr& leaf, Bounded value);

 private:
  Lengths lengths_;
  Infinities infinities_;
  std::unordered_map<const Node*, std::vector<Bounded>> known_;
  std::unordered_map<const Node*, std::vector<bool>> read_;  // of loops and branches: the outputs that are read
  std::vector<Expr> held_;                                   // what is known by address stays where it is
};

/// The outputs of one node on these inputs. Computed without its effect: a check prints nothing. `read`: as for
/// evaluate_node().
std::vector<Bounded> bounded_node(const Node& node, std::span<const Bounded> inputs, const Lengths& lengths,
                                  Infinities infinities, const std::vector<bool>& read = {});

/// One expression, all its leaves given or shared.
Bounded evaluate_bounded(const Expr& output, std::span<const std::pair<Expr, Tensor>> inputs, Infinities infinities);

/// `value` as something exact.
Bounded exactly(const Tensor& value);

/// A first element of `got` that is farther from `expected` (of the same type) than both errors allow: "[3, 1]: 0.5,
/// expected 0.25, bound 1.2e-07". nullopt where there is none. Elements of which nothing is known are left out. With
/// `range_may_grow`, elements may be anything where the expected one is not finite, and must be finite where it is.
std::optional<std::string> beyond_bounds(const Bounded& got, const Bounded& expected, bool range_may_grow = false);

}  // namespace thtrain
