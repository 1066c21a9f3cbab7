// The emulated cuSOLVER: factors of matrices that are stored by columns; of Hermitian ones the upper triangle is read.
#include <algorithm>
#include <map>
#include <memory>
#include <numeric>

#include "compiler/base/error.h"
#include "compiler/base/str.h"
#include "compiler/cuda/emulated/cusolver_objects.h"
#include "compiler/cuda/emulated/math_libraries.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/evaluate.h"
#include "compiler/ops/factor/decompositions.h"
#include "compiler/ops/factor/factor.h"
#include "compiler/ops/factor/matrices.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain::cuda::emulated {
namespace {

std::map<const void*, std::unique_ptr<Handle>>& solvers() {
  static std::map<const void*, std::unique_ptr<Handle>> all;
  return all;
}

}  // namespace

Parameters& the_solver_parameters() {
  static Parameters only;
  return only;
}

namespace {

// f(machine, context, handle).
template <class F>
Status with_solver(Handle* handle, F f) {
  return in_library(CUSOLVER_STATUS_NOT_INITIALIZED, CUSOLVER_STATUS_EXECUTION_FAILED,
                    [&](Machine& m, CUctx_st& context) {
                      Handle* const known = found(solvers(), handle, context);
                      return known ? f(m, context, *known)
                                   : refuse(CUSOLVER_STATUS_NOT_INITIALIZED, "no handle of the current context");
                    });
}

Status version_of_cusolver(int part, int* value) {
  *value = part == MAJOR_VERSION ? 11 : part == MINOR_VERSION ? 6 : 0;
  return CUSOLVER_STATUS_SUCCESS;
}

Status create_solver(Handle** out) {
  return in_library(CUSOLVER_STATUS_NOT_INITIALIZED, CUSOLVER_STATUS_EXECUTION_FAILED,
                    [&](Machine& m, CUctx_st& context) {
                      if (refused_in_capture(m, "a new handle") != CUDA_SUCCESS)
                        return Status{CUSOLVER_STATUS_EXECUTION_FAILED};
                      auto handle = std::make_unique<Handle>(Handle{&context});
                      *out = handle.get();
                      solvers()[*out] = std::move(handle);
                      return CUSOLVER_STATUS_SUCCESS;
                    });
}

Status destroy_solver(Handle* handle) {
  return with_solver(handle, [&](Machine& m, CUctx_st& context, Handle&) {
    drain(m, context);
    solvers().erase(handle);
    return CUSOLVER_STATUS_SUCCESS;
  });
}

Status set_stream_of_solver(Handle* handle, CUstream_st* stream) {
  return with_solver(handle, [&](Machine& m, CUctx_st& context, Handle& h) {
    if (!found(m.streams, stream, context)) return no_handle("stream");
    h.stream = stream;
    return CUSOLVER_STATUS_SUCCESS;
  });
}

Status create_parameters(Parameters** out) {
  *out = &the_solver_parameters();
  return CUSOLVER_STATUS_SUCCESS;
}

// ---- arguments

// Why the arguments are refused; "" where they are not.
std::string trouble_of(const CUctx_st& context, const Handle& h, const Parameters* parameters,
                       const std::vector<Columns>& matrices, int computed_in, const Buffers& buffers) {
  if (!h.stream) return "no stream was set";
  if (parameters != &the_solver_parameters()) return "no parameters";
  for (const Columns& x : matrices) {
    if (!x.is_real() && !x.is_complex()) return "a dtype that thtrain does not ask for";
    if (x.dtype != (x.holds_parts ? real_type_of(computed_in) : computed_in)) return "dtypes differ";
    if (x.rows < 0 || x.columns < 0 || x.ld < std::max<int64_t>(1, x.rows)) return "a length or a leading dimension";
    if (!x.rows_of_device().lies_in(context)) return "a matrix does not lie in one allocation of the device";
  }
  if (buffers.device_bytes < kSolverBuffer ||
      !context.memory->holds(reinterpret_cast<DeviceAddress>(buffers.on_device), buffers.device_bytes))
    return "the buffer has not the bytes that were asked for";
  if (!context.memory->holds(reinterpret_cast<DeviceAddress>(buffers.info), sizeof(int))) return "info";
  return "";
}

}  // namespace

