// A compressed matrix, or its transpose, times a vector.
#include <algorithm>

#include "compiler/ops/sparse/parts.h"

namespace thtrain {

using kernel::LoopMark;
using kernel::Term;

// Rows are added up in so many parts, each in a vector of its own, where columns have many elements. How many threads
// there are does not change the order of the sums.
static constexpr int64_t kParts = 4, kElementsOfColumn = 8;

// Additions to columns that were looked at together do not wait for one another's branches.
static constexpr int kRun = 4;

void each_run(kernel::StepBuilder& b, const kernel::Operand& data, const kernel::Operand& indices, const Term& begin,
              const Term& end, int run, const std::function<void(const Term& element)>& body) {
  constexpr int64_t kAhead = 256;
  const int64_t bytes = static_cast<int64_t>(size_of(data.type.dtype) + size_of(indices.type.dtype));
  const auto loop = [&](bool asks_ahead) {
    b.code().loop("e", begin, end, run, LoopMark::kSequential, [&](const Term& e) {
      if (asks_ahead) {
        b.prefetch(data, e + Term(kAhead), kernel::Prefetch::kL1);
        b.prefetch(indices, e + Term(kAhead), kernel::Prefetch::kL1);
      }
      body(e);
    });
  };
  if (b.target().is_device() || b.target().last_cache_bytes == 0) return loop(false);
  b.code().if_(
      b.length(data.type.dims[0]) > Term(b.target().last_cache_bytes / bytes), [&] { loop(true); },
      [&] { loop(false); });
}

// x at the elements from e, one in each lane: single loads, of which a processor does more than gathers do.
static Term of_elements(kernel::StepBuilder& b, const Term& e, int lanes) {
  const kernel::Operand &indices = b.input(1), &x = b.input(3);
  std::vector<Term> loaded;
  for (const Term& j : stored_indices(b, indices, e, lanes, x.type.dims[0]))
    loaded.push_back(kernel::splat(b.load(x, j), lanes));
  if (lanes == 1) return loaded[0];
  if (lanes == 2) return zip_low(loaded[0], loaded[1]);
  return zip_low(zip_low(loaded[0], loaded[2]), zip_low(loaded[1], loaded[3]));
}

Term row_product(kernel::StepBuilder& b, const StoredRow& row) {
  const kernel::Operand &data = b.input(0), &indices = b.input(1);
  const DType dtype = data.type.dtype;
  kernel::Code& code = b.code();
  const int lanes = is_float(dtype) ? std::min(4, b.lanes_of(dtype)) : 1;
  const auto add = [&](const Term& sum, const Term& e, int count) {
    const Term a = b.load(data, e, count), x = of_elements(b, e, count);
    code.assign(sum, is_float(dtype) ? fma(a, x, sum) : sum + a * x);
  };
  const auto sum_of = [&](int count) {
    const Term zero = is_float(dtype) ? kernel::constant(dtype, 0) : kernel::constant_int(dtype, 0);
    return code.var("sum", kernel::splat(zero, count));
  };
  const Term one = sum_of(lanes), other = sum_of(lanes);
  const Term whole = code.let("whole", row.end - ((row.end - row.begin) & Term(2 * lanes - 1)));
  each_run(b, data, indices, row.begin, whole, 2 * lanes, [&](const Term& e) {
    add(one, e, lanes);
    add(other, e + Term(lanes), lanes);
  });
  // Of its own: the last elements do not wait for the lanes of the vectors.
  const Term rest = sum_of(1);
  code.loop("e", whole, row.end, 1, LoopMark::kSequential, [&](const Term& e) { add(rest, e, 1); });
  return (lanes > 1 ? kernel::reduce_lanes("add", one + other) : one + other) + rest;
}

void lower_transposed_vector(kernel::StepBuilder& b) {
  const kernel::Operand &data = b.input(0), &indices = b.input(1), &indptr = b.input(2), &x = b.input(3),
                        &out = b.output();
  const Dim &stored = data.type.dims[0], &columns = out.type.dims[0];
  const DType dtype = out.type.dtype;
  const bool is_floating = is_float(dtype);
  const Term zero = is_floating ? kernel::constant(dtype, 0) : kernel::constant_int(dtype, 0);
  kernel::Code& code = b.code();
  const kernel::Operand sums = b.workspace(dtype, Dim(kParts) * columns);
  const auto parts_of_call = [&] {
    return code.let("parts", kernel::select(b.length(stored) >= Term(kElementsOfColumn) * b.length(columns),
                                            Term(kParts), Term(1)));
  };
  require_rows(b, indptr, stored);
  const Term parts = parts_of_call(), rows = b.length(rows_of(indptr.type)), all = rows + b.length(stored);
  code.loop("part", b.begin(), kernel::select(b.end() < parts, b.end(), parts), 1, LoopMark::kSequential,
            [&](const Term& part) {
              const Term base = code.let("base", part * b.length(columns));
              code.loop("j", 0, b.length(columns), 1, LoopMark::kVector,
                        [&](const Term& j) { b.store(sums, base + j, zero); });
              const Term first = first_row_from(b, indptr, "from", part * all / parts),
                         found = first_row_from(b, indptr, "to", (part + Term(1)) * all / parts),
                         last = code.let("last_row", kernel::select(part + Term(1) < parts, found, rows));
              code.loop("i", first, last, 1, LoopMark::kSequential, [&](const Term& i) {
                const StoredRow row = stored_row(b, indptr, i, stored);
                const Term of_row = code.let("x", b.load(x, i));
                const auto add = [&](const Term& e, const Term& j) {
                  const Term a = b.load(data, e), before = b.load(sums, base + j);
                  b.store(sums, base + j, is_floating ? fma(a, of_row, before) : before + a * of_row);
                };
                const Term whole = code.let("whole", row.begin + (row.end - row.begin) / Term(kRun) * Term(kRun));
                each_run(b, data, indices, row.begin, whole, kRun, [&](const Term& e) {
                  const std::vector<Term> at = stored_indices(b, indices, e, kRun, columns);
                  for (int run = 0; run < kRun; ++run) add(e + Term(run), at[static_cast<size_t>(run)]);
                });
                code.loop("e", whole, row.end, 1, LoopMark::kSequential,
                          [&](const Term& e) { add(e, stored_index(b, indices, e, columns)); });
              });
            });
  b.finish_kernel("csr_dot_parts", "sums of A^T in3 over parts of the rows of A, the elements in0 in rows", kParts,
                  max(Dim(kParts) - floor_div(stored, Dim(std::max<int64_t>(
                                                          1, b.target().grain_of_products() / work_of_element(1)))),
                      1));
  const Term count = parts_of_call();
  code.loop("j", b.begin(), b.end(), 1, LoopMark::kVector, [&](const Term& j) { b.store(out, j, b.load(sums, j)); });
  code.loop("part", 1, count, 1, LoopMark::kSequential, [&](const Term& part) {
    const Term base = code.let("base", part * b.length(columns));
    code.loop("j", b.begin(), b.end(), 1, LoopMark::kVector,
              [&](const Term& j) { b.store(out, j, b.load(out, j) + b.load(sums, base + j)); });
  });
  b.finish_kernel("csr_dot_sum", "out0 = A^T in3, of the parts", columns, b.target().grain_of_products());
}

}  // namespace thtrain
