#include "compiler/ops/factor/device_factor.h"

#include "compiler/kernel/schedule/device.h"
#include "compiler/ops/factor/matrices.h"

namespace thtrain {
namespace {

using kernel::LoopMark;
using kernel::Term;

constexpr int kThreads = kernel::kDeviceThreads;

/// A matrix of the batch for each block, in the memory of output 0.
class DeviceFactor {
 public:
  explicit DeviceFactor(kernel::StepBuilder& b)
      : b_(b),
        code_(b.code()),
        dtype_(b.output().type.dtype),
        n_(b.length(b.output().type.dims.back())),
        first_(code_.let("first", b.block() * n_ * n_)) {}

  void lu() {
    const std::string sizes = code_.shared_array("sizes", dtype_, kThreads),
                      rows = code_.shared_array("rows", DType::kInt64, kThreads);
    const Term first_row = code_.let("first_row", b_.block() * n_);
    each(0, n_ * n_, [&](const Term& i) { b_.store(b_.output(), first_ + i, b_.load(b_.input(0), first_ + i)); });
    each(0, n_, [&](const Term& i) { b_.store(b_.output(1), first_row + i, i); });
    const Term sign = code_.var("sign", 1);
    code_.barrier();
    code_.loop("k", n_, [&](const Term& k) {
      const Term pivot = find_pivot(k, sizes, rows);
      code_.assign(sign, kernel::select(pivot == k, sign, -sign));
      each(0, n_, [&](const Term& j) { exchange(b_.output(), at(k, j), at(pivot, j)); });
      of_first_thread([&] { exchange(b_.output(1), first_row + k, first_row + pivot); });
      code_.barrier();
      const Term chosen = code_.let("chosen", element(k, k)),
                 divisor = code_.let("divisor", kernel::select(chosen == zero(), one(), chosen));
      each(k + Term(1), n_, [&](const Term& i) { b_.store(b_.output(), at(i, k), element(i, k) / divisor); });
      code_.barrier();
      const Term left = code_.let("left", n_ - k - Term(1)),
                 width = code_.let("width", kernel::select(left > Term(0), left, Term(1)));
      each(0, left * left, [&](const Term& e) {
        const Term down = code_.let("down", e / width), row = code_.let("row", k + Term(1) + down),
                   column = code_.let("column", k + Term(1) + e - down * width);
        b_.store(b_.output(), at(row, column), fma(-element(row, k), element(k, column), element(row, column)));
      });
      code_.barrier();
    });
    of_first_thread([&] { b_.store(b_.output(2), b_.block(), sign); });
    b_.finish_device_kernel("lu", "out0 = packed factors of in0, with pivots", blocks(), kThreads, kSchedule);
  }

  void cholesky(kernel::RuntimeCheck check) {
    const kernel::Operand failed = b_.workspace(DType::kInt64, blocks());
    const Term wrong = code_.var("wrong", 0);
    each(0, n_ * n_, [&](const Term& e) {
      const Term row = code_.let("row", e / n_), column = code_.let("column", e - row * n_);
      b_.store(b_.output(), first_ + e, kernel::select(column > row, zero(), b_.load(b_.input(0), first_ + e)));
    });
    code_.barrier();
    code_.loop("j", n_, [&](const Term& j) {
      each(j, n_, [&](const Term& i) {
        const Term sum = code_.var("sum", element(i, j));
        code_.loop("k", j, [&](const Term& k) { code_.assign(sum, fma(-element(i, k), element(j, k), sum)); });
        b_.store(b_.output(), at(i, j), sum);
      });
      code_.barrier();
      const Term pivot = code_.let("pivot", element(j, j)), root = code_.let("root", sqrt(pivot));
      code_.if_(!(pivot > zero()) && wrong == Term(0), [&] { code_.assign(wrong, j + Term(1)); });
      code_.barrier();
      each(j, n_,
           [&](const Term& i) { b_.store(b_.output(), at(i, j), kernel::select(i == j, root, element(i, j) / root)); });
      code_.barrier();
    });
    of_first_thread([&] { b_.store(failed, b_.block(), wrong); });
    b_.finish_device_kernel("cholesky", "out0 = the lower Cholesky factors of in0", blocks(), kThreads, kSchedule);
    const Term matrices = b_.length(blocks());
    code_.loop("m", matrices, [&](const Term& m) {
      const Term found = code_.let("found", b_.load(failed, m));
      b_.require(found == Term(0), check, found, m);
    });
    b_.finish_device_kernel("cholesky_check", "is a pivot not positive?", 1, 1, "one thread");
  }

