// The gradient of a convolution to its filters.
#include "compiler/ops/conv/conv.h"
#include "compiler/ops/conv/conv_cases.h"
#include "compiler/ops/conv/conv_step.h"
#include "compiler/ops/jvp_rules.h"

namespace thtrain {

const Op& conv_weight_gradient_op() {
  static const Op op{
      .name = "conv_weight_gradient",
      .doc =
          "The gradient of conv to its filters: dw[f, c, k] is the sum of x[n, c, o stride + k dilation - before] "
          "dy[n, f, o] over n and o.\n"
          "Shapes: images x [N, C, S...], dy [N, F, O...] -> [F, C / groups, lengths...].\n"
          "dtypes: float32 or float64, both the same.\n"
          "Gradient: conv_input_gradient to x, conv to dy.\n"
          "Edge cases: outside of the image x is 0.\n"
          "Example: [1, 2, 3], dy = [1, 1]: [3, 5]",
      .infer =
          [](const TypeArgs& args) {
            const Type &x = args.type(0), &dy = args.type(1);
            return std::vector<Type>{
                {.dtype = x.dtype, .dims = conv_weight_lengths(args, x, dy).of_w(ConvGeometry::of(args.props))}};
          },
      .reference = conv_reference,
      .error = conv_error(),
      .gradient =
          [](const GradientArgs& args) {
            const Expr &x = args.input(0), &dy = args.input(1), &dw = args.cotangent();
            Props of_x = args.node.props, plain;
            of_x.set("lengths", lengths_of_conv(args.node).in);
            ConvGeometry::of(args.node.props).add_to(plain);
            return std::vector<Expr>{apply(conv_input_gradient_op(), {dw, dy}, std::move(of_x)),
                                     apply(conv_op(), {x, dw}, std::move(plain))};
          },
      .jvp = multilinear_jvp,
      .lower = lower_conv,
      .accepts_layout = conv_accepts_layout,
      .cost = conv_cost,
      .cases = conv_weight_gradient_cases,
  };
  return op;
}

}  // namespace thtrain
