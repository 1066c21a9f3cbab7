// Regions: sets of nodes that one kernel will compute. What fusions share: growing them and putting a node in their
// place.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "compiler/ir/graph.h"

namespace thtrain {

struct FusionRegion {
  std::vector<const Node*> nodes;  // readers first while it grows, then in topological order
  Dims domain;                     // the lengths of its elements
  std::vector<int64_t> reduced;    // the axes that its reductions take away, where they are known
  bool has_reduction = false;
};

/// Is an array known to be so large that a second walk through it finds little of it in the first caches?
bool exceeds_cache(const Type& type);

/// Grows regions from readers to what they read: a node joins the region of the last of its readers that takes it, if
/// no way leads out of the region and back (a node outside would have to run in the middle of the kernel); regions that
/// read the node beside it become one with it on the same terms, and so do regions that walk through the same large
/// array. What a member reads through an index, or multiplies as a matrix, is computed before, and stays outside.
/// Regions of more than 64 nodes or 24 operands are not grown: their values would not stay in registers. Iterative; for
/// each node at most 400 others are walked to prove it.
class RegionFuser {
 public:
  explicit RegionFuser(const Graph& graph);
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
  /// Operands that are read in different ways get different inputs of the body: a number for each way.
  virtual int access_pattern(const FusionRegion& region, const Node& reader) const = 0;
  virtual std::shared_ptr<const Node> make(GraphPtr body, std::vector<Expr> inputs) const = 0;
  /// The same fusion for a body graph.
  virtual Graph fuse_body(const Graph& body) const = 0;

  bool is_root(const Node& node) const { return places_.at(&node).is_root; }
  std::span<const Node* const> readers(const Node& node) const { return readers_.of(node); }
  /// Does every reader of the node belong to the region, and nobody else want it?
  bool is_used_only_in(const Node& node, const FusionRegion& region) const;
  /// Is the node a member of that region?
  bool is_in(const Node& node, const FusionRegion& region) const;

 private:
  void grow();
  bool can_join(const Node* node, int region);
  /// Does one of `nodes` read another of them through an index, or as a factor of a product?
  bool reads_non_elementwise(const std::vector<const Node*>& nodes) const;
  void merge_readers(const std::vector<int>& regions);
  void merge_siblings();
  /// Is there a way from one of `nodes` to a node of `regions` through a node outside of them?
  bool creates_cycle(const std::vector<const Node*>& nodes, const std::vector<int>& regions) const;
  size_t operands(const std::vector<int>& regions, const Node* with) const;
  Expr build(const Expr& root);
  void build_single(const Node& node);
  void build_region(const FusionRegion& region);

  // Where a node stands in the order, and the region that it is in; -1: none.
  struct Place {
    size_t position = 0;
    int region = -1;
    bool is_root = false;
  };
  // What became of a node: the outputs of one, or of a region's (some may be inner values, which have none).
  struct Built {
    std::shared_ptr<const Node> made;
    std::vector<Expr> outputs;
  };
  Expr built(const Expr& old) const;

  const Graph& graph_;
  std::vector<const Node*> order_;
  NodeMap<Place> places_;
  Readers readers_;
  std::vector<FusionRegion> regions_;
  NodeMap<Built> built_;
  Rebuilder consing_;
  mutable std::vector<uint32_t> seen_;  // by position: the number of the last walk that came by
  mutable uint32_t traversal_ = 0;
};

}  // namespace thtrain
