#include "compiler/ops/sparse/csr_dot_kernels.h"

#include <algorithm>
#include <bit>

#include "compiler/base/ceil_div.h"

namespace thtrain {
namespace {

using kernel::LoopMark;
using kernel::StepBuilder;
using kernel::Term;

// Vectors that are summed at once: enough that no multiply-add waits for another, in 16 registers.
constexpr int kSums = 8;

// The columns of the dense operands, in blocks of vectors.
class CsrDot {
 public:
  CsrDot(StepBuilder& b, const CsrDotStep& step)
      : b_(b),
        code_(b.code()),
        epilogue_(step.epilogue),
        data_(step.data),
        indices_(step.indices),
        indptr_(step.indptr),
        x_(step.x),
        out_(step.out),
        addend_(step.addend ? &*step.addend : nullptr),
        alpha_(step.alpha ? &*step.alpha : nullptr),
        n_(x_.type.rank() == 2 ? x_.type.dims[1] : Dim(1)),
        lanes_(b.lanes_of(data_.type.dtype)) {
    if (n_.is_known() && !epilogue_)
      lanes_ = static_cast<int>(std::min<int64_t>(
          lanes_, static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(n_.value(), 1))))));
  }

  void of_rows() {
    if (epilogue_) epilogue_->begin();
    finish_rows(b_, indptr_, data_.type.dims[0], work(), epilogue_ ? epilogue_->name() : "csr_dot",
                epilogue_ ? epilogue_->comment() : "out0 = A in3, A of the elements in0 in rows",
                [&](const Term& i, const StoredRow& row) {
                  if (n_.is(1) && !epilogue_) return store_product(i, row);
                  each_block(kSums, [&](const Term& column, int vectors, const Term& last) {
                    sum_row(i, row, column, vectors, last);
                  });
                });
  }

  // Each part has its own columns of the result, and adds to them row by row.
  void of_columns() {
    const bool is_split = n_.is_known() && n_.value() >= 2 * lanes_;
    const int vectors = is_split ? static_cast<int>(std::min<int64_t>(4, n_.value() / lanes_ / 2)) : 4;
    const Dim width(int64_t{vectors} * lanes_);
    const Term begin = is_split ? code_.let("left", b_.begin() * b_.length(width)) : Term(0), all = b_.length(n_),
               end = is_split ? code_.let("right", kernel::select(b_.end() * b_.length(width) < all,
                                                                  b_.end() * b_.length(width), all))
                              : all;
    if (!b_.overwrites(csr_dot_parts::kAddend))
      code_.loop("j", b_.length(out_.type.dims[0]), [&](const Term& j) {
        code_.loop("column", begin, end, 1, LoopMark::kVector, [&](const Term& column) {
          const Term at = code_.let("at", j * all + column);
          b_.store(out_, at, addend_ ? b_.load(*addend_, at) : zero());
        });
      });
    require_rows(b_, indptr_, data_.type.dims[0]);
    code_.loop("i", b_.length(rows_of(indptr_.type)), [&](const Term& i) {
      const StoredRow row = stored_row(b_, indptr_, i, data_.type.dims[0]);
      each_block(
          vectors, [&](const Term& column, int count, const Term& last) { add_row(i, row, column, count, last); },
          begin, end);
    });
    const Dim blocks = is_split ? Dim(ceil_div(n_.value(), width.value())) : Dim(1);
    b_.finish_kernel("csr_dot_transposed", "out0 = A^T in3, A of the elements in0 in rows", blocks,
                     is_split ? Dim(1) : Dim(0));
  }

 private:
  using BlockBody = std::function<void(const Term& column, int vectors, const Term& last)>;

  int64_t work() const { return work_of_element(n_); }

  void each_block(int most, const BlockBody& body) { each_block(most, body, 0, b_.length(n_)); }
  // Whole blocks, then single vectors, of which the last one has fewer lanes where that is not known to be impossible.
  void each_block(int most, const BlockBody& body, const Term& begin, const Term& end) {
    if (n_.is_known() && n_.value() <= int64_t{most} * lanes_ && kernel::is_constant(begin, 0)) {
      const int64_t vectors = ceil_div(n_.value(), int64_t{lanes_}), rest = n_.value() - (vectors - 1) * lanes_;
      if (vectors > 0) body(0, static_cast<int>(vectors), rest == lanes_ ? Term() : Term(rest));
      return;
    }
    const int64_t width = int64_t{most} * lanes_;
    const Term whole = code_.let("whole", begin + (end - begin) / Term(width) * Term(width));
    code_.loop("column", begin, whole, width, LoopMark::kSequential,
               [&](const Term& column) { body(column, most, {}); });
    if (n_.is_known() && n_.value() % width == 0) return;
    const bool is_even = lanes_ == 1 || (n_.is_known() && n_.value() % lanes_ == 0);
    code_.loop("column", whole, end, lanes_, LoopMark::kSequential, [&](const Term& column) {
      const Term left =
          is_even ? Term()
                  : code_.let("left_over", kernel::select(end - column < Term(lanes_), end - column, Term(lanes_)));
      body(column, 1, left);
    });
  }

  Term zero() const {
    const DType dtype = data_.type.dtype;
    return is_float(dtype) ? kernel::constant(dtype, 0) : kernel::constant_int(dtype, 0);
  }
  Term multiply_add(const Term& a, const Term& b, const Term& sum) const {
    return is_float(data_.type.dtype) ? fma(a, b, sum) : sum + a * b;
  }
  Term at(const Term& row, const Term& column, int vector) const {
    return row * b_.length(n_) + column + Term(int64_t{vector} * lanes_);
  }

  void sum_row(const Term& i, const StoredRow& row, const Term& column, int vectors, const Term& last) {
    const int runs = std::clamp(kSums / vectors, 1, 4);
    const auto count_of = [&](int v) { return v + 1 == vectors ? last : Term(); };
    std::vector<Term> sums;
    for (int s = 0; s < runs * vectors; ++s) sums.push_back(code_.var("sum", kernel::splat(zero(), lanes_)));
    const auto add = [&](const Term& e, int run) {
      const Term a = code_.let("a", b_.load(data_, e)), j = stored_index(b_, indices_, e, x_.type.dims[0]);
      for (int v = 0; v < vectors; ++v) {
        const Term& sum = sums[static_cast<size_t>(run) * vectors + v];
        code_.assign(
            sum, multiply_add(kernel::splat(a, lanes_), b_.load(x_, at(j, column, v), lanes_, 1, count_of(v)), sum));
      }
    };
    const Term whole =
        runs == 1 ? row.end : code_.let("whole_runs", row.begin + (row.end - row.begin) / Term(runs) * Term(runs));
    code_.loop("e", row.begin, whole, runs, LoopMark::kSequential, [&](const Term& e) {
      for (int run = 0; run < runs; ++run) add(e + Term(run), run);
    });
    if (runs > 1) code_.loop("e", whole, row.end, 1, LoopMark::kSequential, [&](const Term& e) { add(e, 0); });
    for (int v = 0; v < vectors; ++v) {
      std::vector<Term> of_runs;
      for (int run = 0; run < runs; ++run) of_runs.push_back(sums[static_cast<size_t>(run) * vectors + v]);
      for (; of_runs.size() > 1; of_runs.resize(of_runs.size() / 2))
        for (size_t k = 0; k < of_runs.size() / 2; ++k) of_runs[k] = of_runs[k] + of_runs[k + of_runs.size() / 2];
      Term sum = of_runs[0];
      if (alpha_)
        sum = fma(kernel::splat(b_.load(*alpha_, 0), lanes_), sum,
                  b_.load(*addend_, at(i, column, v), lanes_, 1, count_of(v)));
      if (epilogue_)
        epilogue_->write(sum, {i, column + Term(int64_t{v} * lanes_)}, count_of(v));
      else
        b_.store(out_, at(i, column, v), sum, 1, count_of(v));
    }
  }

  void store_product(const Term& i, const StoredRow& row) {
    Term sum = row_product(b_, row);
    if (alpha_) sum = fma(b_.load(*alpha_, 0), sum, b_.load(*addend_, i));
    b_.store(out_, i, sum);
  }

  void add_row(const Term& i, const StoredRow& row, const Term& column, int vectors, const Term& last) {
    const auto count_of = [&](int v) { return v + 1 == vectors ? last : Term(); };
    std::vector<Term> x;
    for (int v = 0; v < vectors; ++v)
      x.push_back(code_.let("x", b_.load(x_, at(i, column, v), lanes_, 1, count_of(v))));
    code_.loop("e", row.begin, row.end, 1, LoopMark::kSequential, [&](const Term& e) {
      const Term a = code_.let("a", alpha_ ? b_.load(*alpha_, 0) * b_.load(data_, e) : b_.load(data_, e)),
                 j = stored_index(b_, indices_, e, out_.type.dims[0]);
      for (int v = 0; v < vectors; ++v) {
        const Term before = b_.load(out_, at(j, column, v), lanes_, 1, count_of(v));
        b_.store(out_, at(j, column, v), multiply_add(kernel::splat(a, lanes_), x[static_cast<size_t>(v)], before), 1,
                 count_of(v));
      }
    });
  }

  StepBuilder& b_;
  kernel::Code& code_;
  KernelEpilogue* epilogue_;
  const kernel::Operand &data_, &indices_, &indptr_, &x_, &out_;
  const kernel::Operand *addend_, *alpha_;  // null: nothing is added to
  const Dim n_;
  int lanes_;
};

}  // namespace

void check_pattern_first(StepBuilder& b, const CsrDotStep& step, const Dim& columns) {
  if (b.writes_variable()) check_pattern(b, step, columns);
}

void check_pattern(StepBuilder& b, const CsrDotStep& step, const Dim& columns) {
  finish_rows(b, step.indptr, step.data.type.dims[0], 2, "csr_checks", "checks in1 and in2, the pattern of a matrix",
              [&](const Term&, const StoredRow& row) {
                b.code().loop("e", row.begin, row.end, 1, LoopMark::kSequential,
                              [&](const Term& e) { stored_index(b, step.indices, e, columns); });
              });
}

void lower_csr_dot_rows(StepBuilder& b, const CsrDotStep& step) {
  CsrDot(b, step).of_rows();
}

void lower_csr_dot_columns(StepBuilder& b, const CsrDotStep& step) {
  CsrDot(b, step).of_columns();
}

}  // namespace thtrain
