// What the machine allows: multiply-adds between registers, and arrays read and written as fast as they can be. The
// kernels are compiled for this processor at run time, as everything that thtrain generates.
#include <algorithm>
#include <cstring>
#include <set>

#include "bench/workloads.h"
#include "compiler/base/error.h"
#include "compiler/host/cache.h"
#include "compiler/ir/tensor.h"
#include "compiler/libraries/threads.h"

namespace thtrain {

namespace {

using MultiplyAdd = void (*)(void* sink, long rounds);
using Stream = void (*)(void* out, const void* a, const void* b, long elements);

constexpr int kChains = 12;  // independent: latency times throughput of every processor met is at most 10

// `multiply_add`: kChains vectors, each round one multiply-add of each. `stream<reads>_<stores>`: out = a + 1 or a + b;
// whole groups of four vectors only.
std::string kernel_text(DType dtype, int vector_bytes) {
  std::string chains, sum = "c0";
  for (int i = 0; i < kChains; ++i) {
    chains += str("  V c", i, " = x * ", i, ";\n");
    if (i > 0) sum += str(" + c", i);
  }
  std::string steps;
  for (int i = 0; i < kChains; ++i) steps += str("    c", i, " = c", i, " * x + y;\n");
  return str(R"(#pragma GCC optimize("fp-contract=fast")
#ifdef __x86_64__
#include <immintrin.h>
#endif
typedef )",
             dtype == DType::kFloat32 ? "float" : "double", R"( T;
typedef T V __attribute__((vector_size()",
             vector_bytes, R"(), may_alias));
enum { W = sizeof(V) / sizeof(T) };

extern "C" void multiply_add(void* sink, long rounds) {
#ifdef __clang__
#pragma clang fp contract(fast)
#endif
  V* p = (V*)sink;
  V x = p[0], y = p[1];
)",
             chains, R"(  for (long i = 0; i < rounds; ++i) {
    asm volatile("" ::: "memory");
)",
             steps, R"(  }
  p[2] = )",
             sum, R"(;
}

static inline void store(T* at, V value) { *(V*)at = value; }
static inline void stream_store(T* at, V value) {
#if defined(__x86_64__) && )",
             vector_bytes, R"( == 64
  _mm512_stream_si512((__m512i*)at, (__m512i)value);
#elif defined(__x86_64__) && )",
             vector_bytes, R"( == 32
  _mm256_stream_si256((__m256i*)at, (__m256i)value);
#elif defined(__x86_64__)
  _mm_stream_si128((__m128i*)at, (__m128i)value);
#else
  *(V*)at = value;
#endif
}
#define STREAM(name, value, put)                                            \
  extern "C" void name(T* out, const T* a, const T* b, long n) {            \
    for (long i = 0; i + 4 * W <= n; i += 4 * W)                            \
      for (int k = 0; k < 4; ++k) put(out + i + k * W, value);              \
  }
#define AT(x) (*(const V*)(x + i + k * W))
STREAM(stream1_plain, AT(a) + 1, store)
STREAM(stream2_plain, AT(a) + AT(b), store)
STREAM(stream1_streaming, AT(a) + 1, stream_store)
STREAM(stream2_streaming, AT(a) + AT(b), stream_store)
)");
}

std::shared_ptr<const SharedObject> kernels(DType dtype) {
  LoadedObject loaded = cache().load_object(kernel_text(dtype, cpu().vector_bytes));
  if (!loaded.object) throw UserError(Message{.what = "bench: the ceiling cannot be measured", .got = loaded.reason});
  return loaded.object;
}

// In units of 10^9 operations.
Workload multiply_adds(const WorkloadOptions& options) {
  constexpr long kRounds = 100000;
  auto object = kernels(options.dtype);
  auto kernel = reinterpret_cast<MultiplyAdd>(object->symbol("multiply_add"));
  int64_t lanes = cpu().vector_bytes / static_cast<int64_t>(size_of(options.dtype));
  Tensor sinks = Tensor::zeros(options.dtype, {options.threads, 8 * lanes});
  auto run = [object, kernel, sinks, threads = options.threads](long calls) mutable {
    size_t stride = sinks.bytes() / static_cast<size_t>(threads);
    run_pieces(threads, [&](int piece) {
      char* sink = static_cast<char*>(sinks.raw()) + stride * static_cast<size_t>(piece);
      for (long i = 0; i < calls; ++i) kernel(sink, kRounds);
    });
  };
  return {run, 2e-9 * kRounds * kChains * static_cast<double>(lanes * options.threads)};
}

Workload stream(const SharedObject& object, const std::string& name, Tensor out, Tensor a, Tensor b, int threads) {
  auto kernel = reinterpret_cast<Stream>(object.symbol(name.c_str()));
  int64_t lanes = cpu().vector_bytes / static_cast<int64_t>(size_of(out.dtype()));
  auto run = [=](long calls) mutable {
    Partition parts(out.size(), 1, 4 * lanes, threads);
    size_t width = size_of(out.dtype());
    auto at = [&](Tensor& array, int piece) {
      return static_cast<char*>(array.raw()) + width * static_cast<size_t>(parts.begin(piece));
    };
    for (long i = 0; i < calls; ++i)
      run_pieces(parts.pieces(), [&](int piece) {
        kernel(at(out, piece), at(a, piece), at(b, piece), parts.end(piece) - parts.begin(piece));
      });
  };
  return {run, static_cast<double>(out.size() / (4 * lanes) * (4 * lanes))};
}

}  // namespace

