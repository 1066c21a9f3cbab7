#include "compiler/ops/linalg/device_inverse.h"

#include "compiler/kernel/schedule/device.h"

namespace thtrain {
namespace {

using kernel::LoopMark;
using kernel::Term;

constexpr int kThreads = kernel::kDeviceThreads;

class DeviceInverse {
 public:
  explicit DeviceInverse(kernel::StepBuilder& b)
      : b_(b), code_(b.code()), dtype_(b.output().type.dtype), n_(b.length(b.output().type.dims[0])) {}

  void run(kernel::RuntimeCheck singular) {
    const Dim& n = b_.output().type.dims[0];
    factors_ = b_.workspace(dtype_, n);
    pivots_ = b_.workspace(DType::kInt64, n);
    zero_ = b_.workspace(DType::kInt64, 1);
    const std::string sizes = code_.shared_array("sizes", dtype_, kThreads),
                      rows = code_.shared_array("rows", DType::kInt64, kThreads);
    each(0, n_ * n_, [&](const Term& i) { b_.store(b_.output(), i, b_.load(b_.input(0), i)); });
    const Term zero = code_.var("zero", 0);
    code_.barrier();
    code_.loop("k", n_, [&](const Term& k) {
      const Term pivot = find_pivot(k, sizes, rows, zero);
      exchange(k, pivot);
      eliminate(k);
    });
    code_.comment("rows that were exchanged are columns of the inverse");
    each(0, n_, [&](const Term& i) {
      code_.loop("back", n_, [&](const Term& back) {
        const Term k = code_.let("k", n_ - Term(1) - back), pivot = code_.let("pivot", b_.load(pivots_, k));
        const Term x = code_.let("x", b_.load(b_.output(), at(i, k))),
                   y = code_.let("y", b_.load(b_.output(), at(i, pivot)));
        b_.store(b_.output(), at(i, k), y);
        b_.store(b_.output(), at(i, pivot), x);
      });
    });
    of_first_thread([&] { b_.store(zero_, 0, zero); });
    b_.finish_device_kernel("inverse", "out0 = in0^-1 by Gauss and Jordan, with pivots", 1, kThreads,
                            "a block for the matrix");
    const Term found = code_.let("found", b_.load(zero_, 0));
    b_.require(found == Term(0), std::move(singular), found, 0);
    b_.finish_device_kernel("inverse_check", "is a pivot 0?", 1, 1, "one thread");
  }

 private:
  // Of the transposed matrix.
  Term at(const Term& row, const Term& column) { return column * n_ + row; }
  Term element(const Term& row, const Term& column) { return b_.load(b_.output(), at(row, column)); }
  void each(const Term& first, const Term& last, const std::function<void(const Term&)>& body) {
    code_.loop("i", first + b_.thread(), last, Term(kThreads), LoopMark::kSequential, body);
  }
  void of_first_thread(const std::function<void()>& body) { code_.if_(b_.thread() == Term(0), body); }

  // The row, from k on, with the largest element of column k; of equal ones the first.
  Term find_pivot(const Term& k, const std::string& sizes, const std::string& rows, const Term& zero) {
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
    code_.if_(most == Term(0) && zero == Term(0), [&] { code_.assign(zero, k + Term(1)); });
    of_first_thread([&] { b_.store(pivots_, k, pivot); });
    return pivot;
  }

  // Exchanges rows k and `pivot`, divides the new row k by its element of column k, and takes that column away for the
  // inverse's.
  void exchange(const Term& k, const Term& pivot) {
    const Term one = kernel::constant(dtype_, 1), none = kernel::constant(dtype_, 0);
    const Term scale = code_.let("scale", one / element(pivot, k));
    code_.barrier();
    each(0, n_, [&](const Term& j) {
      const Term x = code_.let("x", element(k, j)), y = code_.let("y", element(pivot, j));
      b_.store(b_.output(), at(pivot, j), x);
      b_.store(b_.output(), at(k, j), kernel::select(j == k, one, y) * scale);
    });
    code_.barrier();
    each(0, n_, [&](const Term& i) {
      code_.if_(i != k, [&] {
        b_.store(factors_, i, element(i, k));
        b_.store(b_.output(), at(i, k), none);
      });
    });
    code_.barrier();
  }

  void eliminate(const Term& k) {
    each(0, n_ * n_, [&](const Term& e) {
      const Term column = code_.let("column", e / n_), row = code_.let("row", e - column * n_);
      code_.if_(row != k, [&] {
        b_.store(b_.output(), e, b_.load(b_.output(), e) - b_.load(factors_, row) * element(k, column));
      });
    });
    code_.barrier();
  }

  kernel::StepBuilder& b_;
  kernel::Code& code_;
  DType dtype_;
  Term n_;
  kernel::Operand factors_ = {}, pivots_ = {},
                  zero_ = {};  // zero_: the first pivot that is 0, from 1; 0: there is none
};

}  // namespace

void lower_device_inverse(kernel::StepBuilder& b, kernel::RuntimeCheck singular) {
  DeviceInverse(b).run(std::move(singular));
}

}  // namespace thtrain
