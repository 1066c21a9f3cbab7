#include "compiler/ops/image/upsample.h"

#include "compiler/ops/image/upsample_op.h"
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

}  // namespace

Expr nearest_upsampling(const Operand& operand, int64_t ratio) {
  const Origin origin = Origin::here(operand.where());
  InheritOrigin inherit(origin);
  const Expr x = images_of("nearest_upsampling", operand, ratio);
  if (ratio == 1) return x;
  if (is_float(x.dtype())) return upsampled(x, ratio, false);
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
  return ratio == 1 ? x : upsampled(x, ratio, true);
}

}  // namespace thtrain
