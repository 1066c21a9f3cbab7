// The elementwise nodes of a body, computed at one index of their domain: for kernels whose loops are those of another
// op (the anchor), a product or a scatter.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "compiler/ops/elemwise/body_code.h"

namespace thtrain {

class BodyElements {
 public:
  /// `anchor` is the body's one node that is not elementwise. Inputs that `is_read` are loaded at the index, the
  /// others are for that node. What does not depend on the index is computed at once.
  BodyElements(kernel::StepBuilder& b, const Graph& body, const Node& anchor, Dims domain,
               const std::function<bool(const Expr& input)>& is_read);

  const std::vector<const Node*>& nodes() const { return nodes_; }

  /// The inputs at `index` of the domain (a term for each axis): vectors of `lanes` elements side by side along the
  /// last axis that is no known 1, of which `count` exist (no term: all), and one for all lanes where it is repeated.
  BodyValues load(const std::vector<kernel::Term>& index, int lanes, const kernel::Term& count = {}) const;
  /// Adds what follows from the values; what follows from `anchor` only where that is among them.
  void compute(BodyValues& values) const;
  /// Calls with each input that has an element for each of the domain, and the number of the one at `index`.
  void each_whole(const std::vector<kernel::Term>& index,
                  const std::function<void(const kernel::Operand&, const kernel::Term& at)>& visit) const;

 private:
  struct Read {
    size_t input;
    kernel::Operand operand;
    Dims strides;
  };
  kernel::Term location(const Dims& strides, const std::vector<kernel::Term>& index) const;

  kernel::StepBuilder& b_;
  const Graph& body_;
  const Dims domain_;
  size_t lane_axis_ = 0;
  std::vector<const Node*> nodes_;
  const Node& anchor_;
  std::vector<Read> reads_;  // what depends on the index
  BodyValues known_;         // what does not
};

}  // namespace thtrain
