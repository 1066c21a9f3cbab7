#include "compiler/ops/image/upsample.h"

#include <algorithm>
#include <numeric>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/image/upsample_op.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/shape/length_list.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {
namespace {

// The axis is interpolated: each position of the result lies `part` of the way from element `low` to `high`.
Expr interpolated(const Expr& x, int64_t axis, const UpsamplingRatio& ratio) {
  if (ratio.up == 1 && ratio.down == 1) return x;
  const int64_t shift = (ratio.up - 1) / 2;
  const Expr n = length(x, axis), count = floor_div(n * ratio.up + (ratio.down - 1), ratio.down);
  const Expr position = clip(arange(count) * ratio.down - shift, 0, (n - 1) * ratio.up),
             low = floor_div(position, ratio.up), high = minimum(low + 1, n - 1);
  Expr part = cast(position - low * ratio.up, x.dtype()) / static_cast<double>(ratio.up);
  if (axis + 1 < static_cast<int64_t>(x.rank())) part = dimshuffle(part, {0, -1});
  return (1.0 - part) * take(x, low, axis) + part * take(x, high, axis);
}

// Of the weights of a kernel, as one number or the product of two: more would be a slip.
constexpr int64_t kLargestRatio = 1 << 20;

// 1, 2, ..., ratio, ..., 2, 1.
std::vector<double> pyramid(const char* builder, int64_t ratio, const std::source_location& where) {
  if (ratio < 1) fail_build(where, str(builder, ": the ratio is below 1"), "a whole number of at least 1", str(ratio));
  if (ratio > kLargestRatio)
    fail_build(where, str(builder, ": the ratio is too large"), str("at most ", kLargestRatio), str(ratio));
  std::vector<double> out;
  for (int64_t k = 1 - ratio; k < ratio; ++k) out.push_back(static_cast<double>(ratio - std::abs(k)));
  return out;
}

DType kernel_dtype(const char* builder, std::optional<DType> dtype, const std::source_location& where) {
  const DType out = dtype.value_or(floatX());
  if (!is_float(out))
    fail_build(where, str(builder, ": the dtype is no real float"), "float32 or float64", str(name_of(out)));
  return out;
}

UpsamplingRatio in_lowest_terms(const Operand& operand, const UpsamplingRatio& ratio) {
  if (std::min(ratio.up, ratio.down) < 1)
    fail_build(operand.where(), "bilinear_upsampling: a number of the ratio is below 1",
               "whole numbers of at least 1, up / down", str(ratio.up, " / ", ratio.down));
  const int64_t divisor = std::gcd(ratio.up, ratio.down);
  return {ratio.up / divisor, ratio.down / divisor};
}

Expr floats_of(const std::string& builder, const Operand& operand, const Expr& x) {
  if (!is_float(x.dtype()))
    fail_build(operand.where(), str(builder, ": the values are not real floats"), "float32 or float64", value_text(x),
               is_complex(x.dtype()) ? "" : "cast them");
  return x;
}

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
  const Expr x = floats_of(builder, operand, images_of(builder, operand, ratio));
  return ratio == 1 ? x : upsampled(x, ratio, true);
}

Expr bilinear_upsampling(const Operand& operand, const UpsamplingRatio& rows, const UpsamplingRatio& columns) {
  const std::string builder = "bilinear_upsampling";
  const UpsamplingRatio of_rows = in_lowest_terms(operand, rows), of_columns = in_lowest_terms(operand, columns);
  const Origin origin = Origin::here(operand.where());
  InheritOrigin inherit(origin);
  const Expr x = floats_of(builder, operand, images_of(builder, operand, 1));
  if (of_rows.down == 1 && of_columns.down == 1 && of_rows.up == of_columns.up)
    return bilinear_upsampling(x, of_rows.up);
  return interpolated(interpolated(x, 2, of_rows), 3, of_columns);
}

Expr bilinear_kernel_1d(int64_t ratio, bool normalize, std::optional<DType> dtype, std::source_location where) {
  constexpr const char* kBuilder = "bilinear_kernel_1d";
  const DType of_kernel = kernel_dtype(kBuilder, dtype, where);
  std::vector<double> all = pyramid(kBuilder, ratio, where);
  for (double& element : all) element /= normalize ? static_cast<double>(ratio) : 1;
  return make_constant(Tensor::of(all, {static_cast<int64_t>(all.size())}).cast(of_kernel), where);
}

Expr bilinear_kernel_2d(int64_t rows, int64_t columns, bool normalize, std::optional<DType> dtype,
                        std::source_location where) {
  constexpr const char* kBuilder = "bilinear_kernel_2d";
  const DType of_kernel = kernel_dtype(kBuilder, dtype, where);
  const std::vector<double> down = pyramid(kBuilder, rows, where), across = pyramid(kBuilder, columns, where);
  if (rows > kLargestRatio / columns)
    fail_build(where, str(kBuilder, ": the ratios are too large"), str("a product of at most ", kLargestRatio),
               str(rows, " and ", columns));
  std::vector<double> all;
  for (double row : down)
    for (double column : across) all.push_back(row * column / (normalize ? static_cast<double>(rows * columns) : 1));
  return make_constant(
      Tensor::of(all, {static_cast<int64_t>(down.size()), static_cast<int64_t>(across.size())}).cast(of_kernel), where);
}

}  // namespace thtrain
