// The emulated cuFFT. Transforms along the last axes of arrays without gaps, or of numbers that lie apart.
#include <algorithm>
#include <cmath>
#include <complex>
#include <map>

#include "compiler/base/str.h"
#include "compiler/cuda/emulated/math_libraries.h"
#include "compiler/cuda/emulated/math_work.h"
#include "compiler/ops/evaluate.h"
#include "compiler/ops/fft/fft.h"

namespace thtrain::cuda::emulated {
namespace {

struct Plan {
  CUctx_st* context = nullptr;
  CUstream_st* stream = nullptr;
  bool allocates = true, is_made = false;
  int kind = 0;
  std::vector<int64_t> lengths = {};
  int64_t count = 0, stride = 1, in_distance = 0, out_distance = 0;
  size_t workspace_bytes = 0;
  DeviceAddress workspace = 0;

  bool takes_half() const { return kind == CUFFT_C2R || kind == CUFFT_Z2D; }
  bool gives_half() const { return kind == CUFFT_R2C || kind == CUFFT_D2Z; }
  Shape shape(bool is_half) const {
    Shape out{count};
    out.insert(out.end(), lengths.begin(), lengths.end());
    if (is_half) out.back() = out.back() / 2 + 1;
    return out;
  }
};

std::map<int, Plan>& plans() {
  static std::map<int, Plan> all;
  return all;
}

// f(machine, context, plan).
template <class F>
Status with_plan(int handle, F f) {
  return in_library(CUFFT_INVALID_PLAN, CUFFT_EXEC_FAILED, [&](Machine& m, CUctx_st& context) {
    const auto plan = plans().find(handle);
    if (plan == plans().end() || plan->second.context != &context)
      return refuse(CUFFT_INVALID_PLAN, "no plan of cuFFT of the current context");
    return f(m, context, plan->second);
  });
}

Status version_of_cufft(int part, int* value) {
  *value = part == MAJOR_VERSION ? 11 : part == MINOR_VERSION ? 2 : 0;
  return CUFFT_SUCCESS;
}

Status create_plan(int* out) {
  return in_library(CUFFT_INVALID_PLAN, CUFFT_EXEC_FAILED, [&](Machine& m, CUctx_st& context) {
    if (refused_in_capture(m, "a new plan") != CUDA_SUCCESS) return Status{CUFFT_EXEC_FAILED};
    *out = plans().empty() ? 1 : plans().rbegin()->first + 1;
    plans()[*out].context = &context;
    return CUFFT_SUCCESS;
  });
}

Status destroy_plan(int handle) {
  return with_plan(handle, [&](Machine& m, CUctx_st& context, Plan&) {
    drain(m, context);
    plans().erase(handle);
    return CUFFT_SUCCESS;
  });
}

Status set_allocation(int handle, int allocates) {
  return with_plan(handle, [&](Machine&, CUctx_st&, Plan& plan) {
    if (plan.is_made) return refuse(CUFFT_INVALID_PLAN, "the plan is made already");
    plan.allocates = allocates != 0;
    return CUFFT_SUCCESS;
  });
}

bool is_kind(int kind) {
  constexpr int kKinds[] = {CUFFT_C2C, CUFFT_R2C, CUFFT_C2R, CUFFT_Z2Z, CUFFT_D2Z, CUFFT_Z2D};
  return std::ranges::count(kKinds, kind) > 0;
}

Status make_plan(int handle, int rank, long long* lengths, long long* in_lengths, long long in_stride,
                 long long in_distance, long long* out_lengths, long long out_stride, long long out_distance, int kind,
                 long long count, size_t* workspace_bytes) {
  return with_plan(handle, [&](Machine& m, CUctx_st&, Plan& plan) {
    if (refused_in_capture(m, "a new plan") != CUDA_SUCCESS) return Status{CUFFT_EXEC_FAILED};
    if (plan.is_made) return refuse(CUFFT_INVALID_PLAN, "the plan is made already");
    if (!is_kind(kind)) return refuse(CUFFT_INVALID_TYPE, "no such kind of transform");
    if (rank < 1 || rank > 3 || std::any_of(lengths, lengths + rank, [](long long n) { return n < 1; }) || count < 1)
      return refuse(CUFFT_INVALID_SIZE, "a rank, a length or a count");
    Plan made = plan;
    made.kind = kind;
    made.lengths.assign(lengths, lengths + rank);
    made.count = count;
    made.stride = in_stride;
    made.in_distance = in_distance;
    made.out_distance = out_distance;
    const Shape in = made.shape(made.takes_half()), out = made.shape(made.gives_half());
    const bool has_gaps = !std::equal(in.begin() + 1, in.end(), in_lengths, in_lengths + rank) ||
                          !std::equal(out.begin() + 1, out.end(), out_lengths, out_lengths + rank);
    if (in_stride < 1 || in_stride != out_stride || has_gaps || plan.allocates)
      return refuse(CUFFT_INVALID_VALUE, "a plan that thtrain does not make");
    made.is_made = true;
    made.workspace_bytes = *workspace_bytes = static_cast<size_t>(256 + 16 * count);
    plan = std::move(made);
    return CUFFT_SUCCESS;
  });
}

Status set_area(int handle, void* workspace) {
  return with_plan(handle, [&](Machine&, CUctx_st& context, Plan& plan) {
    const DeviceAddress at = reinterpret_cast<DeviceAddress>(workspace);
    if (!plan.is_made || !context.memory->holds(at, plan.workspace_bytes))
      return refuse(CUFFT_INVALID_VALUE, "the work area has not the bytes that the plan asks for");
    plan.workspace = at;
    return CUFFT_SUCCESS;
  });
}

Status set_stream(int handle, CUstream_st* stream) {
  return with_plan(handle, [&](Machine& m, CUctx_st& context, Plan& plan) {
    if (!found(m.streams, stream, context)) return no_handle("stream");
    plan.stream = stream;
    plan.workspace = 0;
    return CUFFT_SUCCESS;
  });
}

// ---- transforms

// The numbers of a shape, of which those of the first axis are `distance` apart, those within one `stride`.
template <class T>
struct Numbers {
  DeviceAddress at;
  Shape shape;
  int64_t distance, stride;

