// Code for a body of elementwise nodes: which term stands for which value, as a loop nest is written.
#pragma once

#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/kernel/nest.h"
#include "compiler/ops/elemwise/scalar_op.h"

namespace thtrain {

/// The dtypes that an elementwise node computes with.
Signature signature_of(const Node& node);

/// Does the record have code in the loop language for this node's dtypes?
bool has_scalar_code(const Node& node);

/// Simple operations for each element of an elementwise node (kernel/term_cost.h); a read through an index counts as 4.
int64_t weight_of(const Node& node);
/// Flops for each element of an elementwise node, by the same table.
int64_t flops_of(const Node& node);
/// Bytes of the widest number (of complex ones: part) that an elementwise node touches; of one that reads through an
/// index, of its result.
size_t widest_of(const Node& node);

/// The nodes between the two, inputs first; not the inputs of `inputs`.
std::vector<const Node*> nodes_between(std::span<const Expr> inputs, std::span<const Expr> outputs);

/// Values by expression. Copies are cheap enough to be taken where a scope begins.
class BodyValues {
 public:
  bool has(const Expr& e) const { return values_.count(key(e)) != 0; }
  /// Constants count as known.
  bool known(const Expr& e) const { return has(e) || constant_value(e); }
  Parts parts(const Expr& e) const;
  /// Of a value that is not complex.
  kernel::Term at(const Expr& e) const;
  void set(const Expr& e, Parts value) { values_[key(e)] = std::move(value); }

 private:
  struct Hash {
    size_t operator()(const std::pair<const Node*, size_t>& k) const {
      return std::hash<const void*>{}(k.first) * 31 + k.second;
    }
  };
  static std::pair<const Node*, size_t> key(const Expr& e) { return {&e.node(), e.output()}; }
  std::unordered_map<std::pair<const Node*, size_t>, Parts, Hash> values_;
};

/// Writes the code of one elementwise node, whose inputs are known, and notes its outputs.
void write_node(kernel::Names& names, const Node& node, BodyValues& values);
/// Loads the value at a location of a nest, or stores one there: of a complex operand two numbers side by side.
Parts load_value(kernel::Nest& nest, const std::string& name, const kernel::Location& location);
void store_value(kernel::Nest& nest, const kernel::Location& location, const Parts& value);
/// Adds the nodes whose values are not there yet to a nest, in order.
void add_nodes(kernel::Nest& nest, std::span<const Node* const> nodes, BodyValues& values);

/// A variable's name in generated code, from a name that a person gave. Layers' names and numbers are left out: kernels
/// of layers of one shape then have one text, which is compiled once.
std::string identifier(std::string name);
/// The variable of a body's input `number` when it is loaded.
std::string name_of_input(const Expr& input, size_t number);
/// "add_tanh": what a kernel over these nodes is called.
std::string kernel_name(std::span<const Node* const> nodes);
/// "out0 = tanh(add(in0, in1)), float32[60, 500]"
std::string kernel_comment(std::span<const Node* const> nodes, std::span<const Expr> inputs,
                           std::span<const Expr> outputs);

/// Strides of an operand over a loop nest's axes, to which its own are aligned at the right; 0 where it is broadcast.
Dims strides_over(const Dims& domain, const kernel::Operand& operand);
/// Does an operand with these strides have an element for each of the domain?
bool has_each_element(const Dims& domain, const Dims& strides);

}  // namespace thtrain