Status solver_buffer_sizes(Handle* handle, size_t* on_device, size_t* on_host) {
  return with_solver(handle, [&](Machine&, CUctx_st&, Handle&) {
    *on_device = kSolverBuffer;
    *on_host = 0;
    return CUSOLVER_STATUS_SUCCESS;
  });
}

Status factorize(Handle* handle, const Parameters* parameters, const std::vector<Columns>& matrices, int computed_in,
                 const Buffers& buffers, const std::function<int(CUctx_st&)>& work) {
  return with_solver(handle, [&](Machine& m, CUctx_st& context, Handle& h) {
    const std::string trouble = trouble_of(context, h, parameters, matrices, computed_in, buffers);
    if (!trouble.empty()) return refuse(CUSOLVER_STATUS_INVALID_VALUE, trouble);
    if (refused_in_capture(m, "a call of cuSOLVER, which is not documented for that,") != CUDA_SUCCESS)
      return Status{CUSOLVER_STATUS_EXECUTION_FAILED};
    return enqueue(m, context, h.stream, [&context, work, info = reinterpret_cast<DeviceAddress>(buffers.info)] {
      const DeviceRows one{info, 1, sizeof(int), sizeof(int)};
      const int found = work(context);
      one.write(context, &found);
      one.note_written(context);
    });
  });
}

