// The gradient of a convolution to its images, which is the transposed convolution.
#include "compiler/ops/conv/conv.h"
#include "compiler/ops/conv/conv_cases.h"
#include "compiler/ops/conv/conv_step.h"
#include "compiler/ops/jvp_rules.h"

namespace thtrain {

const Op& conv_input_gradient_op() {
  static const Op op{
      .name = "conv_input_gradient",
      .doc =
          "The gradient of conv to its images: dx[n, c, i] is the sum of dy[n, f, o] w[f, c, k] over the f, o and k "
          "that read it.\n"
          "Shapes: filters w [F, C / groups, K...], dy [N, F, O...] -> [N, C, lengths...].\n"
          "dtypes: float32 or float64, both the same.\n"
          "Gradient: conv to dy, conv_weight_gradient to w.\n"
          "Edge cases: 0 where no filter reads the image.\n"
          "Example: dy = [1, 1], filter [1, 1]: [1, 2, 1]",
      .infer =
          [](const TypeArgs& args) {
            const Type &w = args.type(0), &dy = args.type(1);
            return std::vector<Type>{{.dtype = w.dtype, .dims = conv_input_lengths(args, w, dy).of_x()}};
          },
      .reference = conv_reference,
      .error = conv_error(),
      .gradient =
          [](const GradientArgs& args) {
            const Expr &w = args.input(0), &dy = args.input(1), &dx = args.cotangent();
            Props of_w = args.node.props, plain;
            of_w.set("lengths", lengths_of_conv(args.node).kernel);
            ConvGeometry::of(args.node.props).add_to(plain);
            return std::vector<Expr>{apply(conv_weight_gradient_op(), {dx, dy}, std::move(of_w)),
                                     apply(conv_op(), {dx, w}, std::move(plain))};
          },
      .jvp = multilinear_jvp,
      .lower = lower_conv,
      .iterations = &kConvInputGradientOfIterations,
      .epilogue = &conv_epilogue(),
      .accepts_layout = conv_accepts_layout,
      .cost = conv_cost,
      .cases = conv_input_gradient_cases,
  };
  return op;
}

}  // namespace thtrain
