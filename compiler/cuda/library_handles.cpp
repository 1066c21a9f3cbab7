#include "compiler/cuda/library_handles.h"

#include "compiler/cuda/library_calls.h"

namespace thtrain::cuda {

void LibraryHandles::with_cublas(const LibraryStream& at, bool tf32,
                                 const std::function<void(const Cublas&, cublasContext*)>& f) {
  const std::lock_guard lock(mutex_);
  device_.use();
  const Cublas& c = of_use(libraries_.cublas(), "cuBLAS");
  if (!cublas_) TH_MATH(c, cublasCreate_v2, &cublas_);
  const size_t bytes = cublas_workspace_bytes(device_);
  TH_MATH(c, cublasSetStream_v2, cublas_, at.stream);
  TH_MATH(c, cublasSetWorkspace_v2, cublas_, reinterpret_cast<void*>(at.workspace(bytes)), bytes);
  TH_MATH(c, cublasSetMathMode, cublas_, tf32 ? CUBLAS_TF32_TENSOR_OP_MATH : CUBLAS_DEFAULT_MATH);
  f(c, cublas_);
}

void LibraryHandles::with_cufft(const LibraryStream& at, const FftShape& shape,
                                const std::function<void(const Cufft&, int)>& f) {
  const std::lock_guard lock(mutex_);
  device_.use();
  const Cufft& c = of_use(libraries_.cufft(), "cuFFT");
  auto known = plans_.find(shape);
  if (known == plans_.end()) {
    Plan plan{};
    TH_MATH(c, cufftCreate, &plan.handle);
    TH_MATH(c, cufftSetAutoAllocation, plan.handle, 0);
    std::array<long long, 3> lengths = shape.lengths, in = lengths, out = lengths;
    const auto last = static_cast<size_t>(shape.rank) - 1;
    const bool gives_half = shape.kind == CUFFT_R2C || shape.kind == CUFFT_D2Z,
               takes_half = shape.kind == CUFFT_C2R || shape.kind == CUFFT_Z2D;
    if (gives_half) out[last] = lengths[last] / 2 + 1;
    if (takes_half) in[last] = lengths[last] / 2 + 1;
    long long in_numbers = 1, out_numbers = 1;
    for (size_t axis = 0; axis <= last; ++axis) {
      in_numbers *= in[axis];
      out_numbers *= out[axis];
    }
    // Transforms of numbers that lie apart begin at neighbouring numbers.
    const long long in_distance = shape.stride == 1 ? in_numbers : 1,
                    out_distance = shape.stride == 1 ? out_numbers : 1;
    TH_MATH(c, cufftMakePlanMany64, plan.handle, shape.rank, lengths.data(), in.data(), shape.stride, in_distance,
            out.data(), shape.stride, out_distance, shape.kind, shape.count, &plan.workspace_bytes);
    known = plans_.emplace(shape, plan).first;
  }
  const Plan& plan = known->second;
  TH_MATH(c, cufftSetStream, plan.handle, at.stream);
  if (plan.workspace_bytes > 0)
    TH_MATH(c, cufftSetWorkArea, plan.handle, reinterpret_cast<void*>(at.workspace(plan.workspace_bytes)));
  f(c, plan.handle);
}

void LibraryHandles::with_cusolver(
    const LibraryStream& at, const std::function<void(const Cusolver&, cusolverDnContext*, cusolverDnParams*)>& f) {
  const std::lock_guard lock(mutex_);
  device_.use();
  const Cusolver& c = of_use(libraries_.cusolver(), "cuSOLVER");
  if (!cusolver_) TH_MATH(c, cusolverDnCreate, &cusolver_);
  if (!parameters_) TH_MATH(c, cusolverDnCreateParams, &parameters_);
  TH_MATH(c, cusolverDnSetStream, cusolver_, at.stream);
  f(c, cusolver_, parameters_);
}

void LibraryHandles::with_cusparse(const LibraryStream& at,
                                   const std::function<void(const Cusparse&, cusparseContext*)>& f) {
  const std::lock_guard lock(mutex_);
  device_.use();
  const Cusparse& c = of_use(libraries_.cusparse(), "cuSPARSE");
  if (!cusparse_) TH_MATH(c, cusparseCreate, &cusparse_);
  TH_MATH(c, cusparseSetStream, cusparse_, at.stream);
  f(c, cusparse_);
}

}  // namespace thtrain::cuda
