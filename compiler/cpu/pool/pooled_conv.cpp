#include "compiler/cpu/pool/pooled_conv.h"

#include <algorithm>
#include <optional>

#include "compiler/cpu/conv/direct.h"
#include "compiler/cpu/pool/conv_pooling.h"
#include "compiler/cpu/pool/pooled_positions.h"
#include "compiler/ops/conv/conv.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/elemwise/fused.h"
#include "compiler/ops/elemwise/fused_cases.h"
#include "compiler/ops/epilogue.h"
#include "compiler/ops/linalg/body_epilogue.h"
#include "compiler/ops/pool/pool.h"

namespace thtrain {
namespace {

using kernel::StepBuilder;

const Node& node_in(const Graph& body, bool (*is_it)(const Node&)) {
  const std::vector<const Node*> nodes = topological_order(body.outputs);
  const auto at = std::find_if(nodes.begin(), nodes.end(), [&](const Node* node) { return is_it(*node); });
  TH_CHECK(at != nodes.end(), "pooled_conv: a body without a convolution, or without a pooling");
  return **at;
}

bool is_conv(const Node& node) {
  return node.op == &conv_op();
}

// The tiling without a chooser, which fits every processor: over filters, unless rows have too many positions.
DirectTiling plain_tiling(const ConvPooling& p) {
  const DirectTiling over_filters{true, 4, 1};
  return p.fits(over_filters) ? over_filters : DirectTiling{false, 4, 2};
}

// Of the convolution and its pooling, if there is a kernel for both.
std::optional<ConvPooling> known_pooling(const Node& conv, const Node& pooling) {
  std::optional<ConvPooling> out = ConvPooling::of(conv, pooling);
  return out && out->fits(plain_tiling(*out)) ? out : std::nullopt;
}

// That of the convolution itself; none where no direct kernel is chosen for it.
std::optional<DirectTiling> chosen_tiling(const ConvPooling& p, const kernel::Chooser& chooser) {
  const std::optional<DirectTiling> tiling = direct_tiling_named(chooser.choose(key_of(p.conv)));
  return tiling && p.fits(*tiling) ? tiling : std::nullopt;
}

kernel::Operand operand_of(StepBuilder& b, const Expr& input) {
  const Graph& body = *b.node().bodies[0];
  for (size_t k = 0; k < body.inputs.size(); ++k)
    if (body.inputs[k].same(input)) return b.input(k);
  TH_CHECK(false, "pooled_conv: what the convolution reads is no input of the body");
  return b.input(0);
}

void lower_pooled_conv(StepBuilder& b) {
  const Graph& body = *b.node().bodies[0];
  const Node &conv = node_in(body, is_conv), &pooling = node_in(body, is_pooling);
  const std::optional<ConvPooling> p = known_pooling(conv, pooling);
  TH_CHECK(p, "pooled_conv: a convolution that no kernel can pool");
  PooledPositions positions(b, p->pooling, p->windows);
  BodyEpilogue epilogue(b, pooling);
  CorrelationStep step{operand_of(b, conv.inputs[0]), operand_of(b, conv.inputs[1]), b.output(), nullptr, &positions};
  BodyValue before(b, conv, pooling.inputs[0]);
  if (!pooling.inputs[0].same(conv[0])) step.before = &before;
  if (body.outputs.size() != 1 || !body.outputs[0].same(pooling[0])) step.epilogue = &epilogue;
  std::optional<DirectTiling> tiling;
  if (b.chooser()) tiling = chosen_tiling(*p, *b.chooser());
  lower_direct(b, p->c, step, tiling.value_or(plain_tiling(*p)));
}

// ---- elementwise nodes behind it

bool ends_with_more(const Node& node, std::span<const Layout>, const kernel::Chooser&, const kernel::Target&) {
  const Graph& body = *node.bodies[0];
  return body.outputs.size() == 1 && is_pooling(body.outputs[0].node());
}

// The body of that node replaces the node in the other one.
std::shared_ptr<const Node> make_ended(GraphPtr body, std::vector<Expr> inputs) {
  Graph out{body->inputs, {}, {}};
  Rebuilder rebuilder;
  out.outputs = rebuilder.rebuild(body->outputs, [](const Node& node, const std::vector<Expr>& of) {
    if (node.op != &pooled_conv_op()) return std::vector<Expr>();
    std::vector<std::pair<Expr, Expr>> replacements;
    for (size_t k = 0; k < of.size(); ++k) replacements.emplace_back(node.bodies[0]->inputs[k], of[k]);
    return substitute(node.bodies[0]->outputs, replacements);
  });
  return make_pooled_conv(std::make_shared<const Graph>(std::move(out)), std::move(inputs));
}

const Epilogue& pooled_epilogue() {
  static const Epilogue epilogue{ends_with_more, make_ended};
  return epilogue;
}

// ---- cases_pooled_conv

using In = const std::vector<Expr>&;

Expr correlated(const Expr& x, const Expr& w, ConvOptions options = {}) {
  options.flip = false;
  return conv(x, w, options);
}

// Windows side by side, apart, over each other, with padding and cut off at the end; maxima, sums and averages; one and
// two axes; strides, groups, more filters than a block has, several parts; values before the pooling and behind it,
// that are repeated and that are not.
const std::vector<FusedExample>& examples() {
  static const std::vector<FusedExample> out{
      {"squares",
       {{2, 3, 9, 21}, {5, 3, 2, 4}},
       [](In x) {
         return std::vector{pool(correlated(x[0], x[1]), {.window = {2, 2}})};
       }},
      {"layer",
       {{2, 3, 12, 21}, {5, 3, 3, 4}, {5, 1, 1}},
       [](In x) {
         return std::vector{tanh(pool(correlated(x[0], x[1]), {.window = {2, 3}}) + x[2])};
       }},
      {"averages",
       {{2, 3, 9, 14}, {19, 3, 3, 3}, {19, 1, 1}, {2, 19, 4, 7}},
       [](In x) {
         const Expr y =
             pool(tanh(correlated(x[0], x[1]) + x[2]),
                  {.window = {2, 3}, .stride = {2, 2}, .padding = {{1, 1}, {1, 2}}, .mode = PoolMode::kAverage});
         return std::vector{y, y * x[3]};
       }},
      {"padded_averages",
       {{1, 2, 8, 40}, {3, 2, 3, 3}},
       [](In x) {
         return std::vector{pool(correlated(x[0], x[1]), {.window = {3, 3},
                                                          .stride = {2, 1},
                                                          .padding = {{2, 0}, {1, 2}},
                                                          .ignore_border = false,
                                                          .mode = PoolMode::kAveragePadded})};
       }},
      {"sums",
       {{1, 4, 9, 19}, {6, 2, 3, 2}, {6, 7, 1}, {}},
       [](In x) {
         const Expr y = correlated(x[0], x[1], {.stride = {1, 2}, .groups = 2}) * x[2] + x[3];
         return std::vector{pool(y, {.window = {2, 4}, .stride = {3, 4}, .mode = PoolMode::kSum})};
       }},
      {"overlap",
       {{2, 2, 11, 38}, {37, 2, 2, 2}, {2, 37, 10, 37}},
       [](In x) {
         return std::vector{pool(correlated(x[0], x[1]) + x[2], {.window = {3, 3}, .stride = {2, 2}})};
       }},
      {"border",
       {{1, 2, 8, 9}, {3, 2, 2, 2}, {3, 1, 1}},
       [](In x) {
         return std::vector{pool(correlated(x[0], x[1]), {.window = {2, 3}, .ignore_border = false}) * x[2]};
       }},
      {"one_axis",
       {{2, 3, 44}, {4, 3, 5}, {4, 1}},
       [](In x) { return std::vector{sigmoid(pool(correlated(x[0], x[1]), {.window = {4}}) + x[2])}; }},
      {"columns",
       {{2, 3, 5, 12}, {4, 3, 2, 3}},
       [](In x) { return std::vector{pool(correlated(x[0], x[1]), {.window = {5}, .stride = {2}})}; }},
      {"whole_images",
       {{2, 3, 6, 24}, {4, 3, 2, 3}},
       [](In x) {
         return std::vector{pool(correlated(x[0], x[1]), {.window = {5, 22}})};
       }},
  };
  return out;
}

std::vector<OpCase> cases_pooled_conv() {
  OpCase like{};
  like.bound = 64;
  std::vector<OpCase> out = fused_cases(make_pooled_conv, examples(), like);
  for (OpCase& row : out) row.smooth = row.name.find("average") != std::string::npos || row.name.starts_with("sums");
  return out;
}

}  // namespace

bool is_pooling(const Node& node) {
  return node.op == &max_pool_op() || node.op == &sum_pool_op();
}

bool is_pooled_in_one_kernel(const Node& conv, const Node& pooling, const kernel::Chooser& chooser) {
  if (!is_conv(conv)) return false;
  const std::optional<ConvPooling> p = known_pooling(conv, pooling);
  return p && chosen_tiling(*p, chooser) && chooser.choose(key_of(*p)) == kOneKernel;
}

std::shared_ptr<const Node> make_pooled_conv(GraphPtr body, std::vector<Expr> inputs) {
  return make_node(pooled_conv_op(), std::move(inputs), {}, {std::move(body)});
}

const Op& pooled_conv_op() {
  static const Op op = [] {
    Op made = op_of_body("pooled_conv",
                         "A convolution and the pooling of its result in one kernel, with the elementwise expressions "
                         "before and after the pooling.\n"
                         "Example: tanh(max_pool(conv(x, w)) + b)",
                         lower_pooled_conv, cases_pooled_conv);
    made.infer = [types = made.infer](const TypeArgs& a) {
      std::vector<Type> out = types(a);
      const Graph& body = *a.bodies[0];
      a.require(known_pooling(node_in(body, is_conv), node_in(body, is_pooling)).has_value(),
                "no kernel of a convolution can pool its result",
                "known lengths, filters that all positions share, windows over two axes at most");
      return out;
    };
    made.epilogue = &pooled_epilogue();
    made.accepts_layout = anchor_accepts_layout;
    return made;
  }();
  return op;
}

}  // namespace thtrain
