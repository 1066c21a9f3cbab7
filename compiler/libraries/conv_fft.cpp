#include "compiler/libraries/conv_fft.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>

#include "compiler/base/str.h"
#include "compiler/cpu/conv/fft.h"
#include "compiler/libraries/blas.h"
#include "compiler/libraries/threads.h"

namespace thtrain {
namespace {

using Plan = void*;
using TransformLengths = std::array<int64_t, 3>;

// Of the interfaces of FFTW and CBLAS, by the names of their manuals. Complex numbers are two elements.
template <class T>
struct FftApi {
  static constexpr unsigned kEstimate = 1u << 6;
  static constexpr int kConjugateTransposed = 113;

  Plan (*plan_forward)(int rank, const int* lengths, T* in, T* out, unsigned flags) = nullptr;
  Plan (*plan_backward)(int rank, const int* lengths, T* in, T* out, unsigned flags) = nullptr;
  void (*execute_forward)(Plan, T* in, T* out) = nullptr;
  void (*execute_backward)(Plan, T* in, T* out) = nullptr;
  void (*gemm)(int order, int trans_a, int trans_b, int m, int n, int k, const T* alpha, const T* a, int lda,
               const T* b, int ldb, const T* beta, T* c, int ldc) = nullptr;
  std::string version;
};

template <class T>
std::unique_ptr<FftApi<T>> load_fft() {
  constexpr bool is_float = std::is_same_v<T, float>;
  void* library = dlopen(is_float ? "libfftw3f.so.3" : "libfftw3.so.3", RTLD_NOW | RTLD_LOCAL);
  if (!library) return nullptr;
  auto out = std::make_unique<FftApi<T>>();
  const std::string prefix = is_float ? "fftwf_" : "fftw_";
  auto find = [&](const char* name, auto& function) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, (prefix + name).c_str()));
    return function != nullptr;
  };
  const char* version = nullptr;
  if (!find("plan_dft_r2c", out->plan_forward) || !find("plan_dft_c2r", out->plan_backward) ||
      !find("execute_dft_r2c", out->execute_forward) || !find("execute_dft_c2r", out->execute_backward) ||
      !find("version", version))
    return nullptr;
  out->gemm = blas().lapack<std::remove_pointer_t<decltype(out->gemm)>>(is_float ? "cblas_cgemm" : "cblas_zgemm");
  out->version = str(version, " ", blas().version, " ", blas().corename);
  return out;
}

template <class T>
const FftApi<T>* api() {
  static const std::unique_ptr<FftApi<T>> once = load_fft<T>();
  return once.get();
}

struct Plans {
  Plan forward = nullptr, backward = nullptr;
};

// Of those lengths; kept until the process ends. Null where the library makes none.
template <class T>
Plans plans_of(const FftWork& work) {
  static std::mutex& mutex = *new std::mutex;
  static std::map<TransformLengths, Plans>& all = *new std::map<TransformLengths, Plans>;
  std::lock_guard lock(mutex);
  Plans& out = all[work.lengths];
  if (out.forward && out.backward) return out;
  std::vector<int> lengths;
  for (int64_t length : work.lengths)
    if (length > 1) lengths.push_back(static_cast<int>(length));
  if (lengths.empty()) lengths.push_back(1);
  constexpr size_t kLine = 64;
  const size_t elements = static_cast<size_t>(fft_plane_elements(work) + fft_spectrum_elements(work));
  auto* memory = static_cast<T*>(std::aligned_alloc(kLine, elements * sizeof(T)));
  if (!memory) return {};
  T* spectrum = memory + fft_plane_elements(work);
  const int rank = static_cast<int>(lengths.size());
  out.forward = api<T>()->plan_forward(rank, lengths.data(), memory, spectrum, FftApi<T>::kEstimate);
  out.backward = api<T>()->plan_backward(rank, lengths.data(), spectrum, memory, FftApi<T>::kEstimate);
  std::free(memory);
  return out;
}

// Where planes of in x ... elements lie in those of a transform.
struct Position {
  TransformLengths lengths, offsets;

