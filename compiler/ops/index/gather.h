// Reading through an index as a load of a fused loop: take and pick_rows inside its body.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/kernel/step_builder.h"
#include "compiler/ops/index/checked_index.h"

namespace thtrain {

/// Does the node read elements of input 0 at positions that the integers of input 1 name, one element for each of the
/// result's? Both inputs must be computed before its loop begins.
bool reads_through_index(const Node& node);
/// Can it be a load of a loop, and is that no slower? (The loop language has no complex numbers, and a constant index
/// is a part, not a gather. Single elements, which vectors must be put together from, are faster on their own where
/// they are known to be many.)
bool may_be_gathered(const Node& node);
/// Is input i of this node, made by fusion, read through an index? Then nothing may be written over it.
bool is_gathered(const Node& node, size_t i);

/// A node of a loop's body that reads through an index: how the loop nest steps through what it reads.
class Gather {
 public:
  /// What moves along the axes of a loop: the source (its element index but for the named axis), the indices, and the
  /// number that the message of a bad index shows (0 where that is the length).
  enum Stepped : size_t { kSource, kIndex, kReported, kStepped };
  using Steps = std::array<kernel::Term, kStepped>;

  /// `inputs` are the body's; the step's inputs come in the same order.
  Gather(const Node& node, std::span<const Expr> inputs, kernel::StepBuilder& builder);

  const Node& node() const { return *node_; }
  /// Strides of each along the axes of the result, in elements.
  const std::array<Dims, kStepped>& strides() const { return strides_; }
  /// Adds a kernel that checks every index, unless the loops check them all and nothing is lost that they wrote before:
  /// where no axis beside the indices' can be empty, and no variable is written.
  void check_before_loops();
  /// The position that the index at `at` names, checked.
  kernel::Term position(const Steps& at) const;
  /// One element, or `lanes` of them that lie `step` apart, of which `count` exist (empty: all). `position`: of them
  /// all, where it is known.
  kernel::Term load(const Steps& at, const Steps& step, int lanes, const kernel::Term& count,
                    const kernel::Term& position = {}) const;

 private:
  kernel::Term element(const kernel::Term& source, const kernel::Term& position) const;

  const Node* node_;
  kernel::StepBuilder& builder_;
  size_t source_, index_;  // inputs of the step
  size_t named_ = 0;       // the axis of the source that the positions are along
  IndexCheck check_;
  bool reports_row_ = false;
  bool is_checked_ = false;
  std::array<Dims, kStepped> strides_;
};

/// The gathers among `nodes`, in order.
std::vector<Gather> gathers_among(std::span<const Node* const> nodes, std::span<const Expr> inputs,
                                  kernel::StepBuilder& builder);
/// Does one of them read that input of the body?
bool reads(std::span<const Gather> gathers, const Expr& input);

}  // namespace thtrain
