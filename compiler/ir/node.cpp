#include "compiler/ir/node.h"

#include <atomic>
#include <unordered_map>

#include "compiler/base/escape.h"
#include "compiler/ir/effects.h"
#include "compiler/ir/graph.h"
#include "compiler/ir/lengths.h"
#include "compiler/ir/op.h"

namespace thtrain {

Node::~Node() {
  // A destructor that runs inside another one only hands over its inputs: the outermost frees them in a loop. The
  // pointer needs no destructor of its own: nodes in static tables die after the thread's other variables.
  thread_local std::vector<Expr>* pending = nullptr;
  if (pending) {
    for (Expr& input : inputs) pending->push_back(std::move(input));
    return;
  }
  std::vector<Expr> own = std::move(inputs);
  pending = &own;
  while (!own.empty()) {
    Expr last = std::move(own.back());
    own.pop_back();
  }
  pending = nullptr;
}

static Message empty_message(std::string_view what) {
  return {.what = str(what, " is an empty expression"),
          .expected = "an expression that was built before",
          .got = "Expr(), which has no value",
          .hint = "Expr::has_value() tells whether there is one"};
}

static Message located(Message message, const Origin& origin) {
  message.node = origin.text();
  message.config = origin.config();
  return message;
}

void Expr::fail_empty() {
  throw UserError(empty_message("what is asked for its type or node"));
}

const Expr& require_value(const Expr& value, std::string_view what, const std::source_location& where) {
  if (value.has_value()) return value;
  throw UserError(located(empty_message(what), Origin::here(where)));
}

Expr Node::operator[](size_t output) const {
  return Expr(self.lock(), output);
}
bool Node::is_leaf() const {
  return op == &input_op() || op == &shared_op();
}

uint64_t next_serial() {
  static std::atomic<uint64_t> serial{0};
  return ++serial;
}

// A copy of a node has its original's serial: an effect keeps its place in the order of construction.
static std::shared_ptr<const Node> finish(std::shared_ptr<Node> node, const Node* original = nullptr) {
  node->serial = original ? original->serial : next_serial();
  node->self = node;
  return node;
}

static std::vector<Type> inferred(const Node& node) {
  for (const Expr& input : node.inputs)
    if (!input.has_value()) throw UserError(located(empty_message(str(node.op->name, ": an input")), node.origin));
  return node.op->infer({*node.op, node.inputs, node.props, node.bodies, node.origin, nullptr});
}

// Where no line of a user is known, as in a call by std::accumulate, an input's line is the nearest that is.
static Origin origin_of(const std::vector<Expr>& inputs, const std::source_location& where) {
  Origin out = Origin::here(where);
  for (size_t i = 0; i < inputs.size() && out.line == 0; ++i)
    if (inputs[i].has_value()) out.file = inputs[i].node().origin.file, out.line = inputs[i].node().origin.line;
  return out;
}

std::shared_ptr<const Node> make_node(const Op& op, std::vector<Expr> inputs, Props props, std::vector<GraphPtr> bodies,
                                      std::source_location where) {
  auto node = std::make_shared<Node>();
  node->op = &op;
  node->origin = origin_of(inputs, where);
  node->inputs = std::move(inputs);
  node->props = std::move(props);
  node->bodies = std::move(bodies);
  node->types = inferred(*node);
  const std::shared_ptr<const Node> out = finish(std::move(node));
  EffectScope::record(out);
  return out;
}

Expr apply(const Op& op, std::vector<Expr> inputs, Props props, std::source_location where) {
  return Expr(make_node(op, std::move(inputs), std::move(props), {}, where));
}

// Do the types of the outputs stay what they are on these inputs? They follow from types, properties, bodies and the
// values of integer scalars, which may be lengths.
static bool keeps_types(const Node& node, const std::vector<Expr>& inputs, const std::vector<GraphPtr>& bodies) {
  if (inputs.size() != node.inputs.size() || bodies != node.bodies) return false;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].has_value() || !(inputs[i].type() == node.inputs[i].type())) return false;
    if (inputs[i].type().is_scalar() && is_int(inputs[i].dtype()) && !inputs[i].same(node.inputs[i])) return false;
  }
  return true;
}

// The same but for inputs and bodies; without a serial number.
static std::shared_ptr<Node> copy_of(const Node& node, std::vector<Expr> inputs, std::vector<GraphPtr> bodies) {
  auto out = std::make_shared<Node>();
  out->op = node.op;
  out->props = node.props;
  out->inputs = std::move(inputs);
  out->bodies = std::move(bodies);
  out->types = node.types;
  out->recompute = node.recompute;
  out->origin = node.origin;
  out->name = node.name;
  out->part_steps = node.part_steps;
  out->shared = node.shared;
  return out;
}