  long elements() const { return lengths[0] * lengths[1] * lengths[2]; }
};

template <class T>
class Transforms {
 public:
  Transforms(const FftWork& work, const Plans& plans, int threads, T* own)
      : work_(work),
        plans_(plans),
        threads_(std::min<int>(threads, kFftWalkers)),
        frequencies_(work.frequencies()),
        of_plane_(fft_plane_elements(work)),
        of_spectrum_(fft_spectrum_elements(work)),
        own_(own) {}

  // spectra[frequency][plane] of `count` planes that lie one behind the other.
  void forward(const T* planes, long count, const Position& position, T* spectra) const {
    each_block(count, [&](long first, long last, T* plane, T* own) {
      std::fill(plane, plane + work_.elements(), T(0));
      for (long i = first; i < last; ++i) {
        copy_rows(position, [&](long at, long in_transform, long length) {
          const T* from = planes + i * position.elements() + at;
          std::copy(from, from + length, plane + in_transform);
        });
        // A transform of several axes leaves its input as it is.
        api<T>()->execute_forward(plans_.forward, plane, own + (i - first) * of_spectrum_);
      }
      for (long m = 0; m < frequencies_; ++m)
        for (long i = first; i < last; ++i)
          for (long part : {0, 1}) spectra[2 * (m * count + i) + part] = own[(i - first) * of_spectrum_ + 2 * m + part];
    });
  }

  // Back, scaled.
  void backward(const T* spectra, long count, const Position& position, T* planes) const {
    const T scale = T(1) / static_cast<T>(work_.elements());
    each_block(count, [&](long first, long last, T* plane, T* own) {
      for (long m = 0; m < frequencies_; ++m)
        for (long i = first; i < last; ++i)
          for (long part : {0, 1}) own[(i - first) * of_spectrum_ + 2 * m + part] = spectra[2 * (m * count + i) + part];
      for (long i = first; i < last; ++i) {
        api<T>()->execute_backward(plans_.backward, own + (i - first) * of_spectrum_, plane);
        copy_rows(position, [&](long at, long in_transform, long length) {
          T* to = planes + i * position.elements() + at;
          for (long k = 0; k < length; ++k) to[k] = plane[in_transform + k] * scale;
        });
      }
    });
  }

 private:
  template <class Body>
  void each_block(long count, Body&& body) const {
    const long blocks = (count + kFftPlanes - 1) / kFftPlanes;
    const Partition partition(blocks, 1, 1, threads_);
    run_pieces(partition.pieces(), [&](int walker) {
      T* plane = own_ + walker * (of_plane_ + kFftPlanes * of_spectrum_);
      for (long block = partition.begin(walker); block < partition.end(walker); ++block)
        body(block * kFftPlanes, std::min(count, (block + 1) * kFftPlanes), plane, plane + of_plane_);
    });
  }

  // body(start of a row in the plane, in the transform, elements) for all rows.
  template <class Body>
  void copy_rows(const Position& position, Body&& body) const {
    const auto& [depth, height, width] = position.lengths;
    for (long z = 0; z < depth; ++z)
      for (long y = 0; y < height; ++y)
        body((z * height + y) * width,
             ((z + position.offsets[0]) * work_.lengths[1] + y + position.offsets[1]) * work_.lengths[2] +
                 position.offsets[2],
             width);
  }

  const FftWork work_;
  const Plans plans_;
  const int threads_;
  const long frequencies_, of_plane_, of_spectrum_;
  T* own_;
};

template <class T>
struct Matrix {
  T* data;        // of frequency 0, group 0; complex
  long ld, step;  // between rows, and between frequencies
  long of_group;  // where the next group begins
};

