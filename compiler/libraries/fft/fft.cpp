#include "compiler/libraries/fft/fft.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <tuple>

#include "compiler/base/str.h"
#include "compiler/codegen/entry_abi.h"
#include "compiler/libraries/threads.h"
#include "compiler/ops/fft/fft_functions.h"

namespace thtrain::fft {
namespace {

constexpr long kLine = 64;
// Of vectors of several rows or columns: up to here they are finished in the second cache. Longer rows are swept twice.
constexpr long kBytesOfRows = 256 << 10;
constexpr long kBytesOfSlab = 640 << 10;  // of two axes that are done while they are in the second cache
constexpr long kWorkOfPiece = 8 << 10;    // numbers for a thread

std::atomic<int> width_limit{64};

template <class T>
const Engine<T>& engine() {
  static const std::array<const Engine<T>*, 3> all = [] {
    std::array<const Engine<T>*, 3> out{plain_engine<T>(), nullptr, nullptr};
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) out[1] = avx2_engine<T>();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512bw"))
      out[2] = avx512_engine<T>();
#endif
    return out;
  }();
  const int limit = width_limit.load(std::memory_order_relaxed);
  if (all[2] && limit >= 64) return *all[2];
  return all[1] && limit >= 32 ? *all[1] : *all[0];
}

// A thread's own memory, which stays until the thread ends.
template <class T>
T* work_of(size_t number, long elements) {
  struct Memory {
    void* data = nullptr;
    size_t size = 0;
    ~Memory() { std::free(data); }
  };
  thread_local std::array<Memory, 4> all;
  Memory& memory = all[number];
  const size_t size = (static_cast<size_t>(elements) * sizeof(T) + kLine - 1) / kLine * kLine;
  if (memory.size < size) {
    std::free(memory.data);
    memory = {};
    // Large ones begin at a page, and are huge pages where the system has them.
    memory.data = std::aligned_alloc(kLine, size);
    if (!memory.data) std::abort();
    memory.size = size;
  }
  return static_cast<T*>(memory.data);
}
enum Work : size_t { kOfPasses, kOfSweeps, kOfRow, kOfConvolution };

// Of a length and a number of lanes; made when they are first needed, and kept.
template <class T>
struct Plan {
  long n, lanes;
  bool is_smooth;
  // Of few vectors, and of columns.
  bool has_passes = false;
  Passes<T> passes;
  PassList<T> list;
  bool has_row = false;
  RowPlan<T> row;
  PassList<T> row_columns, row_rows;
  std::vector<T> halves;  // e^(-2 pi i k / 2n)
  // Bluestein's: x[j] c[j], convolved with conj(c), times c[k]; c[j] = e^(-pi i j^2 / n).
  std::vector<T> chirp, spectrum;
  const Plan* convolution = nullptr;
};

template <class T>
void sweep_rows(const Plan<T>& plan, bool inverse, T scale, const T* in, T* out, int threads);

template <class T>
bool fits_vectors(const Plan<T>& plan) {
  return plan.n * plan.lanes * 2 * static_cast<long>(sizeof(T)) <= kBytesOfRows;
}

template <class T>
class Plans {
 public:
  enum Part { kPasses = 1, kRow = 2, kHalves = 4 };
  const Plan<T>& of(long n, int parts) {
    // What the thread asked for lately needs no lock.
    struct Known {
      long n = 0, lanes = 0;
      int parts = 0;
      const Plan<T>* plan = nullptr;
    };
    thread_local std::array<Known, 16> lately;
    const long lanes = engine<T>().lanes;
    Known& known = lately[static_cast<size_t>(n + parts) % lately.size()];
    if (known.n != n || known.lanes != lanes || known.parts != parts) {
      std::lock_guard lock(mutex_);
      known = {n, lanes, parts, &find(n, parts)};
    }
    return *known.plan;
  }

