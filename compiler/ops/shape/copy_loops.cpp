#include "compiler/ops/shape/copy_loops.h"

#include <algorithm>

#include "compiler/kernel/schedule/schedule.h"

namespace thtrain {

using kernel::StepBuilder;

Dim grain_of(const Dim& elements, const kernel::Target& target) {
  const Dim worth_a_thread = target.grain_of_work() / kMoveWork;
  if (!elements.is_known()) return max(floor_div(worth_a_thread, max(elements, 1)), 1);
  return std::max<int64_t>(worth_a_thread.value() / std::max<int64_t>(elements.value(), 1), 1);
}

kernel::Operand parts_of(const kernel::Operand& operand) {
  if (!is_complex(operand.type.dtype)) return operand;
  kernel::Operand out = operand;
  out.type.dtype = operand.type.dtype == DType::kComplex64 ? DType::kFloat32 : DType::kFloat64;
  for (Dim& stride : out.layout.strides) stride = stride * 2;
  out.layout.strides.emplace_back(1);
  out.type.dims.emplace_back(2);
  return out;
}

kernel::Operand bits_of(const kernel::Operand& operand) {
  kernel::Operand out = parts_of(operand);
  if (is_bool(out.type.dtype)) out.type.dtype = DType::kUInt8;
  return out;
}

void move_kernel(StepBuilder& b, const kernel::Location& from, const kernel::Location& to, const std::string& name,
                 const std::string& comment, bool is_read_again) {
  kernel::Nest nest(to.operand.type.dims);
  nest.store(to, nest.load("x", from));
  nest.work = kMoveWork;
  nest.is_read_again = is_read_again;
  kernel::schedule(b, nest, name, comment);
}

void copy_kernel(StepBuilder& b, size_t i, const std::string& comment, bool is_read_again) {
  const kernel::Operand& in = b.input(i);
  kernel::Operand out = b.output();
  out.type.dims = in.type.dims;
  out.layout = row_major(in.type.dims);
  move_kernel(b, kernel::placed(bits_of(in)), kernel::placed(bits_of(out)), "copy", comment, is_read_again);
}

}  // namespace thtrain
