// The contract of an op: a record of rules. One op, one file; passes and printers know rules, never names of ops.
#pragma once

#include <functional>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <vector>

#include "compiler/ir/layout.h"
#include "compiler/ir/node.h"

namespace thtrain {

struct ScalarOp;        // ops/elemwise/scalar_op.h
struct Reduction;       // ops/reduce/reduce_op.h
struct IndexedAxes;     // ops/elemwise/indexed_axes.h
struct Elements;        // ops/index/scatter.h
struct LoopForm;        // ops/loop_form.h
struct Accumulation;    // ops/accumulation.h
struct IterationsRule;  // ops/iterations_rule.h
struct Epilogue;        // ops/epilogue.h
namespace kernel {
class StepBuilder;    // kernel/step_builder.h
class RegionBuilder;  // kernel/region_builder.h
}  // namespace kernel

/// Two lengths that must be equal and that the types alone cannot prove equal: checked when a call begins.
struct LengthCheck {
  Dim left, right;
  std::string what;  // "dot: inner lengths differ"
  Origin origin;
};

/// A length that only the data decides: the value of an int64 scalar output of the node that defines it.
struct DefinedLength {
  std::string name;          // "#mask~14"; one of the node's properties, so that the node keeps it when it is made anew
  std::optional<Dim> bound;  // it is at most that; none: nothing is known
  size_t output = 0;         // whose value it is: at least 0 and at most the bound, which the op checks
};

/// What a type rule sees. require_equal() records what only a call can tell.
struct TypeArgs {
  const Op& op;
  std::span<const Expr> inputs;
  const Props& props;
  std::span<const GraphPtr> bodies;
  const Origin& origin;
  std::vector<LengthCheck>* checks;  // may be null

  /// UserError where there is no such input: text that is read may leave one out.
  const Type& type(size_t i) const {
    if (i >= inputs.size()) fail("an input is missing");
    return inputs[i].type();
  }
  /// UserError where the lengths are known and differ; a check at run time where that cannot be known.
  void require_equal(const Dim& left, const Dim& right, std::string_view what) const;
  void require(bool condition, std::string_view what, std::string_view expected = {}) const;
  [[noreturn]] void fail(std::string_view what, std::string_view expected = {}, std::string_view hint = {}) const;
  std::string inputs_text() const;  // "left float32[60, 784], right ..."
};

/// What a reference implementation sees: dense row-major inputs of the node's types; it returns the outputs.
struct ReferenceArgs {
  const Node& node;
  std::span<const Tensor> inputs;
  const std::vector<Shape>& shapes;                             // of the outputs
  const std::function<int64_t(const std::string&)>& length_of;  // the value of a named length
  /// Evaluates a body graph on values of its inputs.
  const std::function<std::vector<Tensor>(const Graph&, std::span<const Tensor>)>& run_body;

  Tensor make_output(size_t i = 0) const { return Tensor::zeros(node.types[i].dtype, shapes[i]); }
};

/// What a gradient rule sees. It returns one cotangent for each input; an empty Expr means "not connected".
struct GradientArgs {
  const Node& node;
  std::span<const Expr> outputs;     // of the node
  std::span<const Expr> cotangents;  // of the outputs; empty where nothing depends on that output
  /// Reverse-mode derivative of a body: for outputs' cotangents, those of `wrt` (inputs of the body).
  const std::function<std::vector<Expr>(std::span<const Expr> outputs, std::span<const Expr> cotangents,
                                        std::span<const Expr> wrt)>& differentiate;

  const Expr& input(size_t i) const { return node.inputs[i]; }
  const Expr& cotangent() const { return cotangents[0]; }
};

/// What a rule of forward mode sees. It returns one tangent for each output; an empty Expr means zero.
struct JvpArgs {
  const Node& node;
  std::span<const Expr> outputs;   // of the node
  std::span<const Expr> tangents;  // of the inputs, of their types; empty where zero; one at least is there
  /// Forward-mode derivative of a body: for tangents of `wrt` (inputs of the body), those of its outputs.
  const std::function<std::vector<Expr>(std::span<const Expr> outputs, std::span<const Expr> wrt,
                                        std::span<const Expr> tangents)>& differentiate;

  const Expr& input(size_t i) const { return node.inputs[i]; }
  const Expr& tangent(size_t i = 0) const { return tangents[i]; }
};

/// What an error rule sees: values by the reference, and for every element of the inputs a bound on its distance from
/// the exact value, as float64: 0 where it is exact, an infinity where nothing is known. Integers and bools have one of
/// these.
struct ErrorArgs {
  const Node& node;
  std::span<const Tensor> inputs, errors;
  std::span<const Tensor> outputs;
  /// The reference of a node on these inputs.
  const std::function<std::vector<Tensor>(const Node&, std::span<const Tensor>)>& evaluate;
  /// Values and errors of a body's outputs.
  const std::function<std::pair<std::vector<Tensor>, std::vector<Tensor>>(const Graph&, std::span<const Tensor> inputs,
                                                                          std::span<const Tensor> errors)>& run_body;
  const std::function<int64_t(const std::string&)>& length_of;  // the value of a named length

