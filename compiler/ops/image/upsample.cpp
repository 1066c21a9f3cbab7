#include "compiler/ops/image/upsample.h"

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/image/pad.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/shape/length_list.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {
namespace {

Expr images_of(const std::string& builder, const Operand& operand, int64_t ratio) {
  Expr x = operand.expr();
  if (x.rank() != 4)
    fail_build(operand.where(), str(builder, ": the value is not a list of images"),
               "4 axes: images, channels, rows, columns", value_text(x));
  if (ratio < 1)
    fail_build(operand.where(), str(builder, ": the ratio is below 1"), "a whole number of at least 1", str(ratio));
  return x;
}

// Along an axis, of a value with its first and last element repeated, of which `count` are the value's own.
Expr interpolated(const Expr& padded, int64_t axis, const Dim& count, int64_t ratio) {
  const Dim between = count + 1;
  const size_t a = static_cast<size_t>(axis);
  Ints order;
  for (size_t k = 0; k < padded.rank(); ++k) {
    order.push_back(static_cast<int64_t>(k));
    if (k == a) order.push_back(-1);
  }
  // Element t of `ratio` between two neighbours is t / ratio of the way.
  Tensor ways = Tensor::zeros(padded.dtype(), {ratio});
  visit(padded.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_floating_point_v<T>)
      for (int64_t t = 0; t < ratio; ++t) ways.data<T>()[t] = static_cast<T>(t) / static_cast<T>(ratio);
  });
  Ints way_order(padded.rank() + 1, -1);
  way_order[a + 1] = 0;
  const Expr way = dimshuffle(make_constant(ways), way_order);
  const Expr before = dimshuffle(slice_of_axis(padded, axis, 0, between), order);
  const Expr after = dimshuffle(slice_of_axis(padded, axis, 1, between), order);
  Dims dims = padded.dims();
  dims[a] = between * Dim(ratio);
  const Expr all = reshape(before * (1 - way) + after * way, dims);
  return slice_of_axis(all, axis, ratio - (ratio - 1) / 2, count * Dim(ratio));
}

}  // namespace

Expr nearest_upsampling(const Operand& operand, int64_t ratio) {
  const Origin origin = Origin::here(operand.where());
  InheritOrigin inherit(origin);
  const Expr x = images_of("nearest_upsampling", operand, ratio);
  if (ratio == 1) return x;
  const Dims& n = x.dims();
  const Expr blocks = broadcast_to(dimshuffle(x, {0, 1, 2, -1, 3, -1}), Dims{n[0], n[1], n[2], ratio, n[3], ratio});
  return reshape(blocks, Dims{n[0], n[1], n[2] * Dim(ratio), n[3] * Dim(ratio)});
}

Expr bilinear_upsampling(const Operand& operand, int64_t ratio) {
  const std::string builder = "bilinear_upsampling";
  const Origin origin = Origin::here(operand.where());
  InheritOrigin inherit(origin);
  const Expr x = images_of(builder, operand, ratio);
  if (!is_float(x.dtype()))
    fail_build(operand.where(), str(builder, ": the values are not real floats"), "float32 or float64", value_text(x),
               is_complex(x.dtype()) ? "" : "cast them");
  if (ratio == 1) return x;
  const Expr padded = pad(x, {{1, 1}, {1, 1}}, PadMode::kEdge);
  return interpolated(interpolated(padded, 2, x.dims()[2], ratio), 3, x.dims()[3], ratio);
}

}  // namespace thtrain