 private:
  static constexpr const char* kSchedule = "a block for each matrix";

  Dim blocks() const { return count_of(b_.output().type); }
  Term at(const Term& row, const Term& column) { return first_ + row * n_ + column; }
  Term element(const Term& row, const Term& column) { return b_.load(b_.output(), at(row, column)); }
  Term zero() const { return kernel::constant(dtype_, 0); }
  Term one() const { return kernel::constant(dtype_, 1); }
  void each(const Term& first, const Term& last, const std::function<void(const Term&)>& body) {
    code_.loop("i", first + b_.thread(), last, Term(kThreads), LoopMark::kSequential, body);
  }
  void of_first_thread(const std::function<void()>& body) { code_.if_(b_.thread() == Term(0), body); }
  void exchange(const kernel::Operand& operand, const Term& i, const Term& j) {
    const Term x = code_.let("x", b_.load(operand, i)), y = code_.let("y", b_.load(operand, j));
    b_.store(operand, i, y);
    b_.store(operand, j, x);
  }

  // The row, from k on, with the largest element of column k; of equal ones the first.
  Term find_pivot(const Term& k, const std::string& sizes, const std::string& rows) {
    const Term most = code_.var("most", kernel::constant(dtype_, -1)), pivot = code_.var("pivot", k);
    const auto take_larger = [&](const Term& size, const Term& row) {
      code_.if_(size > most || (size == most && row < pivot), [&] {
        code_.assign(most, size);
        code_.assign(pivot, row);
      });
    };
    each(k, n_, [&](const Term& i) { take_larger(code_.let("size", kernel::fabs(element(i, k))), i); });
    code_.store(sizes, b_.thread(), 1, most);
    code_.store(rows, b_.thread(), 1, pivot);
    code_.barrier();
    const Term left = code_.let("left", n_ - k);
    code_.loop("t", kernel::select(left < Term(kThreads), left, kThreads), [&](const Term& t) {
      take_larger(code_.let("size", kernel::load(sizes, dtype_, 1, t, 1)),
                  code_.let("row", kernel::load(rows, DType::kInt64, 1, t, 1)));
    });
    return pivot;
  }

  kernel::StepBuilder& b_;
  kernel::Code& code_;
  DType dtype_;
  Term n_, first_;
};

}  // namespace

void lower_device_lu(kernel::StepBuilder& b) {
  DeviceFactor(b).lu();
}

void lower_device_cholesky(kernel::StepBuilder& b, kernel::RuntimeCheck check) {
  DeviceFactor(b).cholesky(std::move(check));
}

void lower_device_triangular_solve(kernel::StepBuilder& b, const Triangle& t, kernel::RuntimeCheck check) {
  kernel::Code& code = b.code();
  const Type& type = b.output().type;
  const Dim &rows = type.dims[type.rank() - 2], &columns = type.dims.back();
  const Term n = b.length(rows), k = b.length(columns);
  const bool goes_down = t.lower != t.transposed;
  code.loop("c", b.begin(), b.end(), 1, LoopMark::kSequential, [&](const Term& c) {
    const Term matrix = code.let("matrix", c / k), column = code.let("column", c - matrix * k),
               of_a = code.let("of_a", matrix * n * n), of_x = code.let("of_x", matrix * n * k + column);
    const auto a = [&](const Term& i, const Term& j) { return b.load(b.input(0), of_a + i * n + j); };
    const auto row = [&](const Term& step) { return goes_down ? step : n - Term(1) - step; };
    if (!t.unit)
      code.loop("i", n, [&](const Term& i) {
        b.require(a(i, i) != kernel::constant(type.dtype, 0), check, i + Term(1), matrix);
      });
    code.loop("step", n, [&](const Term& step) {
      const Term i = code.let("i", row(step)), sum = code.var("sum", b.load(b.input(1), of_x + i * k));
      code.loop("before", step, [&](const Term& before) {
        const Term j = code.let("j", row(before));
        code.assign(sum, fma(-(t.transposed ? a(j, i) : a(i, j)), b.load(b.output(), of_x + j * k), sum));
      });
      b.store(b.output(), of_x + i * k, t.unit ? sum : sum / a(i, i));
    });
  });
  b.finish_kernel("triangular_solve", "out0 = the solutions for the triangles of in0 and in1", count_of(type) * columns,
                  1);
}

}  // namespace thtrain