  int64_t of_one() const {
    int64_t out = 1;
    for (size_t axis = 1; axis < shape.size(); ++axis) out *= shape[axis];
    return out;
  }
  DeviceRows one(int64_t i) const {
    constexpr auto kBytes = static_cast<int64_t>(sizeof(T));
    return {at + static_cast<DeviceAddress>(i * distance * kBytes), of_one(), stride * kBytes, kBytes};
  }
  bool lies_in(const CUctx_st& context) const { return one(0).lies_in(context) && one(shape[0] - 1).lies_in(context); }
  bool is_written(const CUctx_st& context) const {
    bool out = true;
    for (int64_t i = 0; i < shape[0]; ++i) out = out && one(i).is_written(context);
    return out;
  }
  Tensor read(const CUctx_st& context) const {
    Tensor out = Tensor::empty(dtype_of<T>(), shape);
    for (int64_t i = 0; i < shape[0]; ++i) one(i).read(context, out.data<T>() + i * of_one());
    return out;
  }
  void write(const CUctx_st& context, const Tensor& from, bool is_written) const {
    for (int64_t i = 0; i < shape[0]; ++i) {
      one(i).write(context, from.data<T>() + i * of_one());
      if (is_written) one(i).note_written(context);
    }
  }
};

// The transform of all, as the op of that kind defines it.
Tensor transformed(const Plan& plan, const Tensor& in, bool inverse) {
  const Expr x = make_input({.dtype = in.dtype(), .dims = Dims(in.shape().begin(), in.shape().end())}, "x");
  const auto axes = static_cast<int64_t>(plan.lengths.size()), norm = int64_t{0};
  const auto complex = [&](int64_t of, int64_t after) {
    return apply(fft_op(), {x}, {{"axes", of}, {"after", after}, {"inverse", inverse}, {"norm", norm}});
  };
  const auto to_real = [&](const Expr& half) {
    return apply(irfft_op(), {half}, {{"length", Dims{plan.lengths.back()}}, {"norm", norm}});
  };
  const Expr y = plan.takes_half()   ? to_real(axes == 1 ? x : complex(axes - 1, 1))
                 : plan.gives_half() ? apply(rfft_op(), {x}, {{"axes", axes}, {"norm", norm}})
                                     : complex(axes, 0);
  return evaluate({y}, {{x, in}})[0];
}

template <class From, class To>
Status execute(int handle, int kind, const void* in_at, const void* out_at, bool inverse) {
  return with_plan(handle, [&](Machine& m, CUctx_st& context, const Plan& plan) {
    if (!plan.is_made || plan.kind != kind) return refuse(CUFFT_INVALID_PLAN, "the plan is of another kind");
    if (!plan.stream || plan.workspace == 0)
      return refuse(CUFFT_INVALID_VALUE, "no work area was set behind cufftSetStream");
    const Numbers<From> in{reinterpret_cast<DeviceAddress>(in_at), plan.shape(plan.takes_half()), plan.in_distance,
                           plan.stride};
    const Numbers<To> out{reinterpret_cast<DeviceAddress>(out_at), plan.shape(plan.gives_half()), plan.out_distance,
                          plan.stride};
    if (!in.lies_in(context) || !out.lies_in(context))
      return refuse(CUFFT_EXEC_FAILED, "an array does not lie in one allocation of the device");
    return ask(
        m, context, plan.stream, str("cuFFT plan ", handle), CUFFT_EXEC_FAILED, [&context, plan, in, out, inverse] {
          const bool is_held = in.lies_in(context) && out.lies_in(context) && context.memory->holds(plan.workspace, 1);
          if (!is_there(context, is_held)) return;
          const bool is_written = in.is_written(context);
          const Tensor results = transformed(plan, in.read(context), inverse);
          // A spectrum that becomes real numbers is overwritten.
          if (plan.takes_half()) {
            Tensor nothing = Tensor::empty(dtype_of<From>(), in.shape);
            std::fill_n(nothing.data<From>(), nothing.size(), From(NAN));
            in.write(context, nothing, true);
          }
          out.write(context, results, is_written);
        });
  });
}

Status exec_c2c(int plan, float2* in, float2* out, int direction) {
  using Number = std::complex<float>;
  return execute<Number, Number>(plan, CUFFT_C2C, in, out, direction == kCufftInverse);
}
Status exec_z2z(int plan, double2* in, double2* out, int direction) {
  using Number = std::complex<double>;
  return execute<Number, Number>(plan, CUFFT_Z2Z, in, out, direction == kCufftInverse);
}
Status exec_r2c(int plan, float* in, float2* out) {
  return execute<float, std::complex<float>>(plan, CUFFT_R2C, in, out, false);
}
Status exec_d2z(int plan, double* in, double2* out) {
  return execute<double, std::complex<double>>(plan, CUFFT_D2Z, in, out, false);
}
Status exec_c2r(int plan, float2* in, float* out) {
  return execute<std::complex<float>, float>(plan, CUFFT_C2R, in, out, true);
}
Status exec_z2d(int plan, double2* in, double* out) {
  return execute<std::complex<double>, double>(plan, CUFFT_Z2D, in, out, true);
}

}  // namespace

const Opened<Cufft>& cufft() {
  static const Opened<Cufft> once = [] {
    Opened<Cufft> out{};
    out.version = "emulated";
    out.functions = {.cufftGetProperty = version_of_cufft,
                     .cufftCreate = create_plan,
                     .cufftDestroy = destroy_plan,
                     .cufftSetAutoAllocation = set_allocation,
                     .cufftMakePlanMany64 = make_plan,
                     .cufftSetWorkArea = set_area,
                     .cufftSetStream = set_stream,
                     .cufftExecC2C = exec_c2c,
                     .cufftExecR2C = exec_r2c,
                     .cufftExecC2R = exec_c2r,
                     .cufftExecZ2Z = exec_z2z,
                     .cufftExecD2Z = exec_d2z,
                     .cufftExecZ2D = exec_z2d};
    return out;
  }();
  return once;
}

}  // namespace thtrain::cuda::emulated
