#include "compiler/passes/find_gemm.h"

#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "compiler/ir/op.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/elemwise/scalar_table.h"
#include "compiler/ops/linalg/linalg.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {
namespace {

// sign * product of scalars * value
struct Summand {
  Expr value;
  std::vector<Expr> factors;
  bool negative;
};

// A sum that holds a product, in terms of the old graph.
struct Found {
  Summand product;
  std::vector<Summand> rest;
};

class Finder {
 public:
  Finder(const Graph& graph, const PassContext& context) : graph_(graph), context_(context) {}

  Graph run() {
    std::vector<Expr> roots = graph_.roots();
    std::vector<const Node*> order = topological_order(roots);
    for (const Node* node : order)
      for (const Expr& input : node->inputs) ++readers_[&input.node()];
    for (const Expr& root : roots) ++readers_[&root.node()];
    for (size_t i = order.size(); i-- > 0;) look_at(*order[i]);  // readers first: the outermost sum wins

    Rebuilder::Rewrite rewrite = [&](const Node& node, const std::vector<Expr>& inputs) {
      return rewritten(node, inputs);
    };
    Graph out;
    out.inputs = graph_.inputs;
    out.outputs = rebuilder_.rebuild(graph_.outputs, rewrite);
    for (const Update& u : graph_.updates) out.updates.push_back({u.variable, rebuilder_.rebuild(u.value, rewrite)});
    return out;
  }

 private:
  void look_at(const Node& node) {
    if (inside_.count(&node) || (node.op != &add_op() && node.op != &sub_op()) || !is_float(node.types[0].dtype))
      return;
    std::vector<Summand> summands;
    std::vector<const Node*> passed;
    expand({node[0], {}, false}, true, summands, passed);
    if (summands.size() < 2) return;
    for (size_t i = 0; i < summands.size(); ++i) {
      const Expr& value = summands[i].value;
      if (readers_[&value.node()] != 1 || !is_product(value)) continue;
      Found found{summands[i], {}};
      for (size_t k = 0; k < summands.size(); ++k)
        if (k != i) found.rest.push_back(summands[k]);
      // beta needs one matrix to scale; a sum of several is made first.
      found_.emplace(&node, std::move(found));
      for (const Node* inner : passed) inside_.insert(inner);
      return;
    }
  }

  // Splits a sum into its summands, through nodes that only this sum reads.
  void expand(Summand s, bool outermost, std::vector<Summand>& out, std::vector<const Node*>& passed) {
    const Node& node = s.value.node();
    const Type& type = s.value.type();
    bool own = outermost || readers_[&node] == 1;
    auto same = [&](const Expr& e) { return e.type() == type; };
    auto scalar = [&](const Expr& e) { return e.type().is_scalar() && e.dtype() == type.dtype; };
    if (own && (node.op == &add_op() || node.op == &sub_op()) && same(node.inputs[0]) && same(node.inputs[1])) {
      passed.push_back(&node);
      expand({node.inputs[0], s.factors, s.negative}, false, out, passed);
      expand({node.inputs[1], s.factors, s.negative != (node.op == &sub_op())}, false, out, passed);
    } else if (own && node.op == &neg_op()) {
      passed.push_back(&node);
      expand({node.inputs[0], s.factors, !s.negative}, false, out, passed);
    } else if (own && !outermost && node.op == &mul_op() &&
               ((scalar(node.inputs[0]) && same(node.inputs[1])) || (scalar(node.inputs[1]) && same(node.inputs[0])))) {
      passed.push_back(&node);
      size_t factor = scalar(node.inputs[0]) ? 0 : 1;
      s.factors.push_back(node.inputs[factor]);
      expand({node.inputs[1 - factor], s.factors, s.negative}, false, out, passed);
    } else {
      out.push_back(std::move(s));
    }
  }

  static bool is_outer(const Node& node) {
    if (node.op != &mul_op() || node.types[0].rank() != 2) return false;
    auto made_of_vector = [](const Expr& e, Ints order) {
      return e.node().op == &dimshuffle_op() && e.node().props.get<Ints>("order") == order;
    };
    return made_of_vector(node.inputs[0], {0, -1}) && made_of_vector(node.inputs[1], {-1, 0});
  }