namespace {

// The values of the graph that `build` makes of x; empty where an op refuses x.
std::vector<Tensor> values_of(const Tensor& x, const std::function<std::vector<Expr>(const Expr&)>& build) {
  const Expr leaf = make_input({.dtype = x.dtype(), .dims = Dims(x.shape().begin(), x.shape().end())}, "x");
  try {
    return evaluate(build(leaf), {{leaf, x}});
  } catch (const UserError&) {
    return {};
  }
}

Tensor transposed_of(const Tensor& x) {
  return values_of(x, [](const Expr& e) { return std::vector{transpose(e)}; })[0];
}

// Vectors may have any sign: every second one is turned round, of complex ones by a right angle, or back.
void turn_some_round(Tensor& columns, bool back = false) {
  visit(columns.dtype(), [&](auto zero) {
    using T = decltype(zero);
    T sign(-1);
    if constexpr (is_complex_v<T>) sign = T(0, back ? -1 : 1);
    if constexpr (is_complex_v<T> || std::is_floating_point_v<T>)
      for (int64_t i = 0; i < columns.size(); ++i)
        if (i / columns.dim(1) % 2 == 0) columns.data<T>()[i] *= sign;
  });
}

bool is_zero_at(const Tensor& x, int64_t i) {
  bool out = false;
  visit(x.dtype(), [&](auto zero) { out = x.data<decltype(zero)>()[i] == decltype(zero)(0); });
  return out;
}

// ---- factorizations

Status potrf_size(Handle* handle, Parameters*, int, int64_t, int, const void*, int64_t, int, size_t* on_device,
                  size_t* on_host) {
  return solver_buffer_sizes(handle, on_device, on_host);
}

// The rows of a lower triangle are the columns of an upper one. Of a matrix that is not positive definite info is the
// order of the first leading part that is not.
Status potrf(Handle* handle, Parameters* parameters, int triangle, int64_t n, int of_a, void* a, int64_t lda,
             int computed_in, void* device_buffer, size_t on_device, void*, size_t, int* info) {
  if (triangle != CUBLAS_FILL_MODE_UPPER) return refuse(CUSOLVER_STATUS_INVALID_VALUE, "a triangle");
  const Columns matrix{of_a, a, n, n, lda};
  return factorize(handle, parameters, {matrix}, computed_in, {device_buffer, on_device, info},
                   [matrix](const CUctx_st& context) {
                     const bool is_written = matrix.rows_of_device().is_written(context);
                     const Tensor given = matrix.read(context);
                     const auto part = [&](int64_t order) {
                       return values_of(given, [&](const Expr& x) {
                         const Slice first{.start = 0, .stop = order};
                         return std::vector{cholesky(x[{first, first}])};
                       });
                     };
                     const std::vector<Tensor> whole = values_of(given, [](const Expr& x) {
                       return std::vector{cholesky(x) + triu(x, 1)};  // the other triangle stays
                     });
                     if (!whole.empty()) {
                       matrix.write(context, whole[0], is_written);
                       return 0;
                     }
                     int order = 1;
                     while (!part(order).empty()) ++order;
                     return order;
                   });
}

Status syevd_size(Handle* handle, Parameters*, int, int, int64_t, int, const void*, int64_t, int, const void*, int,
                  size_t* on_device, size_t* on_host) {
  return solver_buffer_sizes(handle, on_device, on_host);
}

Status syevd(Handle* handle, Parameters* parameters, int vectors, int triangle, int64_t n, int of_a, void* a,
             int64_t lda, int of_w, void* w, int computed_in, void* device_buffer, size_t on_device, void*, size_t,
             int* info) {
  if (triangle != CUBLAS_FILL_MODE_UPPER) return refuse(CUSOLVER_STATUS_INVALID_VALUE, "a triangle");
  const Columns matrix{of_a, a, n, n, lda}, values{of_w, w, n, 1, std::max<int64_t>(1, n), true};
  return factorize(handle, parameters, {matrix, values}, computed_in, {device_buffer, on_device, info},
                   [matrix, values, vectors](const CUctx_st& context) {
                     const bool is_written = matrix.rows_of_device().is_written(context);
                     const std::vector<Tensor> found = values_of(matrix.read(context), [](const Expr& x) {
                       const EigenPairs pairs = eigh(x);  // of the conjugate, whose columns the rows of x are
                       return std::vector{pairs.values, conjugate(transpose(pairs.vectors))};
                     });
                     if (found.empty()) return 1;
                     values.write(context, found[0], is_written);
                     Tensor columns = found[1].copy();
                     turn_some_round(columns);
                     // Without vectors what was in a is destroyed all the same.
                     if (vectors != CUSOLVER_EIG_MODE_VECTOR) std::memset(columns.raw(), 0xff, columns.bytes());
                     matrix.write(context, columns, is_written);
                     return 0;
                   });
}

Status gesvd_size(Handle* handle, Parameters*, signed char, signed char, int64_t, int64_t, int, const void*, int64_t,
                  int, const void*, int, const void*, int64_t, int, const void*, int64_t, int, size_t* on_device,
                  size_t* on_host) {
  return solver_buffer_sizes(handle, on_device, on_host);
}

Status gesvd(Handle* handle, Parameters* parameters, signed char job_u, signed char job_vt, int64_t m, int64_t n,
             int of_a, void* a, int64_t lda, int of_s, void* s, int of_u, void* u, int64_t ldu, int of_vt, void* vt,
             int64_t ldvt, int computed_in, void* device_buffer, size_t on_device, void*, size_t, int* info) {
  if (m < n) return refuse(CUSOLVER_STATUS_INVALID_VALUE, "fewer rows than columns");
  if (job_u != job_vt || (job_u != 'S' && job_u != 'N')) return refuse(CUSOLVER_STATUS_INVALID_VALUE, "a job");
  const bool with_vectors = job_u == 'S';
  const Columns matrix{of_a, a, m, n, lda}, values{of_s, s, n, 1, std::max<int64_t>(1, n), true},
      left{of_u, u, m, n, ldu}, right{of_vt, vt, n, n, ldvt};
  std::vector<Columns> all{matrix, values};
  if (with_vectors) all.insert(all.end(), {left, right});
  return factorize(handle, parameters, all, computed_in, {device_buffer, on_device, info},
                   [=](const CUctx_st& context) {
                     const bool is_written = matrix.rows_of_device().is_written(context);
                     const std::vector<Tensor> found = values_of(matrix.read(context), [](const Expr& x) {
                       const SingularValues parts = svd(transpose(x));
                       return std::vector{parts.s, transpose(parts.u), parts.vh};
                     });
                     if (found.empty()) return 1;
                     values.write(context, found[0], is_written);
                     if (!with_vectors) return 0;
                     Tensor columns = found[1].copy(), rows = found[2].copy();
                     turn_some_round(columns);
                     turn_some_round(rows, true);
                     left.write(context, columns, is_written);
                     right.write(context, transposed_of(rows), is_written);
                     return 0;
                   });
}

Status getrf_size(Handle* handle, Parameters*, int64_t, int64_t, int, const void*, int64_t, int, size_t* on_device,
                  size_t* on_host) {
  return solver_buffer_sizes(handle, on_device, on_host);
}

// As LAPACK numbers them: row i was exchanged with row pivots[i], from 1, after those before. info is the first 0 of
// the diagonal; the factors are there all the same.
Status getrf(Handle* handle, Parameters* parameters, int64_t m, int64_t n, int of_a, void* a, int64_t lda,
             int64_t* pivots, int computed_in, void* device_buffer, size_t on_device, void*, size_t, int* info) {
  if (m != n || !pivots) return refuse(CUSOLVER_STATUS_INVALID_VALUE, "a matrix that is not square, or no pivots");
  const Columns matrix{of_a, a, n, n, lda};
  const DeviceRows exchanges{reinterpret_cast<DeviceAddress>(pivots), 1, 8 * n, 8 * n};
  return factorize(handle, parameters, {matrix}, computed_in, {device_buffer, on_device, info},
                   [matrix, exchanges, n](CUctx_st& context) {
                     if (!is_there(context, exchanges.lies_in(context))) return 0;
                     const bool is_written = matrix.rows_of_device().is_written(context);
                     const std::vector<Tensor> found = values_of(matrix.read(context), [](const Expr& x) {
                       const LuFactors f = lu(transpose(x));
                       return std::vector{transpose(f.packed), f.rows, diagonal(f.packed)};
                     });
                     matrix.write(context, found[0], is_written);
                     std::vector<int64_t> rows(static_cast<size_t>(n)), out;
                     std::iota(rows.begin(), rows.end(), 0);
                     for (int64_t i = 0; i < n; ++i) {
                       const auto at = std::find(rows.begin() + i, rows.end(), found[1].as_int(i));
                       out.push_back(at - rows.begin() + 1);
                       std::swap(rows[static_cast<size_t>(i)], *at);
                     }
                     exchanges.write(context, out.data());
                     if (is_written) exchanges.note_written(context);
                     for (int64_t i = 0; i < n; ++i)
                       if (is_zero_at(found[2], i)) return static_cast<int>(i + 1);
                     return 0;
                   });
}

}  // namespace

const Opened<Cusolver>& cusolver() {
  static const Opened<Cusolver> once = [] {
    Opened<Cusolver> out{};
    out.version = "emulated";
    out.functions = {.cusolverGetProperty = version_of_cusolver,
                     .cusolverDnCreate = create_solver,
                     .cusolverDnDestroy = destroy_solver,
                     .cusolverDnSetStream = set_stream_of_solver,
                     .cusolverDnCreateParams = create_parameters,
                     .cusolverDnXpotrf_bufferSize = potrf_size,
                     .cusolverDnXpotrf = potrf,
                     .cusolverDnXsyevd_bufferSize = syevd_size,
                     .cusolverDnXsyevd = syevd,
                     .cusolverDnXgesvd_bufferSize = gesvd_size,
                     .cusolverDnXgesvd = gesvd,
                     .cusolverDnXgetrf_bufferSize = getrf_size,
                     .cusolverDnXgetrf = getrf};
    add_reflections(out.functions);
    return out;
  }();
  return once;
}

}  // namespace thtrain::cuda::emulated
