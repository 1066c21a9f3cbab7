// Products of sparse matrices by cuSPARSE, by the algorithms whose bits are the same in each run.
#include "compiler/cuda/device_program.h"
#include "compiler/cuda/emulated/math_libraries.h"
#include "compiler/libraries/device_functions.h"
#include "compiler/ops/sparse/cusparse_steps.h"

namespace thtrain {
namespace {

using cuda::Cusparse;

// A descriptor until the end of a call.
template <class T>
class Descriptor {
 public:
  explicit Descriptor(cuda::Status (*destroy)(const T*)) : destroy_(destroy) {}
  ~Descriptor() {
    if (made_) destroy_(made_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  T** to_make() { return &made_; }
  T* get() const { return made_; }

 private:
  cuda::Status (*destroy_)(const T*);
  T* made_ = nullptr;
};

template <class T, class I>
void call_product(cuda::LibraryHandles& libraries, const cuda::LibraryStream& at, long m, long k, long n, long stored,
                  const T* data, const I* indices, const I* indptr, const T* x, int adds, T* y) {
  libraries.with_cusparse(at, [&](const Cusparse& c, cusparseContext* handle) {
    constexpr int kType = sizeof(T) == 4 ? cuda::CUDA_R_32F : cuda::CUDA_R_64F,
                  kIndex = sizeof(I) == 4 ? cuda::CUSPARSE_INDEX_32I : cuda::CUSPARSE_INDEX_64I,
                  kPlain = cuda::CUSPARSE_OPERATION_NON_TRANSPOSE;
    const T alpha = 1, beta = adds ? T(1) : T(0);
    Descriptor<cusparseSpMatDescr> a(c.cusparseDestroySpMat);
    cuda::check_math(c.cusparseCreateCsr(a.to_make(), m, k, stored, const_cast<I*>(indptr), const_cast<I*>(indices),
                                         const_cast<T*>(data), kIndex, kIndex, cuda::CUSPARSE_INDEX_BASE_ZERO, kType),
                     "cusparseCreateCsr");
    size_t bytes = 0;
    if (n == 1) {
      Descriptor<cusparseDnVecDescr> from(c.cusparseDestroyDnVec), to(c.cusparseDestroyDnVec);
      cuda::check_math(c.cusparseCreateDnVec(from.to_make(), k, const_cast<T*>(x), kType), "cusparseCreateDnVec");
      cuda::check_math(c.cusparseCreateDnVec(to.to_make(), m, y, kType), "cusparseCreateDnVec");
      cuda::check_math(c.cusparseSpMV_bufferSize(handle, kPlain, &alpha, a.get(), from.get(), &beta, to.get(), kType,
                                                 cuda::CUSPARSE_SPMV_CSR_ALG2, &bytes),
                       "cusparseSpMV_bufferSize");
      cuda::check_math(c.cusparseSpMV(handle, kPlain, &alpha, a.get(), from.get(), &beta, to.get(), kType,
                                      cuda::CUSPARSE_SPMV_CSR_ALG2, reinterpret_cast<void*>(at.workspace(bytes))),
                       "cusparseSpMV");
      return;
    }
    Descriptor<cusparseDnMatDescr> from(c.cusparseDestroyDnMat), to(c.cusparseDestroyDnMat);
    cuda::check_math(c.cusparseCreateDnMat(from.to_make(), k, n, n, const_cast<T*>(x), kType, cuda::CUSPARSE_ORDER_ROW),
                     "cusparseCreateDnMat");
    cuda::check_math(c.cusparseCreateDnMat(to.to_make(), m, n, n, y, kType, cuda::CUSPARSE_ORDER_ROW),
                     "cusparseCreateDnMat");
    cuda::check_math(c.cusparseSpMM_bufferSize(handle, kPlain, kPlain, &alpha, a.get(), from.get(), &beta, to.get(),
                                               kType, cuda::CUSPARSE_SPMM_CSR_ALG3, &bytes),
                     "cusparseSpMM_bufferSize");
    cuda::check_math(c.cusparseSpMM(handle, kPlain, kPlain, &alpha, a.get(), from.get(), &beta, to.get(), kType,
                                    cuda::CUSPARSE_SPMM_CSR_ALG3, reinterpret_cast<void*>(at.workspace(bytes))),
                     "cusparseSpMM");
  });
}

template <class T, class I>
void cusparse_product(ThContext* context, const int* uses, int use_count, TH_DEVICE_SPARSE_PRODUCT_PARAMETERS(T, I)) {
  DeviceCalls::ask_library<call_product<T, I>>(context, {uses, static_cast<size_t>(use_count)}, m, k, n, stored, data,
                                               indices, indptr, x, adds, y);
}

}  // namespace

NamedFunctions cusparse_functions() {
  NamedFunctions out;
  auto add = [&](const char* name, auto* function) {
    detail::add_device_function(out, str("cusparse_product_", name), "cuSPARSE", reinterpret_cast<void*>(function),
                                [](bool is_emulated) -> const cuda::Opened<Cusparse>& {
                                  return is_emulated ? cuda::emulated::cusparse() : cuda::math_libraries().cusparse();
                                });
  };
  add("f32_i32", cusparse_product<float, int>);
  add("f32_i64", cusparse_product<float, long>);
  add("f64_i32", cusparse_product<double, int>);
  add("f64_i64", cusparse_product<double, long>);
  return out;
}

}  // namespace thtrain
