#include "compiler/ops/factor/cusolver_qr.h"

#include "compiler/kernel/schedule/device.h"
#include "compiler/ops/factor/column_matrices.h"
#include "compiler/ops/factor/factor_functions.h"

namespace thtrain {

using kernel::PointerTo;
using kernel::Term;

// cuSOLVER's r has a diagonal of any sign; q and r are divided and multiplied by that.
void call_cusolver_qr(kernel::StepBuilder& b, int64_t count, int64_t m, int64_t n) {
  constexpr int kThreads = kernel::kDeviceThreads;
  kernel::Code& code = b.code();
  const DType dtype = b.input(0).type.dtype, real = real_dtype(dtype);
  const kernel::Operand work = b.workspace(dtype, count * m * n), factors = b.workspace(dtype, count * n),
                        signs = b.workspace(dtype, count * n), info = b.workspace(DType::kInt32, count);
  // An element (i, j) of each of `count` matrices [rows, n], by a thread.
  const auto each = [&](int64_t rows, const char* name, const char* comment,
                        const std::function<void(const Term& e, const Term& matrix, const Term& i, const Term& j)>& f) {
    const Term e = code.let("e", b.block() * Term(kThreads) + b.thread());
    code.if_(e < Term(count * rows * n), [&] {
      const Term row = code.let("row", e / Term(n)), j = code.let("j", e - row * Term(n)),
                 matrix = code.let("matrix", row / Term(rows));
      f(e, matrix, code.let("i", row - matrix * Term(rows)), j);
    });
    b.finish_device_kernel(name, comment, kernel::blocks_for(count * rows * n, kThreads), kThreads,
                           "a thread for each element");
  };
  const auto call = [&](const kernel::LibraryFunction& function) {
    b.call_library(
        {function,
         {Dim(count), Dim(m), Dim(n), PointerTo{work.index}, PointerTo{factors.index}, PointerTo{info.index}}});
  };
  transpose_matrices(b, count, m, n, b.input(0), work, "the matrices of in0 by columns");
  call(cusolver_reflections_function(b.target(), dtype));
  each(n, "store_r", "out1 = r, with a diagonal that is not negative",
       [&](const Term& e, const Term& matrix, const Term& i, const Term& j) {
         const Term zero = kernel::constant(real, 0), is_diagonal = code.let("is_diagonal", i == j);
         const Parts diagonal = load_number(b, work, (matrix * Term(n) + i) * Term(m) + i);
         const Term size = modulus(code, diagonal, real);
         const Parts sign = sign_of(code, diagonal, size, real);
         code.if_(is_diagonal, [&] { store_number(b, signs, matrix * Term(n) + i, sign); });
         Parts x = times(load_number(b, work, (matrix * Term(n) + j) * Term(m) + i), sign, true);
         x.re = kernel::select(is_diagonal, size, kernel::select(i > j, zero, x.re));
         if (x.is_complex()) x.im = kernel::select(i >= j, zero, x.im);
         store_number(b, b.output(1), e, x);
       });
  call(cusolver_q_function(b.target(), dtype));
  each(m, "store_q", "out0 = q by rows", [&](const Term& e, const Term& matrix, const Term& i, const Term& j) {
    const Parts x = load_number(b, work, (matrix * Term(n) + j) * Term(m) + i);
    store_number(b, b.output(0), e, times(x, load_number(b, signs, matrix * Term(n) + j)));
  });
}

}  // namespace thtrain
