// The emulated cuSPARSE: products of a matrix in compressed rows and a matrix that is stored by rows, or a vector.
#include <algorithm>
#include <map>
#include <memory>

#include "compiler/base/error.h"
#include "compiler/base/str.h"
#include "compiler/cuda/emulated/math_libraries.h"
#include "compiler/cuda/emulated/math_work.h"
#include "compiler/ops/evaluate.h"
#include "compiler/ops/sparse/parts.h"

// A handle is a pointer to one of these.
struct cusparseContext {
  CUctx_st* context = nullptr;
  CUstream_st* stream = nullptr;
};
// Descriptors are numbers of the host.
struct cusparseSpMatDescr {
  int64_t rows, columns, stored;
  thtrain::cuda::DeviceAddress offsets, indices, values;
  int of_indices, of_values;
};
struct cusparseDnMatDescr {
  int64_t rows, columns, ld;
  thtrain::cuda::DeviceAddress values;
  int of_values;
};
struct cusparseDnVecDescr {
  cusparseDnMatDescr as_matrix;  // of one column
};

namespace thtrain::cuda::emulated {
namespace {

using SparseHandle = cusparseContext;
using Sparse = cusparseSpMatDescr;
using Dense = cusparseDnMatDescr;

constexpr size_t kSparseBuffer = 768;  // that every product asks for

std::map<const void*, std::unique_ptr<SparseHandle>>& handles_of_cusparse() {
  static std::map<const void*, std::unique_ptr<SparseHandle>> all;
  return all;
}

// f(machine, context, handle).
template <class F>
Status with_cusparse(SparseHandle* handle, F f) {
  return in_library(CUSPARSE_STATUS_NOT_INITIALIZED, CUSPARSE_STATUS_EXECUTION_FAILED,
                    [&](Machine& m, CUctx_st& context) {
                      SparseHandle* const known = found(handles_of_cusparse(), handle, context);
                      return known ? f(m, context, *known)
                                   : refuse(CUSPARSE_STATUS_NOT_INITIALIZED, "no handle of cuSPARSE of this context");
                    });
}

Status version_of_cusparse(int part, int* value) {
  *value = part == MAJOR_VERSION ? 12 : part == MINOR_VERSION ? 3 : 0;
  return CUSPARSE_STATUS_SUCCESS;
}

Status create_cusparse(SparseHandle** out) {
  return in_library(CUSPARSE_STATUS_NOT_INITIALIZED, CUSPARSE_STATUS_EXECUTION_FAILED,
                    [&](Machine& m, CUctx_st& context) {
                      if (refused_in_capture(m, "a new handle") != CUDA_SUCCESS)
                        return Status{CUSPARSE_STATUS_EXECUTION_FAILED};
                      auto handle = std::make_unique<SparseHandle>(SparseHandle{&context});
                      *out = handle.get();
                      handles_of_cusparse()[*out] = std::move(handle);
                      return CUSPARSE_STATUS_SUCCESS;
                    });
}

Status destroy_cusparse(SparseHandle* handle) {
  return with_cusparse(handle, [&](Machine& m, CUctx_st& context, SparseHandle&) {
    drain(m, context);
    handles_of_cusparse().erase(handle);
    return CUSPARSE_STATUS_SUCCESS;
  });
}

Status set_stream_of_cusparse(SparseHandle* handle, CUstream_st* stream) {
  return with_cusparse(handle, [&](Machine& m, CUctx_st& context, SparseHandle& h) {
    if (!found(m.streams, stream, context)) return no_handle("stream");
    h.stream = stream;
    return CUSPARSE_STATUS_SUCCESS;
  });
}

// ---- descriptors

Status no_descriptor(const char* why) {
  return refuse(CUSPARSE_STATUS_INVALID_VALUE, why);
}

bool is_number(int type) {
  return type == CUDA_R_32F || type == CUDA_R_64F;
}
DType dtype_of_number(int type) {
  return type == CUDA_R_32F ? DType::kFloat32 : DType::kFloat64;
}
DType dtype_of_index(int type) {
  return type == CUSPARSE_INDEX_32I ? DType::kInt32 : DType::kInt64;
}

Status create_csr(Sparse** out, int64_t rows, int64_t columns, int64_t stored, void* offsets, void* indices,
                  void* values, int of_offsets, int of_indices, int base, int of_values) {
  if (rows < 0 || columns < 0 || stored < 0) return no_descriptor("a length is negative");
  if (of_offsets != of_indices || (of_indices != CUSPARSE_INDEX_32I && of_indices != CUSPARSE_INDEX_64I))
    return no_descriptor("indices of two dtypes, or of one that thtrain does not have");
  if (base != CUSPARSE_INDEX_BASE_ZERO || !is_number(of_values)) return no_descriptor("a base, or a dtype");
  if (!offsets || (stored > 0 && (!indices || !values))) return no_descriptor("an array is null");
  const auto address = [](const void* at) { return reinterpret_cast<DeviceAddress>(at); };
  *out = new Sparse{rows, columns, stored, address(offsets), address(indices), address(values), of_indices, of_values};
  return CUSPARSE_STATUS_SUCCESS;
}

Status destroy_csr(const Sparse* matrix) {
  delete matrix;
  return CUSPARSE_STATUS_SUCCESS;
}

Status create_dense(Dense** out, int64_t rows, int64_t columns, int64_t ld, void* values, int of_values, int order) {
  if (rows < 0 || columns < 0 || !is_number(of_values)) return no_descriptor("a length, or a dtype");
  if (order != CUSPARSE_ORDER_ROW) return no_descriptor("an order that thtrain does not use");
  if (ld < std::max<int64_t>(1, columns)) return no_descriptor("the leading dimension is less than the columns");
  *out = new Dense{rows, columns, ld, reinterpret_cast<DeviceAddress>(values), of_values};
  return CUSPARSE_STATUS_SUCCESS;
}

Status destroy_dense(const Dense* matrix) {
  delete matrix;
  return CUSPARSE_STATUS_SUCCESS;
}

Status create_vector(cusparseDnVecDescr** out, int64_t size, void* values, int of_values) {
  if (size < 0 || !is_number(of_values)) return no_descriptor("a length, or a dtype");
  *out = new cusparseDnVecDescr{{size, 1, 1, reinterpret_cast<DeviceAddress>(values), of_values}};
  return CUSPARSE_STATUS_SUCCESS;
}

Status destroy_vector(const cusparseDnVecDescr* vector) {
  delete vector;
  return CUSPARSE_STATUS_SUCCESS;
}

// ---- products

struct Factors {
  double alpha, beta;
};

struct SparseProduct {
  Sparse a;
  Dense x, y;
  Factors factors;

