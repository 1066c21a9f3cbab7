// Transforms of Fourier by cuFFT, which scales none: a kernel of the program does that.
#include "compiler/cuda/device_program.h"
#include "compiler/cuda/emulated/math_libraries.h"
#include "compiler/libraries/device_functions.h"
#include "compiler/ops/fft/fft_functions.h"

namespace thtrain {
namespace {

using cuda::Cufft;

void execute(const Cufft& f, int plan, int kind, const float* in, float* out, bool inverse) {
  auto* const numbers = const_cast<float*>(in);
  const int direction = inverse ? cuda::kCufftInverse : cuda::kCufftForward;
  const cuda::Status status =
      kind == 0   ? f.cufftExecC2C(plan, reinterpret_cast<float2*>(numbers), reinterpret_cast<float2*>(out), direction)
      : kind == 1 ? f.cufftExecR2C(plan, numbers, reinterpret_cast<float2*>(out))
                  : f.cufftExecC2R(plan, reinterpret_cast<float2*>(numbers), out);
  cuda::check_math(status, "cufftExec of float32");
}

void execute(const Cufft& f, int plan, int kind, const double* in, double* out, bool inverse) {
  auto* const numbers = const_cast<double*>(in);
  const int direction = inverse ? cuda::kCufftInverse : cuda::kCufftForward;
  const cuda::Status status =
      kind == 0 ? f.cufftExecZ2Z(plan, reinterpret_cast<double2*>(numbers), reinterpret_cast<double2*>(out), direction)
      : kind == 1 ? f.cufftExecD2Z(plan, numbers, reinterpret_cast<double2*>(out))
                  : f.cufftExecZ2D(plan, reinterpret_cast<double2*>(numbers), out);
  cuda::check_math(status, "cufftExec of float64");
}

// The transformed axes that have more than one number; at least one.
cuda::FftShape shape_of(int kind, bool is_float64, std::array<long, 3> n, long count, long inner) {
  constexpr int kKinds[2][3] = {{cuda::CUFFT_C2C, cuda::CUFFT_R2C, cuda::CUFFT_C2R},
                                {cuda::CUFFT_Z2Z, cuda::CUFFT_D2Z, cuda::CUFFT_Z2D}};
  cuda::FftShape out{.kind = kKinds[is_float64][kind], .rank = 0};
  for (size_t axis = 0; axis < n.size(); ++axis)
    if (n[axis] != 1 || axis == 2) out.lengths[static_cast<size_t>(out.rank++)] = n[axis];
  out.count = inner == 1 ? count : inner;
  out.stride = inner;
  return out;
}

template <class T>
void call_transforms(cuda::LibraryHandles& libraries, const cuda::LibraryStream& at, cuda::FftShape shape, int kind,
                     int inverse, long arrays, long numbers, const T* in, T* out) {
  libraries.with_cufft(at, shape, [&](const Cufft& f, int plan) {
    for (long i = 0; i < arrays; ++i) execute(f, plan, kind, in + 2 * i * numbers, out + 2 * i * numbers, inverse != 0);
  });
}

template <class T>
void cufft_transform(ThContext* context, const int* uses, int use_count, TH_FFT_PARAMETERS(T)) {
  static_cast<void>(norm);
  const long numbers = n0 * n1 * n2 * inner;
  if (count == 0 || numbers == 0) return;
  const cuda::FftShape shape = shape_of(kind, sizeof(T) == sizeof(double), {n0, n1, n2}, count, inner);
  // Of numbers that lie apart a plan is of one array; only those of complex numbers do.
  const long arrays = inner == 1 ? 1 : count;
  DeviceCalls::ask_library<call_transforms<T>>(context, {uses, static_cast<size_t>(use_count)}, shape, kind, inverse,
                                               arrays, numbers, in, out);
}

}  // namespace

NamedFunctions cufft_functions() {
  NamedFunctions out;
  auto add = [&](const char* name, auto* function) {
    detail::add_device_function(out, name, "cuFFT", reinterpret_cast<void*>(function),
                                [](bool is_emulated) -> const cuda::Opened<Cufft>& {
                                  return is_emulated ? cuda::emulated::cufft() : cuda::math_libraries().cufft();
                                });
  };
  add("cufft_f32", cufft_transform<float>);
  add("cufft_f64", cufft_transform<double>);
  return out;
}

}  // namespace thtrain
