#include "datasets/coordinates.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "compiler/base/file.h"

namespace thtrain {

std::optional<SparseTensor> csr_of(const Coordinates& elements, int64_t rows, int64_t columns, EqualPlaces& equal) {
  const size_t stored = elements.rows.size();
  std::vector<size_t> order(stored);
  std::iota(order.begin(), order.end(), size_t{0});
  const auto place = [&](size_t e) { return std::pair(elements.rows[e], elements.columns[e]); };
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return place(a) < place(b); });
  for (size_t i = 1; i < stored; ++i)
    if (place(order[i - 1]) == place(order[i])) {
      equal = {order[i - 1], order[i]};
      return {};
    }
  const int64_t most = std::numeric_limits<int32_t>::max();
  const bool is_narrow = columns <= most && static_cast<int64_t>(stored) <= most;
  const DType of_indices = is_narrow ? DType::kInt32 : DType::kInt64;
  SparseTensor out{.data = Tensor::empty(elements.values.dtype(), {static_cast<int64_t>(stored)}),
                   .indices = Tensor::empty(of_indices, {static_cast<int64_t>(stored)}),
                   .indptr = Tensor::zeros(of_indices, {rows + 1}),
                   .rows = rows,
                   .columns = columns};
  visit(elements.values.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for (size_t i = 0; i < stored; ++i) out.data.data<T>()[i] = elements.values.data<T>()[order[i]];
  });
  const auto fill = [&](auto* indices, auto* indptr) {
    using Index = std::remove_pointer_t<decltype(indices)>;
    for (size_t i = 0; i < stored; ++i) {
      indices[i] = static_cast<Index>(elements.columns[order[i]]);
      ++indptr[elements.rows[order[i]] + 1];
    }
    std::partial_sum(indptr, indptr + rows + 1, indptr);
  };
  if (is_narrow)
    fill(out.indices.data<int32_t>(), out.indptr.data<int32_t>());
  else
    fill(out.indices.data<int64_t>(), out.indptr.data<int64_t>());
  return out;
}

void require_believable_rows(const std::string& path, const std::string& location, int64_t rows, uint64_t file_bytes) {
  constexpr int64_t kAlways = int64_t{1} << 24, kOfByte = 16;
  const auto of_bytes = static_cast<int64_t>(std::min<uint64_t>(file_bytes, uint64_t{1} << 50)) * kOfByte;
  if (rows <= kAlways + of_bytes) return;
  throw file_error(path, str(location, "too many rows for a file of ", file_bytes, " bytes"),
                   str("at most ", kAlways + of_bytes, " rows"), str(rows),
                   "nearly all of them would be empty: number the rows anew");
}

}  // namespace thtrain