// c = op(a) op(b) (+ c) for each frequency and group; 0: as it is, 1: conjugate transposed.
template <class T>
void multiply(const Convolution& c, long frequencies, int threads, std::array<long, 3> mnk, int trans_a, int trans_b,
              const Matrix<T>& a, const Matrix<T>& b, bool is_added, const Matrix<T>& out) {
  constexpr T kOne[] = {1, 0}, kZero[] = {0, 0};
  auto transposed = [](int trans) { return trans ? FftApi<T>::kConjugateTransposed : static_cast<int>(kCblasNoTrans); };
  const Partition partition(frequencies, 16, 1, threads);
  run_pieces(partition.pieces(), [&](int piece) {
    for (long m = partition.begin(piece); m < partition.end(piece); ++m)
      for (long g = 0; g < c.groups; ++g) {
        auto at = [&](const Matrix<T>& matrix) { return matrix.data + 2 * (m * matrix.step + g * matrix.of_group); };
        api<T>()->gemm(kCblasRowMajor, transposed(trans_a), transposed(trans_b), static_cast<int>(mnk[0]),
                       static_cast<int>(mnk[1]), static_cast<int>(mnk[2]), kOne, at(a), static_cast<int>(a.ld), at(b),
                       static_cast<int>(b.ld), is_added ? kOne : kZero, at(out), static_cast<int>(out.ld));
      }
  });
}

template <class T>
int conv_fft(ThContext* context, TH_CONV_FFT_PARAMETERS(T)) {
  const Convolution all = TH_CONV_OF_PARAMETERS((std::is_same_v<T, float> ? DType::kFloat32 : DType::kFloat64));
  const FftWork work{{depth_fft, height_fft, width_fft}, batch};
  const Plans plans = plans_of<T>(work);
  if (!plans.forward || !plans.backward) return 1;
  const int threads = context->threads;
  const Transforms<T> transforms(work, plans, threads, own);
  const long frequencies = work.frequencies(), channels = all.channels(), filters = all.filters();
  Position image{}, taps{}, positions{};
  for (size_t i = 0; i < 3; ++i) {
    const ConvAxis& axis = all.axes[i];
    image.lengths[i] = axis.in;
    image.offsets[i] = axis.before;
    taps.lengths[i] = axis.kernel;
    positions.lengths[i] = axis.out;
  }
  const bool is_forward = all.pass == ConvPass::kForward, is_input = all.pass == ConvPass::kInputGradient,
             is_weights = all.pass == ConvPass::kWeightGradient;
  const Matrix<T> filter_matrix{of_w, channels, f * channels, filters * channels};
  if (!is_weights && !(is_forward ? has_b : has_a)) transforms.forward(is_forward ? b : a, f * channels, taps, of_w);
  for (long first = 0; first < n; first += batch) {
    const long images = std::min(batch, n - first), x_at = first * c * all.pixels(), y_at = first * f * all.positions();
    const Matrix<T> x{of_x, c, images * c, channels}, y{of_y, f, images * f, filters};
    if (!is_input && !has_a) transforms.forward(a + x_at, images * c, image, of_x);
    if (!is_forward && !has_b) transforms.forward(b + y_at, images * f, positions, of_y);
    if (is_forward) {
      multiply<T>(all, frequencies, threads, {images, filters, channels}, 0, 1, x, filter_matrix, false, y);
      transforms.backward(of_y, images * f, positions, out + y_at);
    } else if (is_weights) {
      multiply<T>(all, frequencies, threads, {filters, channels, images}, 1, 0, y, x, first > 0, filter_matrix);
    } else {
      multiply<T>(all, frequencies, threads, {images, channels, filters}, 0, 0, y, filter_matrix, false, x);
      transforms.backward(of_x, images * c, image, out + x_at);
    }
  }
  if (is_weights) transforms.backward(of_w, f * channels, taps, out);
  return 0;
}

template <class T>
std::optional<LibraryImplementation> found_fft() {
  if (!api<T>()) return std::nullopt;
  return LibraryImplementation{reinterpret_cast<void*>(conv_fft<T>), api<T>()->version};
}

}  // namespace

NamedFunctions conv_fft_functions() {
  return {{"conv_fft_f32", found_fft<float>}, {"conv_fft_f64", found_fft<double>}};
}

}  // namespace thtrain
