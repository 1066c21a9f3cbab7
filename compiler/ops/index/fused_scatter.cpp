#include "compiler/ops/index/fused_scatter.h"

#include <algorithm>
#include <optional>

#include "compiler/ops/cost.h"
#include "compiler/ops/elemwise/body_code.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/elemwise/fused.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/index/scatter.h"

namespace thtrain {
namespace {

const Node& scatter_of(const Graph& body) {
  return body.outputs[0].node();
}

void lower_fused_scatter(kernel::StepBuilder& b) {
  const Graph& body = *b.node().bodies[0];
  const Node& scatter = scatter_of(body);
  const Expr& value = scatter.inputs[kScattered];
  const std::vector<const Node*> loop = nodes_between(body.inputs, std::span(&value, 1));
  auto is_read = [&](const Expr& input) {
    return std::any_of(loop.begin(), loop.end(), [&](const Node* node) {
      return std::any_of(node->inputs.begin(), node->inputs.end(), [&](const Expr& e) { return e.same(input); });
    });
  };
  auto add_to = [&](kernel::Nest& nest) {
    BodyValues values;
    for (size_t k = 0; k < body.inputs.size(); ++k)
      if (is_read(body.inputs[k]))
        values.set(body.inputs[k],
                   load_value(nest, name_of_input(body.inputs[k], k), kernel::aligned(nest, b.input(k))));
    add_nodes(nest, loop, values);
    return values.at(value);
  };
  const std::string text = kernel_comment(loop, body.inputs, std::span(&value, 1));
  int64_t work = kMoveWork;
  for (const Node* node : loop) work += weight_of(*node);
  scatter.op->scatter(b, scatter,
                      {.dims = value.dims(),
                       .name = kernel_name(loop) + "_",
                       .text = text.substr(std::string_view("out0 = ").size()),
                       .work = work,
                       .add_to = add_to});
}

Cost cost(const Node& node) {
  const Node& scatter = scatter_of(*node.bodies[0]);
  Cost out = cost_of(scatter);
  for (const Node* inner : topological_order(node.bodies[0]->outputs))
    if (inner->op->scalar) out.flops = out.flops + cost_of(*inner).flops;
  return out;
}

using In = const std::vector<Expr>&;

struct Example {
  std::string name;
  std::vector<Type> read, others;  // by the loop; by the scatter
  Expr (*loop)(In read);           // elementwise
  Expr (*scatter)(In others, const Expr& elements);
};

std::vector<Expr> build(const Example& example, In x) {
  const std::vector<Expr> read(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(example.read.size()));
  const std::vector<Expr> others(x.begin() + static_cast<std::ptrdiff_t>(example.read.size()), x.end());
  const Expr elements = fused_values(make_fused, read, [&](In in) { return std::vector<Expr>{example.loop(in)}; })[0];
  const Expr out = example.scatter(others, elements);
  // Lengths of which only a call tells that they are equal put a node between.
  const bool is_between = !out.node().inputs[kScattered].same(elements);
  return {is_between ? out : (*make_fused_scatter(out.node(), elements.node()))[0]};
}

std::vector<OpCase> cases_fused_scatter() {
  auto f64 = [](Dims dims) { return Type{.dtype = DType::kFloat64, .dims = std::move(dims)}; };
  auto f32 = [](Dims dims) { return Type{.dtype = DType::kFloat32, .dims = std::move(dims)}; };
  auto i64 = [](Dims dims) { return Type{.dtype = DType::kInt64, .dims = std::move(dims)}; };
  auto square = [](In x) { return sqr(x[0]); };
  auto add_rows = [](In x, const Expr& y) { return scatter_add(x[0], x[1], y); };
  const std::vector<Example> examples{
      {"take_rows",
       {f32({9, 21}), f32({})},
       {f32({4, 21}), i64({9})},
       [](In x) { return x[0] * x[1] + x[0]; },
       add_rows},
      {"take_columns",
       {f64({3, 9}), f64({9})},
       {f64({3, 5}), i64({9})},
       [](In x) { return sqr(x[0]) * x[1]; },
       [](In x, const Expr& y) { return scatter_add(x[0], x[1], y, 1); }},
      {"take_numbers", {f64({8})}, {f64({5}), i64({8})}, square, add_rows},
      {"picked",
       {f64({7})},
       {f64({7, 5}), i64({7})},
       square,
       [](In x, const Expr& y) { return scatter_add_rows(x[0], x[1], y); }},
      {"set_middle",
       {f32({3, 11}), f32({11})},
       {f32({5, 13})},
       [](In x) { return tanh(x[0] + x[1]); },
       [](In x, const Expr& y) {
         return set_subtensor(subtensor(x[0], {Slice{1, -1}, Slice{1, -1}}), y);
       }},
      {"set_column",
       {f64({5})},
       {f64({5, 3})},
       square,
       [](In x, const Expr& y) {
         return set_subtensor(subtensor(x[0], {all(), 1}), y);
       }},
      {"inc_reversed",
       {f64({19})},
       {f64({19})},
       square,
       [](In x, const Expr& y) { return inc_subtensor(subtensor(x[0], {Slice{.step = -1}}), y); }},
      {"inc_given_rows",
       {f32({3, 10})},
       {f32({9, 10}), i64({})},
       square,
       [](In x, const Expr& y) { return inc_subtensor(rows(x[0], x[1], 3), y); }},
      {"of_wider",
       {f64({2, 20})},
       {f32({6, 20})},
       [](In x) { return cast(sqr(x[0]), DType::kFloat32); },
       [](In x, const Expr& y) {
         return set_subtensor(subtensor(x[0], {Slice{2, 4}}), y);
       }},
  };
  std::vector<OpCase> out;
  for (const Example& example : examples) {
    std::vector<Type> inputs = example.read;
    inputs.insert(inputs.end(), example.others.begin(), example.others.end());
    out.push_back({.name = example.name,
                   .inputs = std::move(inputs),
                   .build = [example](In x) { return build(example, x); },
                   .bound = 8});
  }
  return out;
}

}  // namespace

std::shared_ptr<const Node> make_fused_scatter(const Node& scatter, const Node& loop) {
  const Graph& inner = *loop.bodies[0];
  auto body = std::make_shared<Graph>();
  std::vector<Expr> outer, inputs;  // of the new node; of the scatter inside
  std::vector<std::pair<Expr, Expr>> renamed;
  auto add = [&](const Expr& outside, const std::string& name) {
    outer.push_back(outside);
    body->inputs.push_back(make_input(outside.type(), name));
    return body->inputs.back();
  };
  auto read_by_loop = [&](size_t i) {
    renamed.emplace_back(inner.inputs[i], add(loop.inputs[i], inner.inputs[i].name()));
  };
  for (size_t i = 0; i < scatter.inputs.size(); ++i) {
    if (i == kScattered)
      read_by_loop(0);
    else
      inputs.push_back(add(scatter.inputs[i], scatter.inputs[i].name()));
  }
  for (size_t i = 1; i < inner.inputs.size(); ++i) read_by_loop(i);
  inputs.insert(inputs.begin() + static_cast<std::ptrdiff_t>(kScattered), substitute(inner.outputs, renamed)[0]);
  body->outputs.emplace_back(clone_with_inputs(scatter, std::move(inputs), {}), 0);
  return make_node(fused_scatter_op(), std::move(outer), {}, {std::move(body)});
}

const Op& fused_scatter_op() {
  static const Op op = [] {
    Op made = op_of_body("fused_scatter",
                         "Elementwise expressions, stored into or added to a part of input 0.\n"
                         "Example: table[i] -= 0.1 d",
                         lower_fused_scatter, cases_fused_scatter);
    made.aliases = {{.output = 0, .input = 0}};
    made.cost = cost;
    return made;
  }();
  return op;
}

}  // namespace thtrain