 private:
  // The mutex is locked. Parts that a plan has are not touched again, since others read them.
  Plan<T>& find(long n, int parts) {
    const long lanes = engine<T>().lanes;
    Plan<T>& plan = all_[{n, lanes}];
    plan.n = n;
    plan.lanes = lanes;
    plan.is_smooth = is_smooth(n);
    if (!plan.is_smooth) {
      if (!plan.convolution) make_convolution(plan);
    } else {
      if ((parts & kPasses) && !plan.has_passes) {
        plan.passes = passes_of<T>(n);
        plan.list = list_of(plan.passes);
        plan.has_passes = true;
      }
      if ((parts & kRow) && !plan.has_row) {
        plan.row = row_plan<T>(n, lanes);
        plan.row_columns = list_of(plan.row.columns);
        plan.row_rows = list_of(plan.row.rows);
        plan.has_row = true;
      }
    }
    if ((parts & kHalves) && plan.halves.empty()) {
      for (long k = 0; k <= n / 2; ++k) {
        const Root root = root_of(k, 2 * n);
        plan.halves.push_back(static_cast<T>(root.re));
        plan.halves.push_back(static_cast<T>(root.im));
      }
    }
    return plan;
  }

  void make_convolution(Plan<T>& plan) {
    const long n = plan.n, length = convolution_length(n);
    const Plan<T>& convolution = find(length, kRow);
    plan.chirp.resize(static_cast<size_t>(2 * n));
    std::vector<T> kernel(static_cast<size_t>(2 * length));
    long square = 0;  // j^2 mod 2n
    for (long j = 0; j < n; ++j) {
      const Root root = root_of(square, 2 * n);
      const T re = static_cast<T>(root.re), im = static_cast<T>(root.im);
      plan.chirp[static_cast<size_t>(2 * j)] = re;
      plan.chirp[static_cast<size_t>(2 * j + 1)] = im;
      for (long at : {j, (length - j) % length}) {
        kernel[static_cast<size_t>(2 * at)] = re;
        kernel[static_cast<size_t>(2 * at + 1)] = -im;
      }
      square = (square + 2 * j + 1) % (2 * n);
    }
    plan.spectrum.resize(kernel.size());
    sweep_rows<T>(convolution, false, T(1), kernel.data(), plan.spectrum.data(), 1);
    plan.convolution = &convolution;
  }

