#include "compiler/libraries/conv_fft.h"

#include <algorithm>
#include <array>
#include <type_traits>

#include "compiler/base/str.h"
#include "compiler/cpu/conv/fft.h"
#include "compiler/libraries/blas.h"
#include "compiler/libraries/fft/fft.h"
#include "compiler/libraries/threads.h"

namespace thtrain {
namespace {

using TransformLengths = std::array<int64_t, 3>;

// Of CBLAS, by the names of its manual. Complex numbers are two elements.
constexpr int kConjugateTransposed = 113;
template <class T>
using ComplexProduct = void (*)(int order, int trans_a, int trans_b, int m, int n, int k, const T* alpha, const T* a,
                                int lda, const T* b, int ldb, const T* beta, T* c, int ldc);
template <class T>
ComplexProduct<T> complex_product() {
  static const auto once =
      blas().lapack<std::remove_pointer_t<ComplexProduct<T>>>(std::is_same_v<T, float> ? "cblas_cgemm" : "cblas_zgemm");
  return once;
}

// Where planes of in x ... elements lie in those of a transform.
struct Position {
  TransformLengths lengths, offsets;

  long elements() const { return lengths[0] * lengths[1] * lengths[2]; }
};

template <class T>
class Transforms {
 public:
  Transforms(const FftWork& work, int threads, T* own)
      : work_(work),
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
        const auto& [depth, height, width] = work_.lengths;
        fft::transform<T>(fft::Kind::kRealToHalf, {1, {depth, height, width}, 1}, false, T(1), plane,
                          own + (i - first) * of_spectrum_, 1);
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
        const auto& [depth, height, width] = work_.lengths;
        T* const spectrum = own + (i - first) * of_spectrum_;
        fft::transform<T>(fft::Kind::kComplex, {1, {1, depth, height}, width / 2 + 1}, true, T(1), spectrum, spectrum,
                          1);
        fft::transform<T>(fft::Kind::kHalfToReal, {depth * height, {1, 1, width}, 1}, true, scale, spectrum, plane, 1);
        copy_rows(position, [&](long at, long in_transform, long length) {
          T* to = planes + i * position.elements() + at;
          std::copy(plane + in_transform, plane + in_transform + length, to);
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
  auto transposed = [](int trans) { return trans ? kConjugateTransposed : static_cast<int>(kCblasNoTrans); };
  const Partition partition(frequencies, 16, 1, threads);
  run_pieces(partition.pieces(), [&](int piece) {
    for (long m = partition.begin(piece); m < partition.end(piece); ++m)
      for (long g = 0; g < c.groups; ++g) {
        auto at = [&](const Matrix<T>& matrix) { return matrix.data + 2 * (m * matrix.step + g * matrix.of_group); };
        complex_product<T>()(kCblasRowMajor, transposed(trans_a), transposed(trans_b), static_cast<int>(mnk[0]),
                             static_cast<int>(mnk[1]), static_cast<int>(mnk[2]), kOne, at(a), static_cast<int>(a.ld),
                             at(b), static_cast<int>(b.ld), is_added ? kOne : kZero, at(out), static_cast<int>(out.ld));
      }
  });
}

template <class T>
int conv_fft(ThContext* context, TH_CONV_FFT_PARAMETERS(T)) {
  const Convolution all = TH_CONV_OF_PARAMETERS((std::is_same_v<T, float> ? DType::kFloat32 : DType::kFloat64));
  const FftWork work{{depth_fft, height_fft, width_fft}, batch};
  const int threads = context->threads;
  const Transforms<T> transforms(work, threads, own);
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
  complex_product<T>();
  return LibraryImplementation{reinterpret_cast<void*>(conv_fft<T>), str("vectors of ", fft::vector_width(), " bytes, ",
                                                                         blas().version, " ", blas().corename)};
}

}  // namespace

NamedFunctions conv_fft_functions() {
  return {{"conv_fft_f32", found_fft<float>}, {"conv_fft_f64", found_fft<double>}};
}

}  // namespace thtrain
