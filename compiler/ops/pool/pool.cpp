#include "compiler/ops/pool/pool.h"

#include "compiler/ops/pool/windows.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/length_list.h"

namespace thtrain {

Expr pool(const Operand& operand, const PoolOptions& options) {
  const Expr x = operand.expr();
  const size_t n = options.window.size();
  PoolWindows windows{.window = options.window,
                      .stride = options.stride.empty() ? options.window : options.stride,
                      .before = {},
                      .after = {},
                      .ignore_border = options.ignore_border};
  for (const auto& [before, after] : options.padding) {
    windows.before.push_back(before);
    windows.after.push_back(after);
  }
  if (options.padding.empty()) windows.before = windows.after = Ints(n, 0);
  Props props;
  windows.add_to(props);
  if (options.mode == PoolMode::kMax) return apply(max_pool_op(), {x}, props, operand.where());
  const PoolDivisor divisor = options.mode == PoolMode::kSum       ? PoolDivisor::kOne
                              : options.mode == PoolMode::kAverage ? PoolDivisor::kInside
                                                                   : PoolDivisor::kPadded;
  props.set("divisor", std::string(name_of(divisor)));
  return apply(sum_pool_op(), {x}, props, operand.where());
}

Expr global_pool(const Operand& operand, size_t spatial_axes, PoolMode mode) {
  const Expr x = operand.expr();
  if (spatial_axes < 1 || spatial_axes > x.rank())
    fail_build(operand.where(), str("global_pool: ", spatial_axes, " axes to pool"), str("1 to ", x.rank(), " axes"),
               value_text(x));
  Ints axes;
  for (size_t axis = x.rank() - spatial_axes; axis < x.rank(); ++axis) axes.push_back(static_cast<int64_t>(axis));
  const Operand value(x, operand.where());
  if (mode == PoolMode::kMax) return max(value, axes);
  return mode == PoolMode::kSum ? sum(value, axes) : mean(value, axes);
}

}  // namespace thtrain