  std::mutex mutex_;
  std::map<std::pair<long, long>, Plan<T>> all_;  // whose elements stay where they are
};

template <class T>
Plans<T>& plans() {
  static Plans<T>& all = *new Plans<T>;
  return all;
}

// One row after the other, by two sweeps.
template <class T>
void sweep_rows(const Plan<T>& plan, bool inverse, T scale, const T* in, T* out, int threads) {
  const Engine<T>& vectors = engine<T>();
  const RowPlan<T>& row = plan.row;
  const long of_sweep = 2 * plan.lanes * row.n2 * row.blocks_of_rows(),
             of_passes = 2 * plan.lanes * std::max(row.n1, row.n2);
  T* const sweep = work_of<T>(kOfSweeps, of_sweep);
  const Partition columns(row.blocks_of_columns(), std::max<long>(1, kWorkOfPiece / (plan.lanes * row.n1)), 1, threads);
  run_pieces(columns.pieces(), [&](int piece) {
    vectors.row_columns(plan.row_columns, row.n2, row.factors.data(), row.is_product ? row.of_lanes.data() : nullptr,
                        in, sweep, columns.begin(piece), columns.end(piece), inverse, work_of<T>(kOfPasses, of_passes));
  });
  const Partition rows(row.blocks_of_rows(), std::max<long>(1, kWorkOfPiece / (plan.lanes * row.n2)), 1, threads);
  run_pieces(rows.pieces(), [&](int piece) {
    vectors.row_rows(plan.row_rows, row.n1, sweep, out, rows.begin(piece), rows.end(piece), inverse, scale,
                     work_of<T>(kOfPasses, of_passes));
  });
}

template <class T>
void convolve_row(const Plan<T>& plan, bool inverse, T scale, const T* in, T* out, int threads) {
  const Engine<T>& vectors = engine<T>();
  const Plan<T>& convolution = *plan.convolution;
  const long n = plan.n, length = convolution.n;
  T* const values = work_of<T>(kOfConvolution, 2 * length);
  // The inverse transform is the conjugate of the conjugate's.
  vectors.multiply(n, in, inverse, plan.chirp.data(), T(1), values);
  std::fill(values + 2 * n, values + 2 * length, T(0));
  sweep_rows<T>(convolution, false, T(1), values, values, threads);
  vectors.multiply(length, values, false, plan.spectrum.data(), T(1), values);
  sweep_rows<T>(convolution, true, T(1) / static_cast<T>(length), values, values, threads);
  vectors.multiply(n, values, false, plan.chirp.data(), scale, out);
  if (inverse)
    for (long k = 0; k < n; ++k) out[2 * k + 1] = -out[2 * k + 1];
}

// Complex rows that lie in_step and out_step elements apart.
template <class T>
void complex_rows(long count, long n, bool inverse, T scale, const T* in, T* out, long in_step, long out_step,
                  int threads) {
  const Engine<T>& vectors = engine<T>();
  if (const Plan<T>& plan = plans<T>().of(n, 0); !plan.is_smooth) {
    const Partition rows(count, std::max<long>(1, kWorkOfPiece / n), 1, threads);
    const bool together = rows.pieces() > 1;
    run_pieces(rows.pieces(), [&](int piece) {
      for (long row = rows.begin(piece); row < rows.end(piece); ++row)
        convolve_row(plan, inverse, scale, in + row * in_step, out + row * out_step, together ? 1 : threads);
    });
    return;
  }
  const bool few = 2 * count < vectors.lanes && n >= 4 * vectors.lanes;
  const Plan<T>& asked = plans<T>().of(n, 0);
  if (few || !fits_vectors(asked)) {
    const Plan<T>& plan = plans<T>().of(n, Plans<T>::kRow);
    if (count == 1) return sweep_rows(plan, inverse, scale, in, out, threads);
    const Partition rows(count, std::max<long>(1, kWorkOfPiece / n), 1, threads);
    const bool together = rows.pieces() > 1;
    run_pieces(rows.pieces(), [&](int piece) {
      for (long row = rows.begin(piece); row < rows.end(piece); ++row)
        sweep_rows(plan, inverse, scale, in + row * in_step, out + row * out_step, together ? 1 : threads);
    });
    return;
  }
  const Plan<T>& plan = plans<T>().of(n, Plans<T>::kPasses);
  const Partition rows(count, std::max<long>(plan.lanes, kWorkOfPiece / n), plan.lanes, threads);
  run_pieces(rows.pieces(), [&](int piece) {
    T* const work = work_of<T>(kOfPasses, 2 * (n + 1) * plan.lanes);
    for (long row = rows.begin(piece); row < rows.end(piece); row += plan.lanes)
      vectors.rows(Kind::kComplex, plan.list, nullptr, in + row * in_step, out + row * out_step, in_step, out_step,
                   std::min(plan.lanes, rows.end(piece) - row), inverse, scale, work);
  });
}

// Real numbers of an odd length, or of twice a large prime: as complex ones, some rows at a time.
template <class T>
void real_as_complex(Kind kind, long count, long n, bool inverse, T scale, const T* in, T* out, int threads) {
  const long half = n / 2 + 1, at_once = engine<T>().lanes;
  const Partition rows(count, std::max(at_once, kWorkOfPiece / n), at_once, threads);
  const bool together = rows.pieces() > 1;
  run_pieces(rows.pieces(), [&](int piece) {
    T* const values = work_of<T>(kOfRow, 2 * n * std::min(at_once, count));
    for (long row = rows.begin(piece); row < rows.end(piece); row += at_once) {
      const long taken = std::min(at_once, rows.end(piece) - row);
      for (long i = 0; i < taken; ++i) {
        T* const to = values + 2 * n * i;
        if (kind == Kind::kRealToHalf) {
          const T* const from = in + (row + i) * n;
          for (long j = 0; j < n; ++j) {
            to[2 * j] = from[j];
            to[2 * j + 1] = 0;
          }
          continue;
        }
        const T* const from = in + 2 * (row + i) * half;
        to[0] = from[0];
        to[1] = 0;
        for (long k = 1; 2 * k <= n; ++k) {
          const T re = from[2 * k], im = 2 * k == n ? 0 : from[2 * k + 1];
          to[2 * k] = to[2 * (n - k)] = re;
          to[2 * k + 1] = im;
          if (2 * k != n) to[2 * (n - k) + 1] = -im;
        }
      }
      complex_rows(taken, n, inverse, scale, static_cast<const T*>(values), values, 2 * n, 2 * n,
                   together ? 1 : threads);
      for (long i = 0; i < taken; ++i) {
        const T* const from = values + 2 * n * i;
        if (kind == Kind::kRealToHalf)
          std::copy(from, from + 2 * half, out + 2 * (row + i) * half);
        else
          for (long j = 0; j < n; ++j) out[(row + i) * n + j] = from[2 * j];
      }
    }
  });
}

template <class T>
void real_rows(Kind kind, long count, long n, bool inverse, T scale, const T* in, T* out, int threads) {
  const Engine<T>& vectors = engine<T>();
  const long m = n / 2;
  if (n % 2 != 0 || m == 0 || !plans<T>().of(m, 0).is_smooth)
    return real_as_complex(kind, count, n, inverse, scale, in, out, threads);
  const bool forward = kind == Kind::kRealToHalf;
  const long in_step = forward ? n : n + 2, out_step = forward ? n + 2 : n;
  const Plan<T>& asked = plans<T>().of(m, 0);
  const bool few = 2 * count < vectors.lanes && m >= 4 * vectors.lanes;
  if (!few && fits_vectors(asked)) {
    const Plan<T>& plan = plans<T>().of(m, Plans<T>::kPasses | Plans<T>::kHalves);
    const Partition rows(count, std::max<long>(plan.lanes, kWorkOfPiece / n), plan.lanes, threads);
    run_pieces(rows.pieces(), [&](int piece) {
      T* const work = work_of<T>(kOfPasses, 2 * (m + 1) * plan.lanes);
      for (long row = rows.begin(piece); row < rows.end(piece); row += plan.lanes)
        vectors.rows(kind, plan.list, plan.halves.data(), in + row * in_step, out + row * out_step, in_step, out_step,
                     std::min(plan.lanes, rows.end(piece) - row), inverse, scale, work);
    });
    return;
  }
  const Plan<T>& plan = plans<T>().of(m, Plans<T>::kRow | Plans<T>::kHalves);
  const Partition rows(count, std::max<long>(1, kWorkOfPiece / n), 1, threads);
  const bool together = rows.pieces() > 1;
  run_pieces(rows.pieces(), [&](int piece) {
    const int of_row = together ? 1 : threads;
    const Partition pairs(m / 2 + 1, kWorkOfPiece, 1, of_row);
    for (long row = rows.begin(piece); row < rows.end(piece); ++row) {
      const T* const from = in + row * in_step;
      T* const to = out + row * out_step;
      if (forward) {
        sweep_rows(plan, inverse, scale, from, to, of_row);
        run_pieces(pairs.pieces(),
                   [&](int part) { vectors.halves_of(m, plan.halves.data(), to, pairs.begin(part), pairs.end(part)); });
      } else {
        T* const values = work_of<T>(kOfRow, 2 * m);
        run_pieces(pairs.pieces(), [&](int part) {
          vectors.from_halves(m, plan.halves.data(), from, values, pairs.begin(part), pairs.end(part));
        });
        sweep_rows<T>(plan, inverse, scale, values, to, of_row);
      }
    }
  });
}

template <class T>
void columns_of(long count, long n, long inner, bool inverse, T scale, const T* in, T* out, int threads) {
  const Engine<T>& vectors = engine<T>();
  const Plan<T>& plan = plans<T>().of(n, Plans<T>::kPasses);
  const bool is_convolution = !plan.is_smooth;
  const long blocks = (inner + vectors.lanes - 1) / vectors.lanes;
  const Partition pieces(count * blocks, std::max<long>(1, kWorkOfPiece / (n * vectors.lanes)), 1, threads);
  run_pieces(pieces.pieces(), [&](int piece) {
    T* const work = work_of<T>(kOfPasses, 2 * n * vectors.lanes);
    for (long at = pieces.begin(piece); at < pieces.end(piece); ++at) {
      const long first = at % blocks * vectors.lanes, taken = std::min(vectors.lanes, inner - first),
                 offset = 2 * (at / blocks * n * inner + first);
      if (!is_convolution) {
        vectors.columns(plan.list, in + offset, out + offset, inner, taken, inverse, scale, work);
        continue;
      }
      T* const row = work_of<T>(kOfRow, 2 * n);
      for (long lane = 0; lane < taken; ++lane) {
        for (long j = 0; j < n; ++j)
          for (long part : {0, 1}) row[2 * j + part] = in[offset + 2 * (j * inner + lane) + part];
        convolve_row<T>(plan, inverse, scale, row, row, 1);
        for (long j = 0; j < n; ++j)
          for (long part : {0, 1}) out[offset + 2 * (j * inner + lane) + part] = row[2 * j + part];
      }
    }
  });
}

}  // namespace

