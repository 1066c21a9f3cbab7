// Fused nodes whose body is one product or convolution, the anchor, and elementwise nodes over its results: what their
// ops share, and the epilogue that a kernel of the anchor ends with.
#pragma once

#include <optional>

#include "compiler/ops/linalg/body_elements.h"
#include "compiler/ops/linalg/kernel_epilogue.h"

namespace thtrain {

/// The node of the body that has Op::epilogue.
const Node& anchor_of(const Graph& body);
/// Op::accepts_layout of the fused node: elements may lie in any layout, other inputs as the anchor takes them.
bool anchor_accepts_layout(const Node& fused, size_t input, const Layout& layout);

/// Computes the body's outputs from each vector of the anchor's results, and stores them.
class BodyEpilogue : public KernelEpilogue {
 public:
  /// For the step of a fused node.
  explicit BodyEpilogue(kernel::StepBuilder& b);
  /// What the body computes of the value of this node, which the kernel computes with all that is below it.
  BodyEpilogue(kernel::StepBuilder& b, const Node& anchor);

  const Node& anchor() const { return anchor_; }
  /// What the step reads as the anchor's input i, which is an input of the body.
  kernel::Operand operand(size_t i) const;

  std::string name() const override;
  std::string comment() const override;
  void begin() override;
  void write(const kernel::Term& results, const std::vector<kernel::Term>& index,
             const kernel::Term& count) const override;
  bool reads_elements() const override;
  void prefetch(const std::vector<kernel::Term>& index) const override;
  bool is_flat_from(size_t axis) const override;

 protected:
  /// The anchor's value of the kernel's results; `values` has what does not depend on them.
  virtual kernel::Term anchor_value(const kernel::Term& results, const BodyValues& values) const;
  bool is_read_by_element(const Expr& input) const;

  const int lanes_;

 private:
  BodyEpilogue(kernel::StepBuilder& b, const Node& anchor, std::vector<const Node*> nodes);

  kernel::StepBuilder& b_;
  const Graph& body_;
  const Node& anchor_;
  std::vector<const Node*> nodes_;  // whose operands are read by element
  std::optional<BodyElements> elements_;
};

/// Computes one value of a fused node's body from each vector of the anchor's results.
class BodyValue : public KernelValues {
 public:
  /// `value` has elementwise nodes between itself and the anchor.
  BodyValue(kernel::StepBuilder& b, const Node& anchor, const Expr& value);

  void begin() override;
  kernel::Term value(const kernel::Term& results, const std::vector<kernel::Term>& index,
                     const kernel::Term& count) const override;
  bool is_flat_from(size_t axis) const override;

 private:
  bool is_read_by_element(const Expr& input) const;

  kernel::StepBuilder& b_;
  const Graph below_;  // the body, up to the value
  const Node& anchor_;
  const int lanes_;
  std::optional<BodyElements> elements_;
};

}  // namespace thtrain