  Tensor make_error(size_t output = 0) const { return Tensor::zeros(DType::kFloat64, outputs[output].shape()); }
};

/// The errors of the outputs: what those of the inputs become, and the roundings of the op itself, in the reference and
/// in native code alike.
using ErrorRule = std::function<std::vector<Tensor>(const ErrorArgs&)>;

/// How a node reads one of its inputs: what a loop must have of it before it can compute one element of an output. Each
/// needs at least as much as the one before.
enum class Access : uint8_t {
  kElement,  // the element at its own location; of a broadcast input, the one that is repeated there
  kRow,      // the slice that it belongs to: the elements of a reduction, a row of a softmax
  kIndexed,  // elements at computed locations; the integers that name the locations count as read so
  kWhole,    // all of it, or nobody knows
};

/// `output` may lie in the memory of `input`.
struct Alias {
  size_t output = 0, input = 0;
  /// A view: the output is elements of the input, in this layout, and no code computes it. nullopt: not of an input
  /// that lies so; the planner then looks at a row-major copy of it, or computes the output where the op has code.
  /// Null: the output may be written over the input, by the kernel that reads it, where both have the same type.
  std::function<std::optional<Layout>(const LayoutArgs&)> view = {};
};

/// `output` is what follows the state of a generator that is given as `input`.
struct Advance {
  size_t input = 0, output = 0;
};

/// Floating-point operations and bytes moved by one evaluation.
struct Cost {
  Dim flops = 0;
  Dim bytes = 0;
};

/// A row of an op's test cases: builds the op on inputs of these types.
struct OpCase {
  std::string name;
  std::vector<Type> inputs;
  std::function<std::vector<Expr>(const std::vector<Expr>&)> build;
  double low = -2, high = 2;  // random floating inputs come from here
  int64_t int_low = 0, int_high = 4;
  bool smooth = true;  // gradient is checked by finite differences
  double bound = 0;    // native against reference, in units of the last place of the largest value; 0: equal bits
};

/// Where a value lies, and what is computed from it: in a function for a device.
enum class Place : uint8_t { kAnywhere, kHost, kDevice };

struct Op {
  std::string name;
  /// What it computes, and lines that begin with Shapes:, dtypes:, Gradient:, Edge cases:, Example: and Source: (of a
  /// published method). `thtrain info --ops` and docs/ops.md have it, with what the rules add (ops/op_text.h).
  std::string doc;
  /// What errors call a node of these properties: the builder that makes it. Null: the op's name. Ask name_in_errors().
  std::string (*called)(const Props& props) = nullptr;

  /// Dtype and lengths of the outputs, or a UserError. Looks at types, and at symbolic values of integer scalars.
  std::function<std::vector<Type>(const TypeArgs&)> infer = {};
  /// The definition: plain, slow, obviously right.
  std::function<std::vector<Tensor>(const ReferenceArgs&)> reference = {};
  /// Null: an elementwise op's follows from its record, that of a fused one from its body; another op's inputs are
  /// moved within their errors, and its results are taken to be rounded a few times.
  ErrorRule error = {};
  /// Null: there is no rule. A derivative that would pass the op, from a floating input to a floating output between
  /// which `connection` does not say that there is none, is then a UserError.
  std::function<std::vector<Expr>(const GradientArgs&)> gradient = {};
  /// Forward mode: the outputs' tangents, the Jacobian times those of the inputs. Null: derived from the gradient by
  /// two reverse passes over this op (autodiff/forward.h).
  std::function<std::vector<Expr>(const JvpArgs&)> jvp = {};

  /// Exactly one of these says how native code computes what is no view (`aliases`).
  std::function<void(kernel::StepBuilder&)> lower = {};           // a kernel or a library call
  std::function<void(kernel::RegionBuilder&)> lower_region = {};  // a loop or a branch around bodies
  bool calls_reference = false;                                   // called back through the context
  const ScalarOp* scalar = nullptr;                               // elementwise: fused and lowered by the one record

  /// For each input where in output 0, which has that layout, the op copies it to, all of it and unchanged. The planner
  /// computes an input there where it can; the lowering leaves it out (StepBuilder::is_at_destination). Null: nowhere.
  std::function<std::vector<Layout>(const Node&, const Layout& output)> destinations = {};
  /// Combines elements along axes: loops over slices take it in by the record that its `lower` comes from.
  const Reduction* reduction = nullptr;

  /// How the node reads input i. Null: elementwise ops by element, gathers through their index, nodes made by fusion as
  /// their body does; of others, all is needed. Ask access_of().
  std::function<Access(const Node&, size_t input)> access = {};
  /// Reads elements of input 0, and of its dtype, at locations that the integers of the other inputs name: a loop that
  /// needs them may load them there.
  IndexedAxes (*gather)(const Node& node) = nullptr;
  /// Writes the elements in input 1 into a part of input 0: a loop that computes them may store them there. The kernels
  /// of `node`, but for where the elements come from: the step's inputs are the node's, in their order, and more after
  /// them; input 1 is not read.
  void (*scatter)(kernel::StepBuilder& b, const Node& node, const Elements& elements) = nullptr;