template <class T>
void transform(Kind kind, const Axes& axes, bool inverse, T scale, const T* in, T* out, int threads) {
  const auto& n = axes.n;
  const long count = axes.count, inner = axes.inner;
  if (axes.numbers() == 0) {  // a spectrum of no numbers has one element
    if (kind == Kind::kRealToHalf && axes.n[2] == 0)
      std::fill_n(out, 2 * axes.count * axes.n[0] * axes.n[1] * axes.inner, T(0));
    return;
  }
  const bool is_real = kind == Kind::kRealToHalf;
  const long last = is_real ? n[2] / 2 + 1 : n[2], of_slab = n[1] * last * inner,
             in_slab = is_real ? n[1] * n[2] : 2 * of_slab;
  auto slab = [&](const T* from, T* to, long slabs, T factor, int walkers) {
    const T of_last = n[1] > 1 ? T(1) : factor;
    if (kind != Kind::kComplex)
      real_rows(kind, slabs * n[1], n[2], inverse, of_last, from, to, walkers);
    else if (inner > 1)
      columns_of(slabs * n[1], n[2], inner, inverse, of_last, from, to, walkers);
    else
      complex_rows(slabs * n[1], n[2], inverse, of_last, from, to, 2 * n[2], 2 * n[2], walkers);
    if (n[1] > 1) columns_of<T>(slabs, n[1], last * inner, inverse, factor, to, to, walkers);
  };
  const T of_slabs = n[0] > 1 ? T(1) : scale;
  const long slabs = count * n[0];
  if (n[1] == 1 || of_slab * 2 * static_cast<long>(sizeof(T)) > kBytesOfSlab || slabs < threads) {
    slab(in, out, slabs, of_slabs, threads);
  } else {
    // Rows and columns of a slab while it is in the second cache.
    const Partition pieces(slabs, std::max<long>(1, kWorkOfPiece / of_slab), 1, threads);
    run_pieces(pieces.pieces(), [&](int piece) {
      for (long i = pieces.begin(piece); i < pieces.end(piece); ++i)
        slab(in + i * in_slab, out + 2 * i * of_slab, 1, of_slabs, 1);
    });
  }
  if (n[0] > 1) columns_of<T>(count, n[0], of_slab, inverse, scale, out, out, threads);
}
template void transform(Kind, const Axes&, bool, float, const float*, float*, int);
template void transform(Kind, const Axes&, bool, double, const double*, double*, int);

int vector_width() {
  return static_cast<int>(engine<double>().lanes * static_cast<long>(sizeof(double)));
}
void limit_width(int bytes) {
  width_limit = bytes;
}

}  // namespace thtrain::fft

namespace thtrain {
namespace {

template <class T>
void run_fft(ThContext* context, TH_FFT_PARAMETERS(T)) {
  const auto size = static_cast<double>(n0 * n1 * n2);
  const double scale = norm == 0 || size == 0 ? 1 : norm == 1 ? 1 / std::sqrt(size) : 1 / size;
  fft::transform<T>(static_cast<fft::Kind>(kind), {count, {n0, n1, n2}, inner}, inverse != 0, static_cast<T>(scale), in,
                    out, context->threads);
}

template <class T>
std::optional<LibraryImplementation> found_transform() {
  return LibraryImplementation{reinterpret_cast<void*>(run_fft<T>), str("vectors of ", fft::vector_width(), " bytes")};
}

}  // namespace

NamedFunctions fft_functions() {
  return {{"fft_f32", found_transform<float>}, {"fft_f64", found_transform<double>}};
}

}  // namespace thtrain
