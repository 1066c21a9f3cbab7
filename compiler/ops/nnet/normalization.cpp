#include "compiler/ops/nnet/normalization.h"

#include <algorithm>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/image/pad.h"
#include "compiler/ops/image/windows.h"
#include "compiler/ops/nnet/normalize.h"
#include "compiler/ops/shape/broadcast_for.h"
#include "compiler/ops/shape/length_list.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {
namespace {

Expr floats_of(const Operand& operand, const std::string& builder) {
  Expr x = operand.expr();
  if (!is_float(x.dtype()))
    fail_build(operand.where(), str(builder, ": the values are not real floats"), "float32 or float64", value_text(x),
               is_complex(x.dtype()) ? "" : "cast them");
  return x;
}

void require_positive(const std::string& builder, double epsilon, const std::source_location& where) {
  if (!(epsilon > 0)) fail_build(where, str(builder, ": epsilon is not positive"), "a number above 0", str(epsilon));
}

// A parameter of the axes that stay, under the rank of x: [C] or a scalar -> [1, C, 1, 1].
Expr fitted(const std::string& builder, const char* name, const Operand& operand, const Expr& x, const Ints& axes) {
  Expr p = operand.for_dtype(x.dtype());
  Dims stay;
  Ints order;
  for (size_t axis = 0; axis < x.rank(); ++axis) {
    const bool is_reduced = std::binary_search(axes.begin(), axes.end(), static_cast<int64_t>(axis));
    order.push_back(is_reduced ? -1 : static_cast<int64_t>(stay.size()));
    if (!is_reduced) stay.push_back(x.dims()[axis]);
  }
  bool fits = p.dtype() == x.dtype() && (p.rank() == 0 || p.rank() == stay.size());
  for (size_t k = 0; fits && k < p.rank(); ++k)
    fits = !p.dims()[k].is_known() || !stay[k].is_known() || p.dims()[k] == stay[k];
  if (!fits)
    fail_build(
        operand.where(), str(builder, ": the ", name, " does not fit"),
        readable(str(name_of(x.dtype()), "[", dims_text(stay), "], the lengths of the axes that stay, or a scalar")),
        str(value_text(p), " for ", value_text(x)));
  return dimshuffle(broadcast_for(Operand(p, operand.where()), stay, builder), order);
}

// Without the axes of length 1.
Expr dropped(const Expr& kept, const Ints& axes) {
  return axes.empty() ? kept : squeeze(kept, axes);
}

}  // namespace

BatchNormalization batch_normalization_training(const Operand& operand, const Operand& scale, const Operand& shift,
                                                const Axes& given, const std::optional<RunningMoments>& running,
                                                double epsilon) {
  const std::string builder = "batch_normalization_training";
  const Origin origin = Origin::here(operand.where());
  InheritOrigin inherit(origin);
  const Expr x = floats_of(operand, builder);
  require_positive(builder, epsilon, operand.where());
  const Ints axes = reduced_axes(given, x.rank(), builder, origin);
  const Moments moments = moments_of(x, axes, epsilon);
  BatchNormalization out;
  out.output =
      normalized(x, moments, axes, fitted(builder, "scale", scale, x, axes), fitted(builder, "shift", shift, x, axes));
  out.mean = dropped(moments.mean, axes);
  out.inverse_deviation = dropped(moments.inverse_deviation, axes);
  if (!running) return out;
  const double factor = running->factor;
  if (!(factor >= 0 && factor <= 1))
    fail_build(operand.where(), str(builder, ": the factor of the running averages is not a part"),
               "a number from 0 to 1", str(factor));
  auto updated = [&](const char* name, const Expr& before, const Expr& now) {
    return dropped(fitted(builder, name, before, x, axes) * (1 - factor) + now * factor, axes);
  };
  out.running_mean = updated("running mean", running->mean, moments.mean);
  Dim count = 1;
  for (int64_t axis : axes) count = count * x.dims()[static_cast<size_t>(axis)];
  const Expr others = count_as(x.dtype(), max(count - Dim(1), Dim(1)));
  out.running_variance = updated("running variance", running->variance, moments.squares / others);
  return out;
}

Expr batch_normalization_evaluation(const Operand& operand, const Operand& scale, const Operand& shift,
                                    const Operand& mean, const Operand& variance, const Axes& given, double epsilon) {
  const std::string builder = "batch_normalization_evaluation";
  const Origin origin = Origin::here(operand.where());
  InheritOrigin inherit(origin);
  const Expr x = floats_of(operand, builder);
  require_positive(builder, epsilon, operand.where());
  const Ints axes = reduced_axes(given, x.rank(), builder, origin);
  const Expr inverse_deviation = 1 / sqrt(fitted(builder, "variance", variance, x, axes) + epsilon);
  return (x - fitted(builder, "mean", mean, x, axes)) * (fitted(builder, "scale", scale, x, axes) * inverse_deviation) +
         fitted(builder, "shift", shift, x, axes);
}

Expr layer_normalization(const Operand& operand, int64_t count, double epsilon) {
  const std::string builder = "layer_normalization";
  const Origin origin = Origin::here(operand.where());
  InheritOrigin inherit(origin);
  const Expr x = floats_of(operand, builder);
  require_positive(builder, epsilon, operand.where());
  const int64_t rank = static_cast<int64_t>(x.rank());
  if (count < 1 || count > rank)
    fail_build(operand.where(), str(builder, ": the last ", count, " axes are asked for"),
               rank == 0 ? std::string("a value with an axis") : str("a number from 1 to ", rank), value_text(x));
  Ints axes;
  for (int64_t axis = rank - count; axis < rank; ++axis) axes.push_back(axis);
  return normalized(x, moments_of(x, axes, epsilon), axes);
}

Expr local_response_normalization(const Operand& operand, const LocalResponse& response) {
  const std::string builder = "local_response_normalization";
  const Origin origin = Origin::here(operand.where());
  InheritOrigin inherit(origin);
  const Expr x = floats_of(operand, builder);
  const int64_t n = response.channels;
  if (x.rank() < 2)
    fail_build(operand.where(), str(builder, ": the values have no axis of channels"), "at least 2 axes",
               value_text(x));
  if (n < 1) fail_build(operand.where(), str(builder, ": over ", n, " channels"), "at least 1 channel", str(n));
  std::vector<PadWidth> widths(x.rank() - 1, {0, 0});
  widths[0] = {n / 2, n - 1 - n / 2};
  const Expr squares = sum(windows(pad(sqr(x), widths), {1}, {n}, {1}), -1);
  return x * pow(response.k + response.alpha * squares, -response.beta);
}

}  // namespace thtrain