  DeviceRows offsets() const { return numbers(a.offsets, a.rows + 1, dtype_of_index(a.of_indices)); }
  DeviceRows indices() const { return numbers(a.indices, a.stored, dtype_of_index(a.of_indices)); }
  DeviceRows values() const { return numbers(a.values, a.stored, dtype_of_number(a.of_values)); }
  static DeviceRows numbers(DeviceAddress at, int64_t count, DType dtype) {
    const auto bytes = static_cast<int64_t>(size_of(dtype));
    return {at, 1, count * bytes, count * bytes};
  }
  static DeviceRows rows_of(const Dense& d) {
    const auto bytes = static_cast<int64_t>(size_of(dtype_of_number(d.of_values)));
    return {d.values, d.rows, d.ld * bytes, d.columns * bytes};
  }
  bool lies_in(const CUctx_st& c) const {
    return offsets().lies_in(c) && indices().lies_in(c) && values().lies_in(c) && rows_of(x).lies_in(c) &&
           rows_of(y).lies_in(c);
  }

  void run(CUctx_st& c) const {
    const DType dtype = dtype_of_number(a.of_values);
    const auto read = [&](const DeviceRows& rows, DType of, Shape shape) {
      Tensor out = Tensor::empty(of, std::move(shape));
      rows.read(c, out.raw());
      return out;
    };
    bool is_written = offsets().is_written(c) && indices().is_written(c) && values().is_written(c) &&
                      rows_of(x).is_written(c) && (factors.beta == 0 || rows_of(y).is_written(c));
    const std::vector<Tensor> parts{
        read(values(), dtype, {a.stored}), read(indices(), dtype_of_index(a.of_indices), {a.stored}),
        read(offsets(), dtype_of_index(a.of_indices), {a.rows + 1}), read(rows_of(x), dtype, {x.rows, x.columns})};
    std::vector<Expr> leaves;
    for (const Tensor& part : parts)
      leaves.push_back(make_input({.dtype = part.dtype(), .dims = Dims(part.shape().begin(), part.shape().end())},
                                  str("x", leaves.size())));
    std::vector<std::pair<Expr, Tensor>> bound;
    for (size_t i = 0; i < parts.size(); ++i) bound.emplace_back(leaves[i], parts[i]);
    Tensor product;
    try {
      product = evaluate({csr_dot(leaves[0], leaves[1], leaves[2], leaves[3])}, bound)[0];
    } catch (const UserError& error) {  // it would read what lies elsewhere
      c.status = CUDA_ERROR_ILLEGAL_ADDRESS;
      c.complaint = str("cuSPARSE: ", error.messages().front().what);
      return;
    }
    Tensor results = factors.beta == 0 ? product : read(rows_of(y), dtype, {y.rows, y.columns});
    visit(dtype, [&](auto zero) {
      using T = decltype(zero);
      if constexpr (std::is_floating_point_v<T>)
        for (int64_t i = 0; i < results.size(); ++i) {
          const T added = factors.beta == 0 ? T(0) : static_cast<T>(factors.beta) * results.data<T>()[i];
          results.data<T>()[i] = static_cast<T>(factors.alpha) * product.data<T>()[i] + added;
        }
    });
    rows_of(y).write(c, results.raw());
    if (is_written) rows_of(y).note_written(c);
  }
};

// The product of the descriptors; nullopt, after a refusal, where it is none.
std::optional<SparseProduct> product_of(const void* alpha, const Sparse* a, const Dense* x, const void* beta,
                                        const Dense* y, int computed_in) {
  const auto none = [](const char* why) {
    refuse(CUSPARSE_STATUS_INVALID_VALUE, why);
    return std::nullopt;
  };
  if (!alpha || !beta || !a || !x || !y) return none("a factor or a descriptor is null");
  if (a->columns != x->rows || a->rows != y->rows || x->columns != y->columns) return none("lengths differ");
  if (a->of_values != x->of_values || a->of_values != y->of_values || a->of_values != computed_in)
    return none("dtypes differ");
  const auto number = [&](const void* at) {
    return computed_in == CUDA_R_32F ? double{*static_cast<const float*>(at)} : *static_cast<const double*>(at);
  };
  return SparseProduct{*a, *x, *y, {number(alpha), number(beta)}};
}

Status size_of_buffer(SparseHandle* handle, const std::optional<SparseProduct>& product, size_t* bytes) {
  return with_cusparse(handle, [&](Machine&, CUctx_st&, SparseHandle&) {
    *bytes = kSparseBuffer;
    return product ? CUSPARSE_STATUS_SUCCESS : Status{CUSPARSE_STATUS_INVALID_VALUE};
  });
}

Status multiply_sparse(SparseHandle* handle, const std::optional<SparseProduct>& product, void* buffer) {
  return with_cusparse(handle, [&](Machine& m, CUctx_st& context, SparseHandle& h) {
    if (!product) return Status{CUSPARSE_STATUS_INVALID_VALUE};
    if (!h.stream) return refuse(CUSPARSE_STATUS_INVALID_VALUE, "no stream was set");
    const DeviceAddress at = reinterpret_cast<DeviceAddress>(buffer);
    if (!context.memory->holds(at, kSparseBuffer))
      return refuse(CUSPARSE_STATUS_INVALID_VALUE, "the buffer has not the bytes that were asked for");
    if (!product->lies_in(context))
      return refuse(CUSPARSE_STATUS_INVALID_VALUE, "an array does not lie in one allocation of the device");
    const Sparse& a = product->a;
    const std::string what = str("cuSPARSE ", a.of_values, ' ', a.of_indices, ' ', a.rows, 'x', a.columns, 'x',
                                 product->x.columns, ' ', a.stored);
    return ask(m, context, h.stream, what, CUSPARSE_STATUS_EXECUTION_FAILED, [&context, product = *product, at] {
      if (is_there(context, product.lies_in(context) && context.memory->holds(at, kSparseBuffer))) product.run(context);
    });
  });
}

Status refused_algorithm(bool is_plain, bool is_deterministic) {
  if (!is_plain) return refuse(CUSPARSE_STATUS_NOT_SUPPORTED, "an operation that thtrain does not ask for");
  if (!is_deterministic) return refuse(CUSPARSE_STATUS_NOT_SUPPORTED, "an algorithm whose bits differ from run to run");
  return CUSPARSE_STATUS_SUCCESS;
}

Status refused_spmm(int op_a, int op_b, int algorithm) {
  return refused_algorithm(op_a == CUSPARSE_OPERATION_NON_TRANSPOSE && op_b == CUSPARSE_OPERATION_NON_TRANSPOSE,
                           algorithm == CUSPARSE_SPMM_CSR_ALG3);
}
Status refused_spmv(int op_a, int algorithm) {
  return refused_algorithm(op_a == CUSPARSE_OPERATION_NON_TRANSPOSE, algorithm == CUSPARSE_SPMV_CSR_ALG2);
}

Status spmm_size(SparseHandle* handle, int op_a, int op_b, const void* alpha, const Sparse* a, const Dense* x,
                 const void* beta, Dense* y, int computed_in, int algorithm, size_t* bytes) {
  const Status refused = refused_spmm(op_a, op_b, algorithm);
  return refused != 0 ? refused : size_of_buffer(handle, product_of(alpha, a, x, beta, y, computed_in), bytes);
}

Status spmm(SparseHandle* handle, int op_a, int op_b, const void* alpha, const Sparse* a, const Dense* x,
            const void* beta, Dense* y, int computed_in, int algorithm, void* buffer) {
  const Status refused = refused_spmm(op_a, op_b, algorithm);
  return refused != 0 ? refused : multiply_sparse(handle, product_of(alpha, a, x, beta, y, computed_in), buffer);
}

const Dense* matrix_of(const cusparseDnVecDescr* vector) {
  return vector ? &vector->as_matrix : nullptr;
}

Status spmv_size(SparseHandle* handle, int op_a, const void* alpha, const Sparse* a, const cusparseDnVecDescr* x,
                 const void* beta, cusparseDnVecDescr* y, int computed_in, int algorithm, size_t* bytes) {
  const Status refused = refused_spmv(op_a, algorithm);
  if (refused != 0) return refused;
  return size_of_buffer(handle, product_of(alpha, a, matrix_of(x), beta, matrix_of(y), computed_in), bytes);
}

Status spmv(SparseHandle* handle, int op_a, const void* alpha, const Sparse* a, const cusparseDnVecDescr* x,
            const void* beta, cusparseDnVecDescr* y, int computed_in, int algorithm, void* buffer) {
  const Status refused = refused_spmv(op_a, algorithm);
  if (refused != 0) return refused;
  return multiply_sparse(handle, product_of(alpha, a, matrix_of(x), beta, matrix_of(y), computed_in), buffer);
}

}  // namespace

const Opened<Cusparse>& cusparse() {
  static const Opened<Cusparse> once = [] {
    Opened<Cusparse> out{};
    out.version = "emulated";
    out.functions = {.cusparseGetProperty = version_of_cusparse,
                     .cusparseCreate = create_cusparse,
                     .cusparseDestroy = destroy_cusparse,
                     .cusparseSetStream = set_stream_of_cusparse,
                     .cusparseCreateCsr = create_csr,
                     .cusparseDestroySpMat = destroy_csr,
                     .cusparseCreateDnMat = create_dense,
                     .cusparseDestroyDnMat = destroy_dense,
                     .cusparseCreateDnVec = create_vector,
                     .cusparseDestroyDnVec = destroy_vector,
                     .cusparseSpMM_bufferSize = spmm_size,
                     .cusparseSpMM = spmm,
                     .cusparseSpMV_bufferSize = spmv_size,
                     .cusparseSpMV = spmv};
    return out;
  }();
  return once;
}

}  // namespace thtrain::cuda::emulated