std::shared_ptr<const Node> clone_with_inputs(const Node& node, std::vector<Expr> inputs,
                                              std::vector<GraphPtr> bodies) {
  const bool keeps = keeps_types(node, inputs, bodies);
  std::shared_ptr<Node> out = copy_of(node, std::move(inputs), std::move(bodies));
  if (!keeps) out->types = inferred(*out);
  return finish(std::move(out), &node);
}

std::shared_ptr<const Node> tagged(const std::shared_ptr<const Node>& node, int recompute) {
  if (node->recompute == recompute) return node;
  std::shared_ptr<Node> out = copy_of(*node, node->inputs, node->bodies);
  out->recompute = recompute;
  return finish(std::move(out));
}

Expr leaf_like(const Expr& leaf, Type type, uint64_t serial) {
  std::shared_ptr<Node> out = copy_of(leaf.node(), {}, {});
  out->types = {std::move(type)};
  out->serial = serial;
  out->self = out;
  return Expr(std::shared_ptr<const Node>(std::move(out)));
}

std::vector<Expr> outputs_of(const Node& node) {
  std::vector<Expr> out;
  out.reserve(node.types.size());
  for (size_t o = 0; o < node.types.size(); ++o) out.push_back(node[o]);
  return out;
}

static Expr make_input_leaf(Type type, std::string name, Props props, const std::source_location& where) {
  auto node = std::make_shared<Node>();
  node->op = &input_op();
  node->origin = Origin::here(where);
  node->name = std::move(name);
  node->props = std::move(props);
  node->types = {std::move(type)};
  return Expr(finish(std::move(node)));
}

Expr make_input(Type type, std::string name, std::source_location where) {
  return make_input_leaf(std::move(type), std::move(name), {}, where);
}

Expr make_body_input(Type type, std::string name, std::source_location where) {
  return make_input_leaf(std::move(type), std::move(name), {{"in_body", true}}, where);
}

Expr make_shared_leaf(std::shared_ptr<SharedStorage> storage, std::source_location where) {
  auto node = std::make_shared<Node>();
  node->op = &shared_op();
  node->origin = Origin::here(where);
  node->name = storage->name;
  node->types = {storage->type};
  node->shared = std::move(storage);
  return Expr(finish(std::move(node)));
}

Expr make_constant(Tensor value, std::source_location where) {
  Props props;
  props.set("value", std::move(value));
  return apply(constant_op(), {}, std::move(props), where);
}

Expr named(const Expr& value, std::string name) {
  const Node& old = value.node();
  if (old.is_leaf())
    throw UserError({.what = "named: an input or a shared variable has the name that it was made with",
                     .expected = "a value that an op computes, or a constant",
                     .got = old.name.empty() ? std::string("a variable without a name") : escaped(old.name),
                     .node = old.origin.text()});
  std::shared_ptr<Node> node = copy_of(old, old.inputs, old.bodies);
  node->name = std::move(name);
  return Expr(finish(std::move(node), &old), value.output());
}

Expr as_part(const Expr& value, int steps) {
  const Node& old = value.node();
  if (old.part_steps == steps) return value;
  std::shared_ptr<Node> node = copy_of(old, old.inputs, old.bodies);
  node->part_steps = steps;
  return Expr(finish(std::move(node), &old), value.output());
}

bool is_input(const Expr& value) {
  return value.node().op == &input_op();
}
bool is_shared(const Expr& value) {
  return value.node().op == &shared_op();
}
bool is_constant(const Expr& value) {
  return value.node().op == &constant_op();
}

const Tensor* constant_value(const Expr& value) {
  return is_constant(value) ? &value.node().props.get<Tensor>("value") : nullptr;
}

std::optional<double> constant_number(const Expr& value) {
  const Tensor* tensor = constant_value(value);
  if (!tensor || is_complex(tensor->dtype()) || tensor->size() == 0 || tensor->size() > 4096) return std::nullopt;
  double first = tensor->as_double(0);
  for (int64_t i = 1; i < tensor->size(); ++i)
    if (tensor->as_double(i) != first) return std::nullopt;
  return first;
}

