#include "nn/row_gradients.h"

#include <map>

#include "compiler/autodiff/gradient.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/index/index.h"

namespace thtrain {

namespace {

// What reads a parameter: its rows, once for each layer that does, or something else.
struct RowReaders {
  std::vector<Expr> rows;
  bool has_others = false;
};

std::vector<RowReaders> readers_of(const Expr& cost, const std::vector<Param>& params, const Expr& rows) {
  std::map<const Node*, size_t> numbers;
  for (size_t i = 0; i < params.size(); ++i) numbers[&params[i].expr().node()] = i;
  std::vector<RowReaders> out(params.size());
  for (const Node* node : topological_order(std::vector<Expr>{cost})) {
    for (const Expr& input : node->inputs) {
      const auto found = input.has_value() ? numbers.find(&input.node()) : numbers.end();
      if (found == numbers.end()) continue;
      RowReaders& of_param = out[found->second];
      const Expr as_taken = take(input, rows);
      const bool is_rows = node->op == as_taken.node().op && node->props == as_taken.node().props &&
                           node->inputs.size() == 2 && node->inputs[0].same(input) && node->inputs[1].same(rows);
      if (is_rows)
        of_param.rows.emplace_back(node->self.lock());
      else
        of_param.has_others = true;
    }
  }
  return out;
}

}  // namespace

std::vector<ParamGradient> row_gradients(const Expr& cost, const std::vector<Param>& params, const Expr& rows) {
  const std::vector<RowReaders> readers = readers_of(cost, params, rows);
  std::vector<Expr> wrt;
  for (size_t i = 0; i < params.size(); ++i) {
    if (readers[i].has_others || readers[i].rows.empty())
      wrt.push_back(params[i].expr());
    else
      wrt.insert(wrt.end(), readers[i].rows.begin(), readers[i].rows.end());
  }
  const std::vector<Expr> gradients = grad(cost, wrt);
  std::vector<ParamGradient> out;
  for (size_t i = 0, at = 0; i < params.size(); ++i) {
    ParamGradient of{.value = gradients[at++]};
    if (!readers[i].has_others && !readers[i].rows.empty()) {
      of.rows = rows;
      for (size_t k = 1; k < readers[i].rows.size(); ++k) of.value = of.value + gradients[at++];
    }
    out.push_back(std::move(of));
  }
  return out;
}

}  // namespace thtrain
