#include "compiler/ops/elemwise/fused.h"

#include <algorithm>

#include "compiler/kernel/schedule/schedule.h"
#include "compiler/ops/cost.h"
#include "compiler/ops/elemwise/body_code.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/elemwise/gather.h"
#include "compiler/ops/index/index.h"

namespace thtrain {

using kernel::StepBuilder;

void lower_elementwise(StepBuilder& b, std::span<const Expr> inputs, std::span<const Expr> outputs) {
  const std::vector<const Node*> nodes = nodes_between(inputs, outputs);
  kernel::Nest nest(outputs[0].dims());
  BodyValues values;
  for (size_t k = 0; k < inputs.size(); ++k)
    if (!reads_through_index(nodes, inputs[k]))
      values.set(inputs[k], load_value(nest, name_of_input(inputs[k], k), kernel::aligned(nest, b.input(k))));
  for (const Node* node : nodes)
    if (node->op->gather) values.set((*node)[0], gathered(b, nest, *node, inputs));
  add_nodes(nest, nodes, values);
  nest.work = 0;
  for (const Node* node : nodes) nest.work += weight_of(*node);
  nest.work = std::max<int64_t>(nest.work, 1);
  for (size_t o = 0; o < outputs.size(); ++o)
    store_value(nest, kernel::aligned(nest, b.output(o)), values.parts(outputs[o]));
  kernel::schedule(b, nest, kernel_name(nodes), kernel_comment(nodes, inputs, outputs));
}

void lower_node(StepBuilder& b) {
  const Node& node = b.node();
  if (!node.op->scalar) return node.op->lower(b);
  lower_elementwise(b, node.inputs, outputs_of(node));
}

std::shared_ptr<const Node> make_fused(GraphPtr body, std::vector<Expr> inputs) {
  return make_node(fused_op(), std::move(inputs), {}, {std::move(body)});
}

std::vector<Expr> fused_values(std::shared_ptr<const Node> (*make)(GraphPtr body, std::vector<Expr> inputs),
                               const std::vector<Expr>& values,
                               const std::function<std::vector<Expr>(const std::vector<Expr>&)>& expressions) {
  auto body = std::make_shared<Graph>();
  for (const Expr& e : values) body->inputs.push_back(make_input(e.type(), e.name()));
  body->outputs = expressions(body->inputs);
  const std::shared_ptr<const Node> node = make(body, values);
  std::vector<Expr> out;
  for (size_t o = 0; o < body->outputs.size(); ++o) out.push_back((*node)[o]);
  return out;
}

// Derivatives that were taken inside the body, on the outer values; taken there, they would go on into what the outer
// values are computed from.
static std::vector<Expr> moved_outside(const Node& node, std::vector<Expr> derivatives) {
  Rebuilder rebuilder;
  for (size_t i = 0; i < node.inputs.size(); ++i) rebuilder.replace(node.bodies[0]->inputs[i], node.inputs[i]);
  for (Expr& derivative : derivatives)
    if (derivative.has_value()) derivative = rebuilder.rebuild(derivative, nullptr);
  return derivatives;
}

// The operations of the body, and each operand once; of what is read through an index the elements that are read.
static Cost cost_of_body(const Node& node) {
  Cost out;
  for (size_t i = 0; i < node.inputs.size(); ++i)
    if (access_of(node, i) != Access::kIndexed) out.bytes = out.bytes + bytes_of(node.inputs[i].type());
  for (const Type& type : node.types) out.bytes = out.bytes + bytes_of(type);
  for (const Node* inner : topological_order(node.bodies[0]->outputs)) {
    if (!inner->inputs.empty()) out.flops = out.flops + cost_of(*inner).flops;
    if (!inner->op->gather) continue;
    out.bytes = out.bytes + bytes_of(inner->types[0]);
    for (size_t i = 1; i < inner->inputs.size(); ++i) out.bytes = out.bytes + bytes_of(inner->inputs[i].type());
  }
  return out;
}

Op op_of_body(std::string name, std::string doc, std::function<void(StepBuilder&)> lower,
              std::function<std::vector<OpCase>()> cases, std::source_location defined_at) {
  return {
      .name = std::move(name),
      .doc = std::move(doc),
      .infer =
          [](const TypeArgs& a) {
            const Graph& body = *a.bodies[0];
            TH_CHECK(body.inputs.size() == a.inputs.size(), a.inputs.size(), " inputs for a body of ",
                     body.inputs.size());
            std::vector<Type> out;
            for (const Expr& e : body.outputs) out.push_back(e.type());
            return out;
          },
      .reference = [](const ReferenceArgs& a) { return a.run_body(*a.node.bodies[0], a.inputs); },
      .error = [](const ErrorArgs& a) { return a.run_body(*a.node.bodies[0], a.inputs, a.errors).second; },
      .gradient =
          [](const GradientArgs& a) {
            const Graph& body = *a.node.bodies[0];
            return moved_outside(a.node, a.differentiate(body.outputs, a.cotangents, body.inputs));
          },
      .jvp =
          [](const JvpArgs& a) {
            const Graph& body = *a.node.bodies[0];
            return moved_outside(a.node, a.differentiate(body.outputs, body.inputs, a.tangents));
          },
      .lower = std::move(lower),
      .fused = true,
      .cost = cost_of_body,
      .cases = std::move(cases),
      .defined_at = defined_at,
  };
}

// Loops that read through an index: whole rows, elements of rows, one of each row.
static std::vector<OpCase> gathering_cases() {
  struct Example {
    std::string name;
    DType dtype;
    Dims source, indices;
    Expr (*gather)(const Expr& x, const Expr& at);
  };
  auto rows = [](const Expr& x, const Expr& at) { return take(x, at); };
  auto columns = [](const Expr& x, const Expr& at) { return take(x, at, 1); };
  auto picked = [](const Expr& x, const Expr& at) { return pick_rows(x, at); };
  const std::vector<Example> examples{{"gathered_rows", DType::kFloat64, {4, 21}, {5}, rows},
                                      {"gathered_columns", DType::kFloat32, {3, 4}, {37}, columns},
                                      {"gathered_numbers", DType::kInt16, {4}, {19}, rows},
                                      {"gathered_empty", DType::kFloat64, {4, 0}, {5}, rows},
                                      {"picked", DType::kFloat64, {21, 4}, {21}, picked}};
  std::vector<OpCase> out;
  for (const Example& example : examples)
    out.push_back({.name = example.name,
                   .inputs = {{.dtype = example.dtype, .dims = example.source},
                              {.dtype = DType::kInt64, .dims = example.indices}},
                   .build = [gather = example.gather](const std::vector<Expr>& x) {
                     return fused_values(make_fused, x, [&](const std::vector<Expr>& in) {
                       Expr value = gather(in[0], in[1]);
                       return std::vector<Expr>{value * value + value};
                     });
                   }});
  return out;
}

static std::vector<OpCase> fused_cases() {
  // Two outputs; one operand that a row shares, one that is a scalar.
  auto build = [](const std::vector<Expr>& x) {
    return fused_values(make_fused, x, [](const std::vector<Expr>& in) {
      Expr product = tanh(in[0] + in[1]) * in[2];
      return std::vector<Expr>{product, product - in[0]};
    });
  };
  auto case_of = [&](std::string name, DType dtype, Dims matrix, Dims row) {
    return OpCase{.name = std::move(name),
                  .inputs = {{.dtype = dtype, .dims = std::move(matrix)},
                             {.dtype = dtype, .dims = std::move(row)},
                             {.dtype = dtype, .dims = {}}},
                  .build = build,
                  .bound = 8};
  };
  std::vector<OpCase> out{
      case_of("rows", DType::kFloat64, {3, 21}, {21}), case_of("rows_f32", DType::kFloat32, {2, 35}, {35}),
      case_of("columns", DType::kFloat64, {4, 3}, {4, 1}), case_of("named", DType::kFloat64, {"n", 3}, {3}),
      case_of("empty", DType::kFloat64, {0, 3}, {3})};
  for (OpCase& c : gathering_cases()) out.push_back(std::move(c));
  return out;
}

const Op& fused_op() {
  static const Op op = op_of_body(
      "fused",
      "Several elementwise expressions over one domain, computed in one loop nest; `explain` shows them as its body.\n"
      "Example: 2 * x + 1 in one pass",
      [](StepBuilder& b) { lower_elementwise(b, b.node().bodies[0]->inputs, b.node().bodies[0]->outputs); },
      fused_cases);
  return op;
}

}  // namespace thtrain
