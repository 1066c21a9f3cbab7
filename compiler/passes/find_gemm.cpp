#include "compiler/passes/find_gemm.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "compiler/ir/node_map.h"
#include "compiler/ir/op.h"
#include "compiler/ops/accumulation.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/elemwise/scalar_table.h"

namespace thtrain {
namespace {

// sign * product of scalars * value
struct Summand {
  Expr value;
  std::vector<Expr> factors;
  bool negative;
};

// A sum that holds products, in terms of the old graph.
struct Found {
  std::vector<Summand> products, rest;
};

class Finder {
 public:
  Finder(const Graph& graph, const PassContext& context) : graph_(graph), context_(context) {}

  Graph run() {
    const std::vector<Expr> roots = graph_.roots();
    const std::vector<const Node*> order = topological_order(roots);
    readers_.reserve(order.size());
    for (const Node* node : order)
      for (const Expr& input : node->inputs) ++readers_[&input.node()];
    for (const Expr& root : roots) ++readers_[&root.node()];
    for (size_t i = order.size(); i-- > 0;) look_at(*order[i]);  // readers first: the outermost sum wins

    if (found_.empty()) return graph_;
    return map_roots(graph_, [&](const Expr& root) {
      return rebuilder_.rebuild(root, [&](const Node& node, const std::vector<Expr>&) { return rewritten(node); });
    });
  }

 private:
  void look_at(const Node& node) {
    static const Op* const ops[] = {&add_op(), &sub_op(), &neg_op(), &mul_op(), &true_div_op()};
    if (inside_.contains(&node) || std::find(std::begin(ops), std::end(ops), node.op) == std::end(ops) ||
        !is_float(node.types[0].dtype))
      return;
    Found found;
    for (Summand& s : expand(node[0])) {
      const bool accumulates = readers_[&s.value.node()] == 1 && is_product(s.value);
      (accumulates ? found.products : found.rest).push_back(std::move(s));
    }
    if (found.products.empty()) return;
    if (found.rest.empty()) {  // the first product is what the others are added to
      found.rest.push_back(found.products.front());
      found.products.erase(found.products.begin());
    }
    if (!found.products.empty()) found_.emplace(&node, std::move(found));
  }

  // Splits a sum, or a multiple of one, into its summands in order, through nodes that only this sum reads: those need
  // no look of their own.
  std::vector<Summand> expand(const Expr& sum) {
    std::vector<Summand> out, stack{{sum, {}, false}};
    while (!stack.empty()) {
      Summand s = std::move(stack.back());
      stack.pop_back();
      const Node& node = s.value.node();
      const Type& type = s.value.type();
      const bool outermost = s.value.same(sum), own = outermost || readers_[&node] == 1;
      auto same = [&](size_t i) { return node.inputs[i].type() == type; };
      auto scalar = [&](size_t i) { return node.inputs[i].type().is_scalar() && node.inputs[i].dtype() == type.dtype; };
      const bool subtracts = node.op == &sub_op(), divides = node.op == &true_div_op();
      if (own && (node.op == &add_op() || subtracts) && same(0) && same(1)) {
        stack.push_back({node.inputs[1], s.factors, s.negative != subtracts});
        stack.push_back({node.inputs[0], std::move(s.factors), s.negative});
      } else if (own && node.op == &neg_op()) {
        stack.push_back({node.inputs[0], std::move(s.factors), !s.negative});
      } else if (own && ((node.op == &mul_op() && ((scalar(0) && same(1)) || (scalar(1) && same(0)))) ||
                         (divides && scalar(1) && same(0)))) {
        const size_t factor = !divides && scalar(0) ? 0 : 1;
        const Expr& scale = node.inputs[factor];
        s.factors.push_back(divides ? number(1, type.dtype) / scale : scale);
        stack.push_back({node.inputs[1 - factor], std::move(s.factors), s.negative});
      } else {
        out.push_back(std::move(s));
        continue;
      }
      inside_.try_emplace(&node);
    }
    return out;
  }

  static bool is_product(const Expr& value) {
    const Accumulation* rule = value.node().op->accumulation;
    return rule && rule->applies(value.node());
  }

  Expr built(const Expr& old) { return rebuilder_.rebuild(old, nullptr); }

  // One node for equal coefficients.
  Expr unique(const Expr& e) { return Expr(rebuilder_.cons(e.node_ptr()), e.output()); }

  Expr number(double x, DType dtype) { return unique(make_constant(Tensor(x).cast(dtype))); }

  Expr coefficient(const Summand& s, DType dtype) {
    double known = s.negative ? -1 : 1;
    Expr out;
    for (const Expr& factor : s.factors) {
      const Expr f = built(factor);
      if (std::optional<double> value = constant_number(f))
        known *= *value;
      else
        out = out.has_value() ? unique(out * f) : f;
    }
    if (!out.has_value()) return number(known, dtype);
    return unique(known == 1 ? out : known == -1 ? -out : out * number(known, dtype));
  }

  std::vector<Expr> rewritten(const Node& node) {
    auto at = found_.find(&node);
    if (at == found_.end()) return {};
    Expr out = accumulated(at->second, node.types[0].dtype);
    if (!(out.type() == node.types[0])) return {};
    context_.note("find_gemm", out.node().op->name, node[0], out);
    return {node.name.empty() ? out : named(out, node.name)};
  }

  // What the products are added to, and its factor.
  std::pair<Expr, Expr> target_of(const std::vector<Summand>& rest, DType dtype) {
    Expr target, beta = number(1, dtype);
    bool one_value = true;
    for (const Summand& s : rest) one_value = one_value && s.value.same(rest[0].value);
    for (const Summand& s : rest) {
      const Expr c = coefficient(s, dtype), value = built(s.value);
      const std::optional<double> known = constant_number(c), sum = constant_number(beta);
      if (!target.has_value()) {
        target = one_value || known == 1 ? value : known == -1 ? -value : c * value;
        if (one_value) beta = c;
      } else if (one_value) {
        beta = known && sum ? number(*known + *sum, dtype) : beta + c;
      } else {
        target = known == 1 ? target + value : known == -1 ? target - value : target + c * value;
      }
    }
    return {target, beta};
  }

  Expr accumulated(const Found& found, DType dtype) {
    auto [out, beta] = target_of(found.rest, dtype);
    for (const Summand& summand : found.products) {
      const Expr alpha = coefficient(summand, dtype);
      const Node& product = summand.value.node();
      // The product is what takes the time and overflows: a layer's, where the sum is an optimizer's.
      InheritOrigin origin(product.origin);
      std::vector<Expr> inputs;
      for (const Expr& input : product.inputs) inputs.push_back(built(input));
      out = product.op->accumulation->add(product, inputs, out, alpha, beta);
      beta = number(1, dtype);
    }
    return out;
  }

  const Graph& graph_;
  const PassContext& context_;
  NodeMap<size_t> readers_;
  NodeMap<bool> inside_;  // nodes that a larger sum has swallowed
  std::unordered_map<const Node*, Found> found_;
  Rebuilder rebuilder_;
};

}  // namespace

Graph find_gemm(const Graph& graph, const PassContext& context) {
  return Finder(graph, context).run();
}

}  // namespace thtrain
