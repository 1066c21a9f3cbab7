#include "compiler/cuda/cublaslt_handle.h"

#include <algorithm>

#include "compiler/cuda/library_calls.h"

namespace thtrain::cuda {
namespace {

// One of its objects, with the function that sets attributes.
class Descriptor {
 public:
  using Set = Status (*)(void* object, int attribute, const void* value, size_t bytes);
  using Destroy = Status (*)(void* object);
  Descriptor(Set set, Destroy destroy) : set_(set), destroy_(destroy) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (object) destroy_(object);
  }

  template <class T>
  void set(int attribute, T value) const {
    check_math(set_(object, attribute, &value, sizeof value), "cuBLASLt: SetAttribute");
  }
  void* object = nullptr;

 private:
  Set set_;
  Destroy destroy_;
};

struct Layout : Descriptor {
  Layout(const CublasLt& f, const CublasLtProduct& p, int64_t rows, int64_t columns, int64_t ld, int64_t stride)
      : Descriptor(f.cublasLtMatrixLayoutSetAttribute, f.cublasLtMatrixLayoutDestroy) {
    TH_MATH(f, cublasLtMatrixLayoutCreate, &object, p.dtype, static_cast<uint64_t>(rows),
            static_cast<uint64_t>(columns), ld);
    if (p.count == 1) return;
    set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<int32_t>(p.count));
    set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, stride);
  }
};

// Of an address, and of what lies `strides` behind it: no algorithm loads more than 16 bytes at once.
uint32_t alignment_of(const void* at, int64_t stride_bytes) {
  uint32_t out = 16;
  while (reinterpret_cast<uintptr_t>(at) % out != 0 || stride_bytes % out != 0) out /= 2;
  return out;
}

}  // namespace

// Its matrices are stored by columns: the row-major D = A B is D^T = B^T A^T there, and a bias one number for each row.
void CublasLtHandle::multiply(const LibraryStream& at, const CublasLtProduct& p, const void* a, const void* b,
                              const void* bias, void* d) {
  const std::lock_guard lock(mutex_);
  device_.use();
  const CublasLt& f = of_use(libraries_.cublaslt(), "cuBLASLt");
  if (!handle_) TH_MATH(f, cublasLtCreate, &handle_);
  TH_CHECK(p.count <= INT32_MAX, "a batch of ", p.count, " for cuBLASLt");

  const bool is_double = p.dtype == CUDA_R_64F;
  const int64_t bytes_of_one = is_double ? 8 : 4;
  Descriptor product(f.cublasLtMatmulDescSetAttribute, f.cublasLtMatmulDescDestroy);
  TH_MATH(f, cublasLtMatmulDescCreate, &product.object,
          is_double ? CUBLAS_COMPUTE_64F
          : p.tf32  ? CUBLAS_COMPUTE_32F_FAST_TF32
                    : CUBLAS_COMPUTE_32F,
          p.dtype);
  product.set(CUBLASLT_MATMUL_DESC_TRANSA, p.trans_b ? CUBLAS_OP_T : CUBLAS_OP_N);
  product.set(CUBLASLT_MATMUL_DESC_TRANSB, p.trans_a ? CUBLAS_OP_T : CUBLAS_OP_N);
  const uint32_t epilogue = p.has_bias ? (p.relu ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_BIAS)
                                       : (p.relu ? CUBLASLT_EPILOGUE_RELU : CUBLASLT_EPILOGUE_DEFAULT);
  product.set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
  if (p.has_bias) product.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);

  const Layout left(f, p, p.trans_b ? p.k : p.n, p.trans_b ? p.n : p.k, p.ldb, p.b_stride),
      right(f, p, p.trans_a ? p.m : p.k, p.trans_a ? p.k : p.m, p.lda, p.a_stride),
      result(f, p, p.n, p.m, p.n, p.m * p.n);

  const uint64_t bytes = cublas_workspace_bytes(device_);
  Descriptor preference(f.cublasLtMatmulPreferenceSetAttribute, f.cublasLtMatmulPreferenceDestroy);
  TH_MATH(f, cublasLtMatmulPreferenceCreate, &preference.object);
  preference.set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, bytes);
  // Sums in the place of the results wait for each other, in whatever order they come.
  preference.set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
                 static_cast<uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE | CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE));
  const uint32_t of_d = alignment_of(d, p.count > 1 ? p.m * p.n * bytes_of_one : 0);
  preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment_of(b, p.b_stride * bytes_of_one));
  preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment_of(a, p.a_stride * bytes_of_one));
  preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, of_d);
  preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, of_d);

  CublasLtAlgorithmFound found = {};
  int count = 0;
  const Status status =
      f.cublasLtMatmulAlgoGetHeuristic(handle_, product.object, left.object, right.object, result.object, result.object,
                                       preference.object, 1, &found, &count);
  if (status != CUBLAS_STATUS_NOT_SUPPORTED) check_math(status, "cublasLtMatmulAlgoGetHeuristic");
  if (count == 0 || found.status != CUBLAS_STATUS_SUCCESS)
    throw InternalError({.what = "cuBLASLt names no algorithm for a product that adds in one order",
                         .got = str(p.m, "x", p.k, "x", p.n)});
  const float one = 1, zero = 0;
  const double one_double = 1, zero_double = 0;
  TH_MATH(f, cublasLtMatmul, handle_, product.object, is_double ? static_cast<const void*>(&one_double) : &one, b,
          left.object, a, right.object, is_double ? static_cast<const void*>(&zero_double) : &zero, d, result.object, d,
          result.object, found.algorithm, reinterpret_cast<void*>(at.workspace(bytes)), bytes, at.stream);
}

}  // namespace thtrain::cuda
