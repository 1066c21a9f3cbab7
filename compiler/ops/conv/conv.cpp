// The convolution itself, and the builders of all three.
#include "compiler/ops/conv/conv.h"

#include "compiler/ops/conv/conv_cases.h"
#include "compiler/ops/conv/conv_step.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/jvp_rules.h"
#include "compiler/ops/shape/length_list.h"

namespace thtrain {

const Op& conv_op() {
  static const Op op{
      .name = "conv",
      .doc =
          "Correlation: y[n, f, o] is the sum of x[n, c, o stride + k dilation - before] w[f, c, k] over c and k.\n"
          "Shapes: images x [N, C, S...], filters w [F, C / groups, K...], y [N, F, O...]; unshared filters are w [F, "
          "O..., C / groups, K...].\n"
          "dtypes: float32 or float64, both the same.\n"
          "Gradient: conv_input_gradient to x, conv_weight_gradient to w.\n"
          "Edge cases: outside of the image x is 0; where w or x is infinite, an element at the border may be NaN.\n"
          "Example: [1, 2, 3] with the filter [1, 1]: [3, 5]",
      .infer =
          [](const TypeArgs& args) {
            const Type &x = args.type(0), &w = args.type(1);
            return std::vector<Type>{{.dtype = x.dtype, .dims = conv_lengths(args, x, w).of_y()}};
          },
      .reference = conv_reference,
      .error = conv_error(),
      .gradient =
          [](const GradientArgs& args) {
            const Expr &x = args.input(0), &w = args.input(1), &dy = args.cotangent();
            const ConvLengths l = lengths_of_conv(args.node);
            Props of_x = args.node.props, of_w = args.node.props;
            of_x.set("lengths", l.in);
            of_w.set("lengths", l.kernel);
            return std::vector<Expr>{apply(conv_input_gradient_op(), {w, dy}, std::move(of_x)),
                                     apply(conv_weight_gradient_op(), {x, dy}, std::move(of_w))};
          },
      .jvp = multilinear_jvp,
      .lower = lower_conv,
      .iterations = &kConvOfIterations,
      .epilogue = &conv_epilogue(),
      .accepts_layout = conv_accepts_layout,
      .cost = conv_cost,
      .cases = conv_cases,
  };
  return op;
}

namespace {

std::string lengths_word(size_t rank) {
  return rank == 1 ? "one number" : str(rank, " numbers");
}

// Numbers of the options, one for each of `rank` axes; 1 where there are none.
Ints numbers(const std::vector<int64_t>& given, size_t rank, std::string_view what, const Operand& at) {
  if (given.empty()) return Ints(rank, 1);
  if (given.size() == rank) return given;
  throw UserError({.what = str("conv: ", what, " has ", given.size(), given.size() == 1 ? " number" : " numbers"),
                   .expected = str(lengths_word(rank), ", for each spatial axis"),
                   .node = Origin::here(at.where()).text()});
}

ConvGeometry geometry_of(const ConvOptions& options, const Dims& kernel, const Operand& at) {
  const size_t rank = kernel.size();
  ConvGeometry g{.stride = numbers(options.stride, rank, "stride", at),
                 .dilation = numbers(options.dilation, rank, "dilation", at),
                 .before = Dims(rank, 0),
                 .after = Dims(rank, 0),
                 .groups = options.groups,
                 .unshared = options.unshared};
  const ConvPadding& padding = options.padding;
  if (padding.kind() == ConvPadding::Kind::kNumbers && padding.numbers().size() != rank)
    throw UserError({.what = str("conv: the padding has ", padding.numbers().size(),
                                 padding.numbers().size() == 1 ? " pair" : " pairs"),
                     .expected = rank == 1 ? "one pair (before, after)"
                                           : str(rank, " pairs (before, after), one for each spatial axis"),
                     .node = Origin::here(at.where()).text()});
  for (size_t axis = 0; axis < rank; ++axis) {
    const Dim span = g.span(axis, kernel[axis]);
    if (padding.kind() == ConvPadding::Kind::kFull) g.before[axis] = g.after[axis] = span - Dim(1);
    if (padding.kind() == ConvPadding::Kind::kHalf) g.before[axis] = g.after[axis] = floor_div(span, 2);
    if (padding.kind() == ConvPadding::Kind::kCausal) g.before[axis] = span - Dim(1);
    if (padding.kind() == ConvPadding::Kind::kNumbers) {
      g.before[axis] = padding.numbers()[axis].first;
      g.after[axis] = padding.numbers()[axis].second;
    }
  }
  return g;
}

size_t spatial_rank(const Expr& images, const Operand& at) {
  if (images.rank() >= 3 && images.rank() <= 5) return images.rank() - 2;
  throw UserError({.what = "conv: images have one to three spatial axes",
                   .expected = "[N, C, W], [N, C, H, W] or [N, C, D, H, W]",
                   .got = images.type().text(),
                   .node = Origin::here(at.where()).text()});
}

Expr flipped(const Expr& w, size_t rank, const std::source_location& where) {
  std::vector<Index> indices(w.rank() - rank, Index(all()));
  for (size_t axis = 0; axis < rank; ++axis) indices.push_back(Index(Slice{.step = Operand(-1, where)}));
  return subtensor(Operand(w, where), indices);
}

Props props_of(const ConvGeometry& g) {
  Props props;
  g.add_to(props);
  return props;
}

Expr conv_of_rank(const Operand& x, const Operand& w, const ConvOptions& options, size_t rank) {
  std::vector<Expr> in = resolve({&x, &w});
  if (spatial_rank(in[0], x) != rank)
    throw UserError({.what = str("conv", rank, "d: images of ", lengths_word(rank).substr(0, 3),
                                 rank == 1 ? " spatial axis" : " spatial axes"),
                     .got = in[0].type().text(),
                     .node = Origin::here(x.where()).text()});
  return conv(x, w, options);
}

Expr separable(const Operand& x, const Operand& depthwise, const Operand& pointwise, const ConvOptions& options,
               size_t rank) {
  const std::string builder = str("separable_conv", rank, "d");
  const std::vector<Expr> in = resolve({&x, &depthwise, &pointwise});
  if (in[0].rank() != rank + 2)
    fail_build(x.where(), str(builder, ": the value is not a list of images"),
               str(rank + 2, " axes: images, channels, and ", rank, " spatial ones"), value_text(in[0]));
  if (options.groups != 1 || options.unshared)
    fail_build(x.where(), str(builder, ": the options have ", options.unshared ? "unshared filters" : "groups"),
               "groups = 1 and unshared = false: each channel has filters of its own",
               str("groups = ", options.groups));
  if (!in[0].dims()[1].is_known())
    fail_build(x.where(), str(builder, ": only the call knows the number of channels"), "a number", value_text(in[0]));
  if (in[2].rank() == rank + 2)
    for (size_t axis = 2; axis < rank + 2; ++axis)
      if (in[2].dims()[axis].is_known() && !in[2].dims()[axis].is(1))
        fail_build(x.where(), str(builder, ": the pointwise filters have more than one tap"),
                   str("[F, ", in[1].dims().empty() ? Dim(0).text() : in[1].dims()[0].text(),
                       rank == 2 ? ", 1, 1]" : ", 1, 1, 1]"),
                   value_text(in[2]));
  ConvOptions of_channels = options;
  of_channels.groups = in[0].dims()[1].value();
  const Origin origin = Origin::here(x.where());
  InheritOrigin inherit(origin);
  return conv(conv(in[0], in[1], of_channels), in[2], {.flip = false});
}

}  // namespace

Expr conv(const Operand& x, const Operand& w, const ConvOptions& options) {
  const std::vector<Expr> in = resolve({&x, &w});
  const size_t rank = spatial_rank(in[0], x);
  const ConvGeometry g = geometry_of(options, last(in[1].dims(), rank), x);
  return apply(conv_op(), {in[0], options.flip && in[1].rank() > rank ? flipped(in[1], rank, x.where()) : in[1]},
               props_of(g), x.where());
}

Expr conv1d(const Operand& x, const Operand& w, const ConvOptions& options) {
  return conv_of_rank(x, w, options, 1);
}
Expr conv2d(const Operand& x, const Operand& w, const ConvOptions& options) {
  return conv_of_rank(x, w, options, 2);
}
Expr conv3d(const Operand& x, const Operand& w, const ConvOptions& options) {
  return conv_of_rank(x, w, options, 3);
}

Expr causal_conv1d(const Operand& x, const Operand& w, const ConvOptions& options) {
  if (options.padding.kind() != ConvPadding::Kind::kValid)
    fail_build(x.where(), "causal_conv1d: the options have a padding", "none: what a causal filter needs is added",
               "another one than ConvPadding::valid()");
  ConvOptions causal = options;
  causal.padding = ConvPadding::causal();
  return conv1d(x, w, causal);
}

Expr separable_conv2d(const Operand& x, const Operand& depthwise, const Operand& pointwise,
                      const ConvOptions& options) {
  return separable(x, depthwise, pointwise, options, 2);
}
Expr separable_conv3d(const Operand& x, const Operand& depthwise, const Operand& pointwise,
                      const ConvOptions& options) {
  return separable(x, depthwise, pointwise, options, 3);
}

Expr conv_transposed(const Operand& dy, const Operand& w, const ConvOptions& options, const Dims& lengths) {
  const std::vector<Expr> in = resolve({&dy, &w});
  const size_t rank = spatial_rank(in[0], dy);
  const ConvGeometry g = geometry_of(options, last(in[1].dims(), rank), dy);
  Dims of_x = lengths;
  for (size_t axis = 0; lengths.empty() && axis < rank; ++axis)
    of_x.push_back((in[0].dims()[2 + axis] - Dim(1)) * Dim(g.stride[axis]) +
                   g.span(axis, last(in[1].dims(), rank)[axis]) - g.before[axis] - g.after[axis]);
  Props props = props_of(g);
  props.set("lengths", of_x);
  return apply(conv_input_gradient_op(),
               {options.flip && in[1].rank() > rank ? flipped(in[1], rank, dy.where()) : in[1], in[0]},
               std::move(props), dy.where());
}

Expr conv_weight_gradient(const Operand& x, const Operand& dy, const Dims& lengths, const ConvOptions& options) {
  const std::vector<Expr> in = resolve({&x, &dy});
  const size_t rank = spatial_rank(in[0], x);
  if (lengths.size() != rank)
    throw UserError({.what = str("conv_weight_gradient: ", lengths.size(), " lengths of the filters"),
                     .expected = str(lengths_word(rank), ", for each spatial axis"),
                     .node = Origin::here(x.where()).text()});
  Props props = props_of(geometry_of(options, lengths, x));
  props.set("lengths", lengths);
  const Expr dw = apply(conv_weight_gradient_op(), {in[0], in[1]}, std::move(props), x.where());
  return options.flip ? flipped(dw, rank, x.where()) : dw;
}

}  // namespace thtrain
