#include "compiler/ir/roles.h"

#include "compiler/ir/op.h"

namespace thtrain {
namespace {

bool is_source(const Node& node) {
  return node.is_leaf() || node.inputs.empty();
}

// Operands of a product, which are computed for the gradient; scalar factors and what is added to belong to the update.
bool is_operand_of_product(const Node& node, size_t input) {
  return access_of(node, input) == Access::kWhole;
}

// A product that adds to its first input: what the optimizer adds to becomes an operand of the gradient's product.
bool is_accumulation(const Node& node) {
  if (node.inputs.empty() || access_of(node, 0) != Access::kElement) return false;
  for (size_t i = 1; i < node.inputs.size(); ++i)
    if (is_operand_of_product(node, i)) return true;
  return false;
}

// The graph as if nothing were fused: an atom is a node, or an operation inside of a fused one.
class RoleFinder {
 public:
  explicit RoleFinder(const Graph& graph) : graph_(graph) {}

  NodeMap<Roles> run() {
    std::vector<const Node*> order = topological_order(graph_.roots());
    for (const Node* node : order) {
      if (node->op->fused && !node->bodies.empty())
        add_fused(*node);
      else
        add(*node, nullptr);
    }
    for (const Update& update : graph_.updates)
      if (Atom& atom = atom_at(update.value); atom.node->origin.in_gradient)
        atom.is_updated = is_accumulation(*atom.node);
    mark_what_is_needed();
    for (const Atom& atom : atoms_) {
      const Roles roles = roles_of_atom(atom);
      roles_[atom.node] |= roles;
      if (atom.outer) roles_[atom.outer] |= roles;
    }
    for (const Node* node : order)
      if (!node->op->fused)
        for (const GraphPtr& body : node->bodies) add_body(*body);
    return std::move(roles_);
  }

 private:
  struct Atom {
    const Node* node;
    const Node* outer;  // the fused node around it, or null
    std::vector<size_t> inputs = {};
    bool after_gradient = false;  // depends on a gradient
    bool is_constant = false;     // computed from constants alone, by whom does not count
    bool for_output = false, for_gradient = false, is_updated = false;
  };

  Atom& atom_at(const Expr& value) { return atoms_[atom_of_.at(&value.node())[value.output()]]; }

  void add(const Node& node, const Node* outer) {
    // A loop's state of zeros may be one node with zeros of the gradient.
    Atom atom{.node = &node, .outer = outer, .is_constant = node.op == &constant_op() || !node.is_leaf()};
    for (const Expr& input : node.inputs) {
      const size_t from = atom_of_.at(&input.node())[input.output()];
      atom.inputs.push_back(from);
      const Atom& other = atoms_[from];
      atom.is_constant = atom.is_constant && other.is_constant;
      atom.after_gradient =
          atom.after_gradient || other.after_gradient || (other.node->origin.in_gradient && !other.is_constant);
    }
    atoms_.push_back(std::move(atom));
    atom_of_[&node] = std::vector<size_t>(node.types.size(), atoms_.size() - 1);
  }

  // Bodies may be shared by several nodes: their entries are overwritten each time.
  void add_fused(const Node& node) {
    const Graph& body = *node.bodies[0];
    for (size_t i = 0; i < body.inputs.size() && i < node.inputs.size(); ++i) {
      const Expr& outside = node.inputs[i];
      atom_of_[&body.inputs[i].node()] = {atom_of_.at(&outside.node())[outside.output()]};
    }
    NodeMap<bool> is_parameter;
    for (const Expr& input : body.inputs) is_parameter[&input.node()] = true;
    for (const Node* inner : topological_order(body.roots()))
      if (!is_parameter.contains(inner)) add(*inner, &node);
    std::vector<size_t> outputs;
    for (const Expr& output : body.outputs) outputs.push_back(atom_of_.at(&output.node())[output.output()]);
    outputs.resize(node.types.size(), outputs.empty() ? 0 : outputs.back());
    atom_of_[&node] = std::move(outputs);
  }

  void mark_what_is_needed() {
    auto need = [&](const Expr& value) { atom_at(value).for_output = true; };
    for (const Expr& output : graph_.outputs) need(output);
    for (const Expr& effect : graph_.effects) need(effect);
    // What is updated without the gradient, as a running mean or the sum of losses, belongs to the forward pass.
    for (const Update& update : graph_.updates)
      if (const Atom& atom = atom_at(update.value); !atom.after_gradient && !atom.node->origin.in_gradient)
        need(update.value);
    for (size_t i = atoms_.size(); i-- > 0;)
      for (size_t k = 0; k < atoms_[i].inputs.size(); ++k) {
        const Atom& reader = atoms_[i];
        Atom& input = atoms_[reader.inputs[k]];
        const bool is_for_update = reader.is_updated && !is_operand_of_product(*reader.node, k);
        input.for_output = input.for_output || reader.for_output;
        input.for_gradient =
            input.for_gradient || reader.for_gradient || (reader.node->origin.in_gradient && !is_for_update);
      }
  }

  static Roles roles_of_atom(const Atom& atom) {
    if (is_source(*atom.node)) return {};
    if (atom.node->origin.in_gradient) return {.gradient = true, .update = atom.is_updated};
    const bool is_forward = atom.for_gradient || (atom.for_output && !atom.after_gradient);
    return {.forward = is_forward, .update = !is_forward};
  }

  // Of loops and branches: their nodes know only whether they belong to a gradient.
  void add_body(const Graph& body) {
    for (const Node* node : topological_order(body.roots())) {
      if (!is_source(*node))
        roles_[node] |= {.forward = !node->origin.in_gradient, .gradient = node->origin.in_gradient};
      for (const GraphPtr& inner : node->bodies) add_body(*inner);
    }
  }

  const Graph& graph_;
  std::vector<Atom> atoms_;
  NodeMap<std::vector<size_t>> atom_of_;  // of each output
  NodeMap<Roles> roles_;
};

void add_notes(const Graph& graph, const NodeMap<Roles>& roles, NodeNotes& notes) {
  for (const Node* node : text_order(graph)) {
    const Roles* own = roles.find(node);
    if (own && (own->gradient || own->update)) notes[node] = text_of(*own);
    for (const GraphPtr& body : node->bodies) add_notes(*body, roles, notes);
  }
}

}  // namespace

Roles& Roles::operator|=(const Roles& other) {
  forward = forward || other.forward;
  gradient = gradient || other.gradient;
  update = update || other.update;
  return *this;
}

std::string text_of(const Roles& roles) {
  std::string out;
  auto add = [&](bool has, const char* word) {
    if (has) out += str(out.empty() ? "" : "+", word);
  };
  add(roles.forward, "forward");
  add(roles.gradient, "gradient");
  add(roles.update, "update");
  return out;
}

NodeMap<Roles> roles_of(const Graph& graph) {
  return RoleFinder(graph).run();
}

NodeNotes role_notes(const Graph& graph) {
  NodeNotes out;
  add_notes(graph, roles_of(graph), out);
  return out;
}

std::string text_with_roles(const Graph& graph) {
  return graph_text(graph, role_notes(graph));
}

}  // namespace thtrain
