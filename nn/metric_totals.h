// What a metric adds up over the chunks of a data set.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "compiler/ir/node.h"

namespace thtrain {

/// What a chunk of n examples contributes: an expression, and how chunks are put together.
struct MetricPart {
  enum class How {
    kSum,      // int64 of any shape: added, which is exact
    kAddRows,  // float64 [n, ...]: the sum over all examples, [...]
    kAddAt,    // float64 [n, 2], of each example an index and a number: total[index] += number, a total of `shape`
    kSpread,  // float64 [n, 1 + k], of each example a weight and k values: [2, k], their means and the weighted sums of
              // the squares of what they are away from them
    kKeepRows,  // float64 [n, ...]: the rows of all examples, kept until the end: 8 bytes for each number
  };
  std::string name;
  Expr value;
  How how = How::kAddRows;
  Shape shape = {};
};

/// The totals of some parts. Examples are added one after the other in their order, in float64: how they were cut into
/// chunks changes nothing, as long as an example's own numbers have the same bits in a chunk of any length. (The
/// spread: D. H. D. West, "Updating mean and variance estimates: an improved method", Communications of the ACM 22,
/// 1979.)
class MetricTotals {
 public:
  /// Nothing yet; only names, shapes and how they are put together are read.
  explicit MetricTotals(const std::vector<MetricPart>& parts);

  /// The values of the parts for the next chunk, in their order.
  void add(std::span<const Tensor> values);
  bool has(const std::string& name) const { return totals_.contains(name); }
  /// The total of a part: as MetricPart::How says, or zeros where there were no examples. InternalError without it.
  Tensor total(const std::string& name) const;
  /// A total that is a scalar, as a double.
  double number(const std::string& name) const;

 private:
  struct Total {
    MetricPart::How how;
    Tensor sum;
    double weight = 0;              // of a spread
    Tensor origin = {};             // of a spread: the first values, which the means are counted from
    std::vector<Tensor> kept = {};  // of rows that are kept
  };
  void add(Total& total, const Tensor& value);

  std::vector<std::string> names_;
  std::map<std::string, Total> totals_;
};

}  // namespace thtrain
