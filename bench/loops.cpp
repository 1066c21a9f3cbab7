// A loop of 1,000 iterations of s = s + c s (1 - s) and its gradient, compared with the same loop written by hand.
#include <cstring>
#include <vector>

#include "bench/workloads.h"
#include "compiler/api.h"
#include "compiler/host/cache.h"

namespace thtrain {
namespace {

// bench/peers/loops.py has the same.
constexpr int64_t kIterations = 1000;

struct LoopArrays {
  Tensor s, c;
};

LoopArrays loop_arrays(const LoopCase& what, DType dtype) {
  LoopArrays out{Tensor::empty(DType::kFloat64, {what.size}), Tensor::empty(DType::kFloat64, {what.size})};
  for (int64_t i = 0; i < what.size; ++i) {
    const double part = static_cast<double>(i + 1) / static_cast<double>(what.size + 1);
    out.s.data<double>()[i] = part;
    out.c.data<double>()[i] = part / 100;
  }
  return {out.s.cast(dtype), out.c.cast(dtype)};
}

// What a careful programmer writes: in place, the states of all iterations kept for the gradient, one loop for each
// iteration.
constexpr const char* kHandWritten = R"(
#define N @N
typedef @T T;
static T state[N], states[@ITERATIONS + 1][N], d_state[N], d_c[N];
extern "C" void forward(const T* __restrict__ s, const T* __restrict__ c, T* __restrict__ out) {
  for (long i = 0; i < N; ++i) out[i] = s[i];
  for (long t = 0; t < @ITERATIONS; ++t)
    for (long i = 0; i < N; ++i) out[i] = out[i] + c[i] * out[i] * (1 - out[i]);
}
extern "C" void gradient(const T* __restrict__ s, const T* __restrict__ c, T* __restrict__ out) {
  T* __restrict__ ds = d_state;
  T* __restrict__ dc = d_c;
  for (long i = 0; i < N; ++i) states[0][i] = s[i];
  for (long t = 0; t < @ITERATIONS; ++t) {
    const T* __restrict__ old = states[t];
    T* __restrict__ next = states[t + 1];
    for (long i = 0; i < N; ++i) next[i] = old[i] + c[i] * old[i] * (1 - old[i]);
  }
  for (long i = 0; i < N; ++i) ds[i] = 1, dc[i] = 0;
  for (long t = @ITERATIONS - 1; t >= 0; --t) {
    const T* __restrict__ old = states[t];
    for (long i = 0; i < N; ++i) {
      const T d = ds[i];
      dc[i] += d * old[i] * (1 - old[i]);
      ds[i] = d + d * c[i] * (1 - 2 * old[i]);
    }
  }
  for (long i = 0; i < N; ++i) out[i] = ds[i], out[N + i] = dc[i];
}
)";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

Function compiled_loop(const LoopCase& what, const WorkloadOptions& options) {
  const Expr s = tensor("s", {what.size}, options.dtype), c = tensor("c", {what.size}, options.dtype);
  const Expr last = repeat(kIterations, {s}, [&](const std::vector<Expr>& state) {
    return std::vector<Expr>{state[0] + c * state[0] * (1 - state[0])};
  })[0];
  std::vector<Out> outputs{Out(last, true)};
  if (what.gradient) {
    const std::vector<Expr> gradients = grad(sum(last), {s, c});
    outputs = {Out(gradients[0], true), Out(gradients[1], true)};
  }
  return function({In(s), In(c)}, outputs, {}, {.threads = options.threads, .name = "bench loop"});
}

// Fills `out`: the last state, or the two gradients.
std::function<void(const LoopArrays&, Tensor& out)> loop_of_hand(const LoopCase& what, DType dtype) {
  std::string source = replaced(kHandWritten, "@N", std::to_string(what.size));
  source = replaced(source, "@ITERATIONS", std::to_string(kIterations));
  source = replaced(source, "@T", dtype == DType::kFloat32 ? "float" : "double");
  const auto object = cache().load_object(source).object;
  using Entry = void (*)(const void*, const void*, void*);
  const auto entry = reinterpret_cast<Entry>(object->symbol(what.gradient ? "gradient" : "forward"));
  return [object, entry](const LoopArrays& given, Tensor& out) { entry(given.s.raw(), given.c.raw(), out.raw()); };
}

Tensor result_of(const LoopCase& what, DType dtype) {
  return Tensor::zeros(dtype, {what.gradient ? 2 : 1, what.size});
}

}  // namespace

Workload loop_workload(const std::string& text, const WorkloadOptions& options) {
  const LoopCase what = loop_case(text);
  const auto call = std::make_shared<Function>(compiled_loop(what, options));
  const LoopArrays arrays = loop_arrays(what, options.dtype);
  return {[call, arguments = std::vector<Tensor>{arrays.s, arrays.c}](long calls) {
            for (; calls > 0; --calls) (*call)(arguments);
          },
          kIterations};
}

Workload loop_by_hand(const std::string& text, const WorkloadOptions& options) {
  const LoopCase what = loop_case(text);
  if (options.threads > 1) throw UserError(Message{.what = "bench loops: the loop written by hand has one thread"});
  return {[run = loop_of_hand(what, options.dtype), arrays = loop_arrays(what, options.dtype),
           out = result_of(what, options.dtype)](long calls) mutable {
            for (; calls > 0; --calls) run(arrays, out);
          },
          kIterations};
}

std::pair<Tensor, Tensor> loop_results(const std::string& text, const WorkloadOptions& options) {
  const LoopCase what = loop_case(text);
  const LoopArrays arrays = loop_arrays(what, options.dtype);
  Function call = compiled_loop(what, options);
  Tensor ours = result_of(what, options.dtype), by_hand = result_of(what, options.dtype);
  const std::vector<Tensor> outputs = call(std::vector<Tensor>{arrays.s, arrays.c});
  for (size_t i = 0; i < outputs.size(); ++i)
    std::memcpy(static_cast<char*>(ours.raw()) + i * outputs[i].bytes(), outputs[i].raw(), outputs[i].bytes());
  loop_of_hand(what, options.dtype)(arrays, by_hand);
  return {ours, by_hand};
}

}  // namespace thtrain