std::optional<Dim> symbolic_value(const Expr& scalar) {
  if (!scalar.type().is_scalar() || !(is_int(scalar.dtype()) || is_bool(scalar.dtype()))) return std::nullopt;
  std::unordered_map<const Node*, std::optional<Dim>> known;
  std::vector<const Node*> stack{&scalar.node()};
  while (!stack.empty()) {
    const Node* node = stack.back();
    if (known.count(node)) {
      stack.pop_back();
      continue;
    }
    const DType kind = node->types[0].dtype;
    if (!is_int(kind) && !is_bool(kind)) {
      known[node] = std::nullopt;  // a float that becomes an integer loses its fraction
    } else if (!node->inputs.empty() && size_of(kind) < 4) {
      known[node] = std::nullopt;  // a sum of bools is true, one of int8 wraps around
    } else if (node->op == &constant_op()) {
      known[node] = Dim(node->props.get<Tensor>("value").as_int());
    } else if (node->op == &input_op() && node->types[0].is_scalar() && !node->props.has("in_body")) {
      known[node] = Dim::named(value_name(*node));
    } else if (!node->op->symbolic) {
      known[node] = std::nullopt;
    } else {
      bool ready = true;
      std::vector<Dim> values;
      bool all = true;
      for (const Expr& input : node->inputs) {
        auto at = known.find(&input.node());
        if (at == known.end()) {
          stack.push_back(&input.node());
          ready = false;
        } else if (at->second) {
          values.push_back(*at->second);
        } else {
          all = false;
        }
      }
      if (!ready) continue;
      known[node] = all ? node->op->symbolic(*node, values) : std::nullopt;
    }
  }
  return known[&scalar.node()];
}

// ---- type rules' helpers -------------------------------------------------------------------------------------------

std::string TypeArgs::inputs_text() const {
  return join(inputs, ", ", [](const Expr& input) {
    return readable(str(input.name().empty() ? "" : str(escaped(input.name()), " "), input.type().text()));
  });
}

void TypeArgs::fail(std::string_view what, std::string_view expected, std::string_view hint) const {
  throw UserError({.what = str(name_in_errors(op, props), ": ", what),
                   .expected = std::string(expected),
                   .got = inputs_text(),
                   .node = origin.text(),
                   .config = origin.config(),
                   .hint = std::string(hint)});
}

void TypeArgs::require(bool condition, std::string_view what, std::string_view expected) const {
  if (!condition) fail(what, expected);
}

void TypeArgs::require_equal(const Dim& left, const Dim& right, std::string_view what) const {
  if (left == right) return;
  if (left.is_known() && right.is_known()) fail(what, str(left.value(), " == ", right.value()));
  if (checks) checks->push_back({left, right, str(name_in_errors(op, props), ": ", what), origin});
}

// ---- leaves --------------------------------------------------------------------------------------------------------

static std::vector<Type> no_inference(const TypeArgs& args) {
  TH_CHECK(false, "the type of ", args.op.name, " is given, not inferred");
  return {};
}
static std::vector<Tensor> no_reference(const ReferenceArgs& args) {
  TH_CHECK(false, "the value of ", args.node.op->name, " is bound, not computed");
  return {};
}

const Op& input_op() {
  static const Op op{.name = "input",
                     .doc =
                         "A value that the caller gives.\n"
                         "Shapes: any.\n"
                         "dtypes: any.\n"
                         "Gradient: what grad is asked for.\n"
                         "Example: x in f(x)",
                     .infer = no_inference,
                     .reference = no_reference,
                     .foldable = false};
  return op;
}

const Op& shared_op() {
  static const Op op{.name = "shared",
                     .doc =
                         "The buffer of a shared variable: weights, running means, the state of a generator.\n"
                         "Shapes: any.\n"
                         "dtypes: any.\n"
                         "Gradient: what grad is asked for.",
                     .infer = no_inference,
                     .reference = no_reference,
                     .foldable = false};
  return op;
}

const Op& constant_op() {
  static const Op op{
      .name = "constant",
      .doc =
          "A value that is part of the program.\n"
          "Shapes: any.\n"
          "dtypes: any.\n"
          "Gradient: none.\n"
          "Example: 2",
      .infer = [](const TypeArgs& a) { return std::vector<Type>{type_of(a.props.get<Tensor>("value"))}; },
      .reference = [](const ReferenceArgs& a) { return std::vector<Tensor>{a.node.props.get<Tensor>("value")}; },
      .foldable = false};
  return op;
}

const Op& start_token_op() {
  static const Op op{.name = "start_token",
                     .doc =
                         "The token that the first effect of a program takes: the order of prints begins here.\n"
                         "Shapes: a token has no numbers.\n"
                         "dtypes: none.\n"
                         "Gradient: none.",
                     .infer = [](const TypeArgs&) { return std::vector<Type>{token_type()}; },
                     .reference = [](const ReferenceArgs&) { return std::vector<Tensor>{Tensor(false)}; },
                     .foldable = false};
  return op;
}

}  // namespace thtrain
