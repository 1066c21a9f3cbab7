// What fusions share: growing regions, which are sets of nodes that one kernel will compute, and replacing each by one
// fused node.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/ir/layout.h"
#include "compiler/kernel/target.h"

namespace thtrain {

/// Is an array known to be so large that a loop over it finds little of it in the caches?
bool exceeds_cache(const Type& type, const kernel::FusionLimits& limits);

/// The layout that the planner will give the value, which may be a view of a view.
Layout planned_layout(const Expr& value);

/// Grows regions from readers to the values that they read. A node joins the region of the last of its readers that
/// takes it, if that creates no cycle: a node outside the region that is computed from it and that it reads would have
/// to run in the middle of the kernel. On the same condition the regions of the node's other readers are merged with
/// this one, and so are regions over the elements of the same large array (sibling fusion). A value of which a member
/// needs more than its element or row (Op::access) is computed before the kernel, and stays outside the region. Regions
/// have at most 64 nodes and 24 operands, since more values would not stay in registers. Iterative; the search for a
/// cycle visits at most 400 nodes for each node, and counts as having found one if that is not enough.
class RegionFuser {
 public:
  struct FusionRegion {
    std::vector<const Node*> nodes;  // readers first while it grows, then in topological order
    Dims domain;                     // the lengths of its elements
    std::vector<int64_t> reduced;    // the axes that its reductions take away, where they are known
    const Node* main = nullptr;      // its first reduction, product or convolution; null: none
    size_t most_operands = 0;        // at least as many as it reads
  };

  RegionFuser(const Graph& graph, const kernel::FusionLimits& limits);
  virtual ~RegionFuser() = default;
  Graph run();

 protected:
  /// May the node be computed in a region at all?
  virtual bool is_fusable(const Node& node) const = 0;
  /// Takes `node`, a fusable one, into the region, or says that it does not fit. A region begins with any node.
  virtual bool joins(const Node& node, FusionRegion& region) const = 0;
  /// May two regions that read the same node become one?
  virtual bool merges(const FusionRegion& a, const FusionRegion& b) const = 0;
  /// A region that is not worth a kernel of its own is given up.
  virtual bool is_worth_it(const FusionRegion& region) const = 0;
  /// Does a reader of operands compute a per-row scalar, and not elements? An operand that is read by both kinds of
  /// readers becomes two inputs of the body, as does one that is read by different kinds of access.
  virtual bool is_of_slices(const FusionRegion&, const Node&) const { return false; }
  /// May the reader share a region with what it reads as that input? By default where it needs its element or row.
  virtual bool reads_in_step(const Node& reader, size_t input) const;
  virtual std::shared_ptr<const Node> make(GraphPtr body, std::vector<Expr> inputs) const = 0;

  bool is_root(const Node& node) const { return locations_.at(&node).is_root; }
  std::span<const Node* const> readers(const Node& node) const { return readers_.of(node); }
  /// Does every reader of the node belong to the region, and nobody else want it?
  bool is_used_only_in(const Node& node, const FusionRegion& region) const;
  /// Is the node a member of that region?
  bool is_in(const Node& node, const FusionRegion& region) const;

  const kernel::FusionLimits limits_;

 private:
  void grow();
  bool can_join(const Node* node, int region);
  bool reads_other_elements(const Node& reader, const Node& value) const;
  /// Does one of `nodes` need more of another of them than an element or a row?
  bool reads_non_elementwise(const std::vector<const Node*>& nodes) const;
  void merge_readers(const std::vector<int>& regions);
  void merge_siblings();
  /// Is there a path from one of `nodes` to a node of `regions` through a node outside of them?
  bool creates_cycle(const std::vector<const Node*>& nodes, const std::vector<int>& regions) const;
  size_t operands(const std::vector<int>& regions, const Node* with) const;
  void add(const Node* node, int region);
  Expr build(const Expr& root);
  void build_single(const Node& node);
  void build_region(const FusionRegion& region);

  // The position of a node in the order, and the region that it is in; -1: none.
  struct Member {
    size_t position = 0;
    int region = -1;
    bool is_root = false;
  };
  // The new node of an old one, or the new values of the outputs of a node that is in a region: none for outputs that
  // nothing outside the region reads.
  struct Built {
    std::shared_ptr<const Node> made;
    std::vector<Expr> outputs;
  };
  Expr built(const Expr& old) const;

  const Graph& graph_;
  std::vector<const Node*> order_;
  NodeMap<Member> locations_;
  Readers readers_;
  std::vector<FusionRegion> regions_;
  NodeMap<Built> built_;
  Rebuilder consing_;
  mutable std::vector<uint32_t> seen_;  // by position: the number of the last search that visited the node
  mutable uint32_t traversal_ = 0;
};

}  // namespace thtrain