Workload net_ceiling(const std::string& text, const WorkloadOptions& options) {
  Workload out = multiply_adds(options);
  out.units *= 1e9 / flops_per_example(net_case(text));
  return out;
}

Workload gemm_ceiling(const std::string& text, const WorkloadOptions& options) {
  gemm_case(text);
  return multiply_adds(options);
}

Workload rnn_ceiling(const std::string& text, const WorkloadOptions& options) {
  Workload out = multiply_adds(options);
  out.units *= 1e9 / flops_per_sequence(rnn_case(text));
  return out;
}

Workload rbm_ceiling(const std::string& text, const WorkloadOptions& options) {
  Workload out = multiply_adds(options);
  out.units *= 1e9 / flops_per_example(rbm_case(text));
  return out;
}

Workload conv_ceiling(const std::string& text, const WorkloadOptions& options) {
  conv_case(text);
  return multiply_adds(options);
}

Workload factor_ceiling(const std::string& text, const WorkloadOptions& options) {
  factor_case(text);
  return multiply_adds(options);
}

Workload convnet_ceiling(const std::string& text, const WorkloadOptions& options) {
  Workload out = multiply_adds(options);
  out.units *= 1e9 / flops_per_example(convnet_case(text));
  return out;
}

Workload random_ceiling(const std::string& text, const WorkloadOptions& options) {
  Tensor out = Tensor::empty(options.dtype, {random_case(text).size});
  auto run = [out, threads = options.threads](long calls) mutable {
    const Partition parts(static_cast<int64_t>(out.bytes()), 1 << 16, 64, threads);
    for (long i = 0; i < calls; ++i)
      run_pieces(parts.pieces(), [&](int piece) {
        std::memset(static_cast<char*>(out.raw()) + parts.begin(piece), static_cast<int>(i & 1),
                    static_cast<size_t>(parts.end(piece) - parts.begin(piece)));
      });
  };
  return {run, static_cast<double>(out.size())};
}

Workload pool_ceiling(const std::string& text, const WorkloadOptions& options) {
  const PoolCase c = pool_case(text);
  const double moved = c.windows() + (c.is_gradient ? (c.is_mean ? 1 : 2) : 1) * c.elements();
  Workload out = elementwise_ceiling(str("a+1/", static_cast<int64_t>(moved / 2)), options);
  out.units *= c.elements() / (moved / 2);
  return out;
}

Workload fft_ceiling(const std::string& text, const WorkloadOptions& options) {
  const FftCase c = fft_case(text);
  Workload out = elementwise_ceiling(str("a+1/", static_cast<int64_t>(c.elements() * (c.is_real ? 1 : 2))), options);
  out.units = 1e-9 * c.flops();
  return out;
}

Workload sparse_ceiling(const std::string& text, const WorkloadOptions& options) {
  const SparseCase c = sparse_case(text);
  const double size = static_cast<double>(size_of(options.dtype)), rows = static_cast<double>(c.rows),
               columns = static_cast<double>(c.columns), n = static_cast<double>(c.n);
  const double stored = rows * columns * c.percent / 100;
  if (c.what == "sparse") throw UserError(Message{.what = "bench: of a product of two sparse matrices none is known"});
  const bool is_step = c.what == "logistic";
  const double bytes = (is_step ? 2 : 1) * stored * (size + 4) + (is_step ? 2 * stored : (rows + columns) * n) * size;
  Workload out = elementwise_ceiling(str("a+1/", static_cast<int64_t>(bytes / (2 * size))), options);
  out.units = 1e-9 * (is_step ? 4 : 2) * stored * n;
  return out;
}

Workload language_ceiling(const std::string& text, const WorkloadOptions& options) {
  return elementwise_ceiling(str("a+1/", static_cast<int64_t>(language_case(text).elements())), options);
}

Workload elementwise_ceiling(const std::string& text, const WorkloadOptions& options) {
  ElementwiseCase what = elementwise_case(text);
  constexpr int64_t kLeast = 256;
  if (what.size < kLeast)
    throw UserError(Message{.what = str("bench: ", text, " is too small to measure a bandwidth")});
  auto object = kernels(options.dtype);
  Tensor a = Tensor::zeros(options.dtype, {what.size}), b = a.copy(), out = a.copy();
  Workload best;
  double best_rate = 0;
  for (const char* stores : {"plain", "streaming"})
    for (int threads : std::set<int>{1, options.threads}) {
      std::string name = str("stream", what.formula == "a+1" ? 1 : 2, '_', stores);
      Workload candidate = stream(*object, name, out, a, b, threads);
      if (double rate = measure(candidate, 0.02).value; rate > best_rate) best = candidate, best_rate = rate;
    }
  // The kernel's code must stay loaded.
  auto run = [object, inner = best.run](long calls) { inner(calls); };
  return {run, best.units};
}

}  // namespace thtrain
