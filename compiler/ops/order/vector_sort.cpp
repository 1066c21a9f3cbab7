#include "compiler/ops/order/vector_sort.h"

#include "compiler/ops/shape/copy_loops.h"
#include "compiler/ops/text_of.h"

namespace thtrain {

using kernel::LibraryFunction;
using kernel::PointerTo;

bool has_vector_sort(const kernel::Target& target, DType dtype) {
  constexpr int kLeastBytes = 32;
  const auto size = static_cast<int>(size_of(dtype));
  return target.is_x86() && (size == 4 || size == 8) && !is_complex(dtype) &&
         target.lanes_of(dtype) * size >= kLeastBytes;
}

static const LibraryFunction& sort_function(DType dtype) {
  static const LibraryFunction f32{"sort_f32", TH_TEXT_OF(TH_SORT_PARAMETERS)},
      f64{"sort_f64", TH_TEXT_OF(TH_SORT_PARAMETERS)}, i32{"sort_i32", TH_TEXT_OF(TH_SORT_PARAMETERS)},
      i64{"sort_i64", TH_TEXT_OF(TH_SORT_PARAMETERS)};
  if (is_float(dtype)) return dtype == DType::kFloat32 ? f32 : f64;
  return size_of(dtype) == 4 ? i32 : i64;
}

void lower_vector_sort(kernel::StepBuilder& b, const SortForm& form) {
  const kernel::Operand &in = b.input(0), &out = b.output();
  const DType dtype = in.type.dtype;
  const auto size = static_cast<int64_t>(size_of(dtype));
  const Dim &n = in.type.dims.back(), &k = out.type.dims.back();
  const Dim rows = product(Dims(in.type.dims.begin(), in.type.dims.end() - 1)), of_row = k == n ? n : n * Dim(2);
  const bool on_stack = of_row.is_known() && of_row.value() * size <= kSortStackBytes;
  const kernel::Operand work = b.workspace(dtype, on_stack ? Dim(0) : rows * of_row);
  b.call_library({sort_function(dtype),
                  {Dim(b.lanes_of(dtype)), Dim(form.descending ? 1 : 0), Dim(is_unsigned_int(dtype) ? 1 : 0),
                   grain_of(Dim(size), b.target()), rows, n, k, PointerTo{in.index}, PointerTo{work.index},
                   PointerTo{out.index}}});
}

}  // namespace thtrain