  static bool is_product(const Expr& value) {
    const Node& node = value.node();
    return (node.op == &dot_op() && value.rank() >= 1) || is_outer(node);
  }

  Expr built(const Expr& old) { return rebuilder_.rebuild(old, nullptr); }

  Expr number(double x, DType dtype) { return make_constant(Tensor(x).cast(dtype)); }

  Expr coefficient(const Summand& s, DType dtype) {
    double known = s.negative ? -1 : 1;
    Expr out;
    for (const Expr& factor : s.factors) {
      Expr f = built(factor);
      if (std::optional<double> value = constant_number(f))
        known *= *value;
      else
        out = out ? mul(out, f) : f;
    }
    if (!out) return number(known, dtype);
    return known == 1 ? out : known == -1 ? neg(out) : mul(out, number(known, dtype));
  }

  std::vector<Expr> rewritten(const Node& node, const std::vector<Expr>& inputs) {
    if (!node.bodies.empty() && !node.op->fused) {
      std::vector<GraphPtr> bodies;
      for (const GraphPtr& body : node.bodies)
        bodies.push_back(std::make_shared<const Graph>(Finder(*body, context_).run()));
      std::shared_ptr<const Node> made = remake(node, inputs, std::move(bodies));
      std::vector<Expr> out;
      for (size_t i = 0; i < made->types.size(); ++i) out.emplace_back(made, i);
      return out;
    }
    auto at = found_.find(&node);
    if (at == found_.end()) return {};
    const Found& found = at->second;
    DType dtype = node.types[0].dtype;

    // What the product is added to, and its factor.
    Expr target, beta;
    bool one_value = true;
    for (const Summand& s : found.rest) one_value = one_value && s.value.same(found.rest[0].value);
    if (one_value) {
      target = built(found.rest[0].value);
      for (const Summand& s : found.rest) {
        Expr c = coefficient(s, dtype);
        if (!beta)
          beta = c;
        else if (constant_number(beta) && constant_number(c))
          beta = number(*constant_number(beta) + *constant_number(c), dtype);
        else
          beta = add(beta, c);
      }
    } else {
      for (const Summand& s : found.rest) {
        Expr c = coefficient(s, dtype), value = built(s.value);
        std::optional<double> known = constant_number(c);
        if (!target)
          target = known == 1 ? value : known == -1 ? neg(value) : mul(c, value);
        else
          target = known == 1 ? add(target, value) : known == -1 ? sub(target, value) : add(target, mul(c, value));
      }
      beta = number(1, dtype);
    }
    Expr alpha = coefficient(found.product, dtype);
    const Node& product = found.product.value.node();
    // The product is what takes the time and overflows: a layer's, where the sum is an optimizer's.
    InheritOrigin origin(product.origin);
    Expr a = built(product.inputs[0]), b = built(product.inputs[1]);
    Expr out;
    if (is_outer(product)) {
      if (constant_number(beta) != 1) target = mul(beta, target);
      out = apply(ger_op(), {target, alpha, a.node().inputs[0], b.node().inputs[0]});
    } else if (a.rank() == 2 && b.rank() == 2) {
      out = apply(gemm_op(), {target, alpha, a, b, beta});
    } else if (a.rank() == 2) {
      out = apply(gemv_op(), {target, alpha, a, b, beta});
    } else {
      out = apply(gemv_op(), {target, alpha, transpose(b), a, beta});
    }
    if (!(out.type() == node.types[0])) return {};
    context_.note("find_gemm", out.node().op->name, node[0], out);
    return {node.name.empty() ? out : named(out, node.name)};
  }

  const Graph& graph_;
  const PassContext& context_;
  std::unordered_map<const Node*, size_t> readers_;
  std::unordered_set<const Node*> inside_;  // nodes that a larger sum has swallowed
  std::unordered_map<const Node*, Found> found_;
  Rebuilder rebuilder_;
};

}  // namespace

Graph find_gemm(const Graph& graph, const PassContext& context) {
  if (!allowed(Safety::kReassociating, context.level)) return graph;
  return Finder(graph, context).run();
}

}  // namespace thtrain
