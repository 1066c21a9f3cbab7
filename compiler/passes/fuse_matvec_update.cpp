#include "compiler/passes/fuse_matvec_update.h"

#include <algorithm>
#include <optional>

#include "compiler/ir/node_map.h"
#include "compiler/ir/op.h"
#include "compiler/ops/elemwise/body_code.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/linalg/linalg.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/shape.h"
#include "compiler/passes/regions.h"

namespace thtrain {
namespace {

// A product as sums over the rows of a matrix, each of them times `row`.
struct RowSums {
  Expr matrix, row;  // [k, n]; [n] or [1, n]
  Ints result;       // how the sums [k] are laid out in the product, as dimshuffle says it
};

bool is_transpose(const Expr& e) {
  return e.node().op == &dimshuffle_op() && e.node().props.get<Ints>("order") == Ints{1, 0};
}

std::optional<RowSums> row_sums(const Expr& left, const Expr& right) {
  const bool matrix_is_right = is_transpose(right) && (left.rank() == 1 || left.dims()[0].is(1));
  if (matrix_is_right) return RowSums{right.node().inputs[0], left, left.rank() == 1 ? Ints{0} : Ints{-1, 0}};
  const bool matrix_is_left = left.rank() == 2 && !is_transpose(left) && (right.rank() == 1 || right.dims()[1].is(1));
  if (!matrix_is_left) return std::nullopt;
  if (right.rank() == 1) return RowSums{left, right, {0}};
  return RowSums{left, transpose(right), {0, -1}};
}

bool is_float_dot(const Node& node) {
  return node.op == &dot_op() && is_float(node.types[0].dtype);
}

class Sharer {
 public:
  Sharer(const Graph& graph, const PassContext& context, const std::vector<const Node*>& order)
      : graph_(graph), context_(context), order_(order), readers_(order_) {
    position_.reserve(order_.size());
    for (size_t i = 0; i < order_.size(); ++i) position_.try_emplace(order_[i], i);
  }

  Graph run() {
    for (const Node* node : order_)
      if (is_float_dot(*node))
        if (std::optional<RowSums> sums = row_sums(node->inputs[0], node->inputs[1]))
          if (const Node* update = sibling_update(*node, sums->matrix)) {
            found_.try_emplace(node);
            if (update->op == &ger_op()) found_.try_emplace(update);
          }
    if (found_.size() == 0) return graph_;
    return rewrite_graph(graph_, [&](const Node& node, const std::vector<Expr>& inputs) -> std::vector<Expr> {
      if (!found_.contains(&node)) return {};
      InheritOrigin origin(node.origin);
      const bool is_update = node.op == &ger_op();
      Expr out = is_update ? as_loop(inputs) : as_sums(inputs);
      context_.note("fuse_matvec_update", is_update ? "outer_product" : "row_sums", node[0], out);
      return {node.name.empty() ? out : named(out, node.name)};
    });
  }

 private:
  static Expr as_sums(const std::vector<Expr>& factors) {
    const RowSums sums = *row_sums(factors[0], factors[1]);
    return dimshuffle(sum(sums.matrix * sums.row, 1), sums.result);
  }

  // ger: a + alpha x y^T
  static Expr as_loop(const std::vector<Expr>& inputs) {
    Expr outer = dimshuffle(inputs[2], {0, -1}) * dimshuffle(inputs[3], {-1, 0});
    return inputs[0] + (constant_number(inputs[1]) == 1.0 ? outer : inputs[1] * outer);
  }

  // The node that goes through all elements of the matrix, before or after the product as one likes.
  const Node* sibling_update(const Node& product, const Expr& matrix) const {
    if (!exceeds_cache(matrix.type())) return nullptr;
    for (const Node* reader : readers_.of(matrix.node())) {
      const bool by_element = reader->op == &ger_op() ? reader->inputs[0].same(matrix) : has_scalar_code(*reader);
      if (by_element && reader->types[0].dims == matrix.dims() && !needs(*reader, product) && !needs(product, *reader))
        return reader;
    }
    return nullptr;
  }

  // Is `value` computed from `from`? Past a limit the answer is the safe one.
  bool needs(const Node& value, const Node& from) const {
    constexpr size_t kMaxNodes = 400;
    const size_t first = position_.at(&from);
    std::vector<const Node*> seen{&value};
    for (size_t i = 0; i < seen.size(); ++i) {
      if (seen[i] == &from || seen.size() > kMaxNodes) return true;
      for (const Expr& e : seen[i]->inputs)
        if (position_.at(&e.node()) >= first && std::find(seen.begin(), seen.end(), &e.node()) == seen.end())
          seen.push_back(&e.node());
    }
    return false;
  }

  const Graph& graph_;
  const PassContext& context_;
  const std::vector<const Node*>& order_;
  const Readers readers_;
  NodeMap<size_t> position_;
  NodeMap<bool> found_;
};

}  // namespace

Graph fuse_matvec_update(const Graph& graph, const PassContext& context) {
  if (!allowed(Safety::kReassociating, context.level)) return graph;
  const std::vector<const Node*> order = topological_order(graph.roots());
  const bool any = std::any_of(order.begin(), order.end(), [](const Node* node) {
    return is_float_dot(*node) && row_sums(node->inputs[0], node->inputs[1]);
  });
  return any ? Sharer(graph, context, order).run() : graph;
}

}  // namespace thtrain