  /// The same by elementwise ops and reductions, so that it can be fused with its neighbours; empty: this node is not.
  std::function<Expr(const Node&, std::span<const Expr> inputs)> expand = {};
  /// The same for a node that is better on its own, unless a loop runs over the large array that it reads anyway.
  const LoopForm* loop_form = nullptr;
  /// Adds its value to another one as it computes it: y + alpha x as one node.
  const Accumulation* accumulation = nullptr;
  /// Its values in a loop's body, computed for all iterations at once.
  const IterationsRule* iterations = nullptr;
  /// Its kernel can begin and end with elementwise expressions.
  const Epilogue* epilogue = nullptr;
  /// The elements of input 0 under other axes: axis k of the output is axis order[k] of the input, or a new one of
  /// length 1 for -1. Ask axis_order_of().
  const std::vector<int64_t>& (*axis_order)(const Node&) = nullptr;
  /// The value is input 0: the op is there for its derivatives, and goes when none is left to take.
  bool only_derivatives = false;
  /// The value is input 0, and lies there: the user has placed it (ops/control/placement.h).
  Place place = Place::kAnywhere;

  /// May input i have this layout (strides, any offset)? Null: any. Others are copied to row-major first.
  std::function<bool(const Node&, size_t, const Layout&)> accepts_layout = {};
  /// Which output may lie in the memory of which input: views, and what may be overwritten. What an elementwise node or
  /// one made by fusion reads by element, or row by row, needs no line here: any output of the same type may be written
  /// over it.
  std::vector<Alias> aliases = {};
  /// What may be overwritten of an op whose numbers of inputs and outputs differ from node to node.
  std::function<bool(const Node&, size_t output, size_t input)> overwrites = {};
  /// Made by fusion: the body is one kernel's text, which no pass looks into. It writes an element (or a row) after it
  /// has read everything that this one follows from.
  bool fused = false;
  bool commutative = false;  // two inputs, any order
  /// Does something besides giving values: stays although nothing reads it, in the order of construction. Its last
  /// output is a token, and it may take one as its last input (ir/effects.h).
  bool has_effect = false;
  /// Of an op with an effect: its outputs without it, for what is computed a second time (the values that a gradient
  /// needs again, the checks of the debug mode). Null: the effect takes place then too.
  std::function<std::vector<Expr>(const Node&, std::span<const Expr> inputs)> without_effect = {};
  bool foldable = true;  // constants in, constant out, may be computed while compiling
  /// A draw of random numbers. Where its generator is a shared variable with a default update, a function that
  /// computes the draw updates it so (ir/default_updates.h).
  std::optional<Advance> advances = {};
  /// The value as a length, for integer scalars.
  std::function<std::optional<Dim>(const Node&, std::span<const Dim>)> symbolic = {};
  /// Lengths that the node defines. Types of other nodes may name them; its own may not.
  std::function<std::vector<DefinedLength>(const Node&)> defines = {};
  std::function<Cost(const Node&)> cost = {};
  /// connection(i, o): does output o depend on input i so that it has a derivative? Default: yes. Ask is_connected().
  /// Of a node with bodies: ConnectionsOfBodies (ops/control/connections.h).
  std::function<bool(const Node&, size_t, size_t)> connection = {};
  std::function<std::vector<OpCase>()> cases = {};
  std::source_location defined_at = std::source_location::current();  // the record
};

Access access_of(const Node& node, size_t input);
/// How the outputs of a body read one of its inputs, whatever lies between.
Access access_through(const Graph& body, size_t input);

/// The pair that makes that output a view; null where it is none.
const Alias* view_rule(const Op& op, size_t output);
/// Is the value a view of an input of its node (where the input's layout allows it)?
bool is_view(const Expr& value);
/// The input that a view looks at.
const Expr& viewed_by(const Expr& view);

std::string name_in_errors(const Op& op, const Props& props);

/// Op::axis_order of a node; null where it has none.
const std::vector<int64_t>* axis_order_of(const Node& node);

/// Has the user placed the node's values on the host? They are so where a value is that it reads: on_host(input).
template <class F>
bool lies_on_host(const Node& node, F on_host) {
  if (node.op->place != Place::kAnywhere) return node.op->place == Place::kHost;
  for (const Expr& input : node.inputs)
    if (input.type().kind != TypeKind::kToken && on_host(input)) return true;
  return false;
}

/// May output `output` of a node have a derivative with respect to its input `input`?
bool is_connected(const Node& node, size_t input, size_t output);

// The leaves.
const Op& input_op();
const Op& shared_op();
const Op& constant_op();
const Op& start_token_op();

}  // namespace thtrain
