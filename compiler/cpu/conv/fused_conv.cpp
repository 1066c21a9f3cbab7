#include "compiler/cpu/conv/fused_conv.h"

#include <functional>
#include <optional>

#include "compiler/cpu/conv/direct.h"
#include "compiler/cpu/conv/direct_planes.h"
#include "compiler/cpu/conv/winograd.h"
#include "compiler/ops/conv/conv.h"
#include "compiler/ops/conv/conv_step.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/elemwise/fused.h"
#include "compiler/ops/elemwise/fused_cases.h"
#include "compiler/ops/linalg/body_epilogue.h"

namespace thtrain {
namespace {

using kernel::StepBuilder;

// The tiling without a chooser, which fits every processor: over filters, unless a row has too many positions.
DirectTiling plain_tiling(const Correlation& c) {
  const DirectTiling over_filters{true, 4, 1};
  return is_possible(over_filters, c, kernel::widest_target(), true) ? over_filters : DirectTiling{false, 4, 2};
}

std::optional<Correlation> known_correlation(const Node& node) {
  if (node.op != &conv_op() && node.op != &conv_input_gradient_op()) return std::nullopt;
  const std::optional<Convolution> known = known_convolution(node);
  if (!known) return std::nullopt;
  const Correlation c = correlation_of(*known);
  return is_possible(plain_tiling(c), c, kernel::widest_target(), true) ? std::optional(c) : std::nullopt;
}

using Lowering = std::function<void(StepBuilder&, const CorrelationStep&)>;

// How the candidate of that name writes a step that ends with more; null where it is no kernel of ours, or would need
// too large an array.
Lowering lowering_named(const std::string& name, const Correlation& c) {
  if (const std::optional<DirectTiling> tiling = direct_tiling_named(name)) {
    if (!is_possible(*tiling, c, kernel::widest_target(), true)) return nullptr;
    return [tiling, c](StepBuilder& b, const CorrelationStep& step) { lower_direct(b, c, step, *tiling); };
  }
  if (const std::optional<PlanesTiling> tiling = planes_tiling_named(name)) {
    if (!is_possible(*tiling, c, kernel::widest_target(), true)) return nullptr;
    return [tiling, c](StepBuilder& b, const CorrelationStep& step) { lower_direct_planes(b, c, step, *tiling); };
  }
  if (const std::optional<int64_t> tile = winograd_named(name))
    return [tile, c](StepBuilder& b, const CorrelationStep& step) { lower_winograd(b, c, step, *tile); };
  return nullptr;
}

bool ends_with_more(const Node& node, std::span<const Layout>, const kernel::Chooser& chooser,
                    const kernel::Target& target) {
  if (target.is_device()) return false;  // where candidates of the same names are other kernels
  const std::optional<Correlation> c = known_correlation(node);
  return c && lowering_named(chooser.choose(key_of(*known_convolution(node))), *c);
}

void lower(StepBuilder& b) {
  BodyEpilogue epilogue(b);
  const Node& anchor = epilogue.anchor();
  const std::optional<Correlation> c = known_correlation(anchor);
  TH_CHECK(c, "fused_conv: a convolution that no kernel can end with more");
  const size_t image = c->is_gradient ? 1 : 0;
  const CorrelationStep step{epilogue.operand(image), epilogue.operand(1 - image), b.output(), &epilogue};
  Lowering chosen;
  if (b.chooser()) chosen = lowering_named(b.chooser()->choose(key_of(*known_convolution(anchor))), *c);
  if (!chosen) chosen = lowering_named(name_of(plain_tiling(*c)), *c);
  chosen(b, step);
}

// ---- cases

using In = const std::vector<Expr>&;

ConvOptions correlation(ConvOptions options) {
  options.flip = false;
  return options;
}

Expr halved(const Expr& x, const Expr& w, ConvOptions options = {}) {
  options.padding = ConvPadding::half();
  return conv(x, w, correlation(std::move(options)));
}

// One to three axes, strides, groups, more filters than a block has; images, channels, positions and single numbers
// that are repeated, values of the same position, results that are the convolution and that are not, and what lies so
// that rows must be taken one by one.
const std::vector<FusedExample>& examples() {
  static const std::vector<FusedExample> out{
      {"layer",
       {{2, 3, 9, 21}, {5, 3, 3, 4}, {1, 5, 1, 1}},
       [](In x) { return std::vector{tanh(conv(x[0], x[1], correlation({})) + x[2])}; }},
      {"residual",
       {{2, 5, 7, 7}, {5, 5, 3, 3}, {1, 5, 1, 1}},
       [](In x) {
         const Expr y = halved(x[0], x[1]) + x[2];
         return std::vector{y, maximum(y + x[0], 0.0)};
       }},
      {"many_filters",
       {{2, 4, 6, 9}, {37, 4, 3, 3}, {37, 1, 1}, {}},
       [](In x) { return std::vector{(halved(x[0], x[1]) + x[2]) * x[3]}; }},
      {"strides_and_groups",
       {{2, 4, 8, 19}, {6, 2, 3, 2}, {2, 1, 4, 10}},
       [](In x) {
         return std::vector{maximum(halved(x[0], x[1], {.stride = {2, 2}, .groups = 2}), x[2])};
       }},
      {"by_column",
       {{2, 2, 8, 9}, {3, 2, 3, 2}, {8, 1}, {2, 3, 1, 10}},
       [](In x) { return std::vector{halved(x[0], x[1]) * x[2] - x[3]}; }},
      {"one_axis",
       {{2, 3, 40}, {4, 3, 5}, {4, 1}},
       [](In x) { return std::vector{sigmoid(halved(x[0], x[1]) + x[2])}; }},
      {"three_axes",
       {{1, 2, 4, 5, 4}, {3, 2, 2, 3, 2}, {3, 1, 1, 1}, {3, 1, 1}},
       [](In x) { return std::vector{(conv(x[0], x[1], correlation({})) + x[2]) * x[3]}; }},
      {"one_place",
       {{2, 3, 4, 5}, {19, 3, 4, 5}, {2, 19, 1, 1}},
       [](In x) { return std::vector{conv(x[0], x[1], correlation({})) * x[2]}; }},
      {"one_by_one",
       {{2, 20, 6, 8}, {17, 20, 1, 1}, {17, 1, 1}, {2, 17, 6, 8}},
       [](In x) { return std::vector{tanh(conv(x[0], x[1], correlation({})) + x[2]) * x[3]}; }},
      {"one_by_one_by_column",
       {{2, 3, 6, 9}, {5, 3, 1, 1}, {9}},
       [](In x) { return std::vector{conv(x[0], x[1], correlation({})) * x[2]}; }},
      {"gradient",
       {{5, 3, 3, 2}, {2, 5, 6, 17}, {2, 3, 8, 18}},
       [](In x) { return std::vector{conv_transposed(x[1], x[0], correlation({})) * (1.0 - sqr(x[2]))}; }},
      {"gradient_with_strides",
       {{4, 3, 3, 3}, {2, 4, 4, 9}, {3, 1, 1}},
       [](In x) {
         return std::vector{conv_transposed(x[1], x[0], correlation({.stride = {2, 2}})) + x[2]};
       }},
      {"long_rows",
       {{1, 1, 3, 5001}, {2, 1, 3, 5}, {2, 1, 1}},
       [](In x) { return std::vector{abs(halved(x[0], x[1]) + x[2])}; }},
  };
  return out;
}

std::vector<OpCase> cases() {
  OpCase like{};
  like.bound = 64;
  std::vector<OpCase> out = fused_cases(make_fused_conv, examples(), like);
  for (OpCase& row : out)
    row.smooth =
        !row.name.starts_with("residual") && !row.name.starts_with("strides") && !row.name.starts_with("long_rows");
  return out;
}

}  // namespace

const Epilogue& conv_epilogue() {
  static const Epilogue epilogue{ends_with_more, make_fused_conv};
  return epilogue;
}

std::shared_ptr<const Node> make_fused_conv(GraphPtr body, std::vector<Expr> inputs) {
  return make_node(fused_conv_op(), std::move(inputs), {}, {std::move(body)});
}

const Op& fused_conv_op() {
  static const Op op = [] {
    Op made = op_of_body("fused_conv",
                         "A convolution, or its gradient to the images, and the elementwise expressions over its "
                         "results, in one kernel.\n"
                         "Example: tanh(conv(x, w) + b)",
                         lower, cases);
    made.infer = [types = made.infer](const TypeArgs& a) {
      std::vector<Type> out = types(a);
      a.require(known_correlation(anchor_of(*a.bodies[0])).has_value(), "no kernel of a convolution can end with more",
                "known lengths, filters that all positions share");
      return out;
    };
    made.accepts_layout = anchor_accepts_layout;
    return made;
  }();
  return op;
}

}  // namespace thtrain
