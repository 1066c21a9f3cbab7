// Expressions: immutable shared nodes, and the handles that users compute with. docs/decisions/0001.
//
// Semantics, for every pass and every printer:
// - A node's outputs are functions of its inputs, properties and bodies. Nothing else may change them: random draws
//   take and return generator state, effects take and return an ordering token.
// - Floating arithmetic is IEEE 754. NaN and infinities flow; a pass may not lose them unless its rule's class says so.
// - Integers wrap around. x // 0 and x % 0 are 0 for integers; floor division and remainder take Python's signs.
// - Values are dense. A view shares its input's buffer; the planner, not the user, sees that.
// - An element is true or false; a bool is stored as one byte, 0 or 1.
#pragma once

#include <initializer_list>
#include <memory>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/base/origin.h"
#include "compiler/ir/props.h"
#include "compiler/ir/type.h"

namespace thtrain {

struct Op;
struct Node;
struct Graph;
class Index;  // ops/index/index.h
using GraphPtr = std::shared_ptr<const Graph>;

// ---- inputs and constants ------------------------------------------------------------------------------------------

/// A handle on one output of a node. The default-made one is empty: "no value", as an absent gradient. It may be
/// copied, compared by same() and asked has_value(); anything else that is done with it is a UserError.
///
/// There is no conversion to bool: what `x < y` is, only a call knows. So `if (x < y)`, `x && y` and std::max(x, y) do
/// not compile; switch_, logical_and and maximum say what is meant.
class Expr {
 public:
  Expr() = default;
  explicit Expr(std::shared_ptr<const Node> node, size_t output = 0) : output_(output), node_(std::move(node)) {}

  bool has_value() const { return node_ != nullptr; }
  const Node& node() const {
    if (!node_) [[unlikely]]
      fail_empty();
    return *node_;
  }
  const std::shared_ptr<const Node>& node_ptr() const { return node_; }
  size_t output() const { return output_; }
  const Type& type() const;
  DType dtype() const { return type().dtype; }
  size_t rank() const { return type().rank(); }
  const Dims& dims() const { return type().dims; }
  const std::string& name() const;
  /// The same value (the same output of the same node), not an elementwise comparison.
  bool same(const Expr& other) const { return node_ == other.node_ && output_ == other.output_; }

  /// NumPy's x[i]: x[0], x[-1], x[i], x[mask], x[Slice{.start = 1, .stop = 4}]. See subtensor in ops/index/index.h.
  Expr operator[](const Index& index) const;
  /// NumPy's x[i, j]: x[{0, j}], x[{all(), -1}], x[{ellipsis(), new_axis(), i}].
  Expr operator[](std::initializer_list<Index> indices) const;

  /// NumPy's x.T: the axes in reverse order. A matrix is transposed; a vector and a scalar are as they were (a column
  /// is expand_dims(x, {1})); a [i, j, k] becomes [k, j, i]. A view. See transpose and dimshuffle in ops/shape/shape.h.
  Expr T(std::source_location where = std::source_location::current()) const;

 private:
  [[noreturn]] static void fail_empty();

  size_t output_ = 0;  // first: in `e = e.node().inputs[0]` the assignment of node_ may free what is read
  std::shared_ptr<const Node> node_;
};

/// A constant, which shares the tensor's memory: the caller leaves the elements alone from then on.
Expr make_constant(Tensor value, std::source_location where = std::source_location::current());
/// The same value under a name that texts and errors show.
Expr named(const Expr& value, std::string name);

// ---- for other parts of the compiler -------------------------------------------------------------------------------

/// The value of a shared variable: the buffer that functions read and update. Held by the nodes that name it.
struct SharedStorage {
  std::string name;
  Type type;
  Tensor value;
  std::shared_ptr<void> claim = {};  // keeps other variables off the value's memory: runtime/shared.cpp
  bool is_generator = false;         // draws from it have default updates: ir/default_updates.h
  bool stays_on_host = false;        // a program for a device computes with a copy: plan/place_transfers.h
};

/// One application of an op. Identity is op, properties, inputs, bodies and recompute tag; leaves (inputs and shared
/// variables) are themselves.
struct Node {
  const Op* op;
  Props props;
  std::vector<Expr> inputs;
  std::vector<GraphPtr> bodies;
  std::vector<Type> types;  // of the outputs
  int recompute = 0;        // nodes of different tags are not merged: a deliberate recomputation stays one
  Origin origin;
  std::string name;    // the user's, for printing; not part of the identity
  int part_steps = 1;  // of how many ops it is the last that x[...] was made of; not part of the identity
  uint64_t serial;  // order of construction in this process; a copy on other inputs or under a name has its original's
  std::shared_ptr<SharedStorage> shared;  // of a shared variable's leaf

  Node() = default;
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  ~Node();  // frees a chain of a million nodes without recursion

  Expr operator[](size_t output) const;  // needs to be held by a shared_ptr already
  bool is_leaf() const;                  // an input or a shared variable
  std::weak_ptr<const Node> self;
};

inline const Type& Expr::type() const {
  return node().types[output_];
}
inline const std::string& Expr::name() const {
  return node().name;
}

/// `value`. UserError where it is empty: "grad: the cost is an empty expression", where `what` is "grad: the cost".
const Expr& require_value(const Expr& value, std::string_view what, const std::source_location& where);

/// Applies an op: checks the inputs by the op's type rule. UserError from the rule names this node's origin. A node
/// that has an effect is told to the EffectScope that is open (ir/effects.h).
std::shared_ptr<const Node> make_node(const Op& op, std::vector<Expr> inputs, Props props = {},
                                      std::vector<GraphPtr> bodies = {},
                                      std::source_location where = std::source_location::current());
/// The first output of make_node.
Expr apply(const Op& op, std::vector<Expr> inputs, Props props = {},
           std::source_location where = std::source_location::current());
/// A copy of `node` on other inputs and bodies: same op, properties, tag, origin and name; types are inferred anew.
std::shared_ptr<const Node> clone_with_inputs(const Node& node, std::vector<Expr> inputs, std::vector<GraphPtr> bodies);

/// The value under another number of part_steps.
Expr as_part(const Expr& value, int steps);

/// The same node under another recomputation tag: merging leaves the two apart.
std::shared_ptr<const Node> tagged(const std::shared_ptr<const Node>& node, int recompute);

/// A leaf of another type, with the name, origin and variable of `leaf`.
Expr leaf_like(const Expr& leaf, Type type, uint64_t serial);

/// All outputs of a node, which a shared_ptr holds already.
std::vector<Expr> outputs_of(const Node& node);

/// A leaf that a caller binds. Lengths that the type leaves open are names: see input_type().
Expr make_input(Type type, std::string name, std::source_location where = std::source_location::current());
/// The same for a body, where it stands for another value in each iteration: it is no length that a call knows before
/// it computes (symbolic_value() gives none).
Expr make_body_input(Type type, std::string name, std::source_location where = std::source_location::current());
Expr make_shared_leaf(std::shared_ptr<SharedStorage> storage, std::source_location where);

bool is_input(const Expr& value);
bool is_shared(const Expr& value);
bool is_constant(const Expr& value);
/// The tensor of a constant; null for anything else.
const Tensor* constant_value(const Expr& value);
/// The number of a scalar constant, or of one whose elements are all equal.
std::optional<double> constant_number(const Expr& value);

/// The value of an integer scalar as a length: a constant's number, an input's name "@i~7", and what arithmetic the ops
/// know (Op::symbolic). nullopt where only running the graph can tell.
std::optional<Dim> symbolic_value(const Expr& scalar);

uint64_t next_serial();

}  // namespace thtrain
