#include "compiler/libraries/conv_patches.h"

#include <algorithm>

#include "compiler/base/str.h"
#include "compiler/cpu/conv/patches.h"
#include "compiler/libraries/blas.h"
#include "compiler/libraries/matrix_products.h"
#include "compiler/libraries/threads.h"

namespace thtrain {
namespace {

constexpr long kElementsOfPiece = 32 << 10;  // that a second thread copies

template <class T>
auto gemm_of() {
  if constexpr (std::is_same_v<T, float>)
    return matrix_products().gemm_f32;
  else
    return matrix_products().gemm_f64;
}

// Of one axis under one tap: where positions read, and the positions that read inside of the image.
struct Reads {
  long stride, start, begin, end;

  Reads(const ConvAxis& axis, long tap) : stride(axis.stride), start(tap * axis.dilation - axis.before) {
    begin = std::min<long>(start < 0 ? (-start + stride - 1) / stride : 0, axis.out);
    end = start >= axis.in ? begin : std::clamp<long>((axis.in - 1 - start) / stride + 1, begin, axis.out);
  }
  bool is_inside(long position) const { return position >= begin && position < end; }
  long at(long position) const { return position * stride + start; }
};

template <class T>
class Patches {
 public:
  Patches(const Convolution& c, long positions, int threads)
      : c_(c),
        positions_(positions),
        threads_(threads),
        rows_(c.channels() * c.taps()),
        is_image_(is_patch_matrix(c)) {}

  long rows() const { return rows_; }
  bool are_image() const { return is_image_; }
  long count_from(long first) const { return std::min(positions_, c_.positions() - first); }

  // Row-major [rows, count] of the positions from `first` on, of the channels of one group.
  void copy(const T* image, long first, long count, T* patches) const {
    const long grain = std::max<long>(1, kElementsOfPiece / count);
    const Partition partition(rows_, grain, 1, threads_);
    run_pieces(partition.pieces(), [&](int piece) {
      for (long row = partition.begin(piece); row < partition.end(piece); ++row) {
        T* to = patches + row * count;
        each_run(row, first, count, [&](long at, long begin, long end, long length, long stride) {
          const T* from = image + at;
          std::fill(to, to + begin, T(0));
          if (stride == 1)
            std::copy(from, from + (end - begin), to + begin);
          else
            for (long i = begin; i < end; ++i) to[i] = from[(i - begin) * stride];
          std::fill(to + end, to + length, T(0));
          to += length;
        });
      }
    });
  }

  // Back: each element is added where copy() reads it.
  void add_to(T* image, long first, long count, const T* patches) const {
    // All taps of a channel meet in its plane.
    const long taps = c_.taps(), grain = std::max<long>(1, kElementsOfPiece / (count * taps));
    const Partition partition(rows_ / taps, grain, 1, threads_);
    run_pieces(partition.pieces(), [&](int piece) {
      for (long row = partition.begin(piece) * taps; row < partition.end(piece) * taps; ++row) {
        const T* from = patches + row * count;
        each_run(row, first, count, [&](long at, long begin, long end, long length, long stride) {
          T* to = image + at;
          if (stride == 1)
            for (long i = begin; i < end; ++i) to[i - begin] += from[i];
          else
            for (long i = begin; i < end; ++i) to[(i - begin) * stride] += from[i];
          from += length;
        });
      }
    });
  }

 private:
  // For each run of neighbouring positions of `row` in a row of the result: body(element of the image that the first
  // position inside of it reads, first position inside, last, positions, stride), counted from the run's start.
  template <class Body>
  void each_run(long row, long first, long count, Body&& body) const {
    const auto& [depth, height, width] = c_.axes;
    const long channel = row / c_.taps(), tap = row % c_.taps();
    const Reads x(width, tap % width.kernel), y(height, tap / width.kernel % height.kernel),
        z(depth, tap / (width.kernel * height.kernel));
    long column = first % width.out, line = first / width.out % height.out, slice = first / (width.out * height.out);
    while (count > 0) {
      const long length = std::min<long>(width.out - column, count);
      if (y.is_inside(line) && z.is_inside(slice)) {
        const long begin = std::clamp(x.begin, column, column + length),
                   end = std::clamp(x.end, begin, column + length);
        const long start = ((channel * depth.in + z.at(slice)) * height.in + y.at(line)) * width.in;
        // Where no position is inside, nothing is read.
        body(begin < end ? start + x.at(begin) : 0, begin - column, end - column, length, x.stride);
      } else {
        body(0, 0, 0, length, 1);
      }
      count -= length;
      column = 0;
      if (++line == height.out) line = 0, ++slice;
    }
  }

  const Convolution& c_;
  const long positions_;
  const int threads_;
  const long rows_;
  const bool is_image_;
};

template <class T>
class Walk {
 public:
  Walk(ThContext* context, const Convolution& c, long positions, long walkers, T* patches, T* sums)
      : c_(c),
        threads_(context->threads),
        walkers_(static_cast<int>(walkers)),
        inner_{},
        patches_(c, positions, walkers > 1 ? 1 : context->threads),
        slab_(positions),
        memory_(patches),
        sums_(sums) {
    // Several walkers leave one thread to each product.
    inner_.threads = walkers > 1 ? 1 : threads_;
  }

  void forward(const T* x, const T* w, T* y) {
    const long slabs = (c_.positions() + slab_ - 1) / slab_;
    each_unit(c_.n * c_.groups * slabs, [&](long unit, T* memory) {
      const long of_group = unit / slabs, first = unit % slabs * slab_, count = patches_.count_from(first);
      const T* image = x + of_group * c_.channels() * c_.pixels();
      const T* filters = w + of_group % c_.groups * filter_elements();
      T* out = y + of_group * c_.filters() * c_.positions() + first;
      if (!patches_.are_image()) patches_.copy(image, first, count, memory);
      product(0, 0, c_.filters(), count, patches_.rows(), filters, patches_.rows(),
              patches_.are_image() ? image + first : memory, ld(count), false, out, c_.positions());
    });
  }

  void input_gradient(const T* w, const T* dy, T* dx) {
    each_unit(c_.n * c_.groups, [&](long of_group, T* memory) {
      T* image = dx + of_group * c_.channels() * c_.pixels();
      const T* filters = w + of_group % c_.groups * filter_elements();
      const T* gradient = dy + of_group * c_.filters() * c_.positions();
      if (!patches_.are_image()) std::fill(image, image + c_.channels() * c_.pixels(), T(0));
      for (long first = 0; first < c_.positions(); first += slab_) {
        const long count = patches_.count_from(first);
        product(1, 0, patches_.rows(), count, c_.filters(), filters, patches_.rows(), gradient + first, c_.positions(),
                false, patches_.are_image() ? image + first : memory, ld(count));
        if (!patches_.are_image()) patches_.add_to(image, first, count, memory);
      }
    });
  }

  // Walkers have equal parts of the images, whatever the threads, and add to gradients of their own.
  void weight_gradient(const T* x, const T* dy, T* dw) {
    const long all = c_.groups * filter_elements(), parts = walkers_;
    each_unit(parts, [&](long part, T* memory) {
      T* out = part == 0 ? dw : sums_ + (part - 1) * all;
      const long begin = part * c_.n / parts, end = (part + 1) * c_.n / parts;
      for (long of_group = begin * c_.groups; of_group < end * c_.groups; ++of_group) {
        const T* image = x + of_group * c_.channels() * c_.pixels();
        const T* gradient = dy + of_group * c_.filters() * c_.positions();
        T* to = out + of_group % c_.groups * filter_elements();
        for (long first = 0; first < c_.positions(); first += slab_) {
          const long count = patches_.count_from(first);
          if (!patches_.are_image()) patches_.copy(image, first, count, memory);
          const bool is_added = first > 0 || of_group >= (begin + 1) * c_.groups;
          product(0, 1, c_.filters(), patches_.rows(), count, gradient + first, c_.positions(),
                  patches_.are_image() ? image + first : memory, ld(count), is_added, to, patches_.rows());
        }
      }
    });
    if (parts == 1) return;
    const Partition partition(all, kElementsOfPiece, 16, threads_);
    run_pieces(partition.pieces(), [&](int piece) {
      for (long part = 0; part + 1 < parts; ++part)
        for (long i = partition.begin(piece); i < partition.end(piece); ++i) dw[i] += sums_[part * all + i];
    });
  }

 private:
  long filter_elements() const { return c_.filters() * patches_.rows(); }  // of a group
  long ld(long count) const { return patches_.are_image() ? c_.positions() : count; }

  // body(unit, memory of its walker) for all units, of which one walker takes some one after the other.
  template <class Body>
  void each_unit(long units, Body&& body) {
    const Partition partition(units, 1, 1, std::min(walkers_, threads_));
    run_pieces(partition.pieces(), [&](int walker) {
      T* memory = memory_ + (patches_.are_image() ? 0 : walker * patches_.rows() * slab_);
      for (long unit = partition.begin(walker); unit < partition.end(walker); ++unit) body(unit, memory);
    });
  }

  void product(int trans_a, int trans_b, long m, long n, long k, const T* a, long lda, const T* b, long ldb,
               bool is_added, T* out, long ldc) {
    ThContext context = inner_;
    const T one = 1;
    gemm_of<T>()(&context, trans_a, trans_b, m, n, k, &one, a, lda, b, ldb, &one, is_added, out, ldc);
  }

  const Convolution& c_;
  const int threads_, walkers_;
  ThContext inner_;
  const Patches<T> patches_;
  const long slab_;
  T *memory_, *sums_;
};

template <class T>
void conv_patches(ThContext* context, TH_CONV_PATCHES_PARAMETERS(T)) {
  const Convolution convolution = TH_CONV_OF_PARAMETERS((std::is_same_v<T, float> ? DType::kFloat32 : DType::kFloat64));
  Walk<T> walk(context, convolution, positions, walkers, patches, sums);
  switch (convolution.pass) {
    case ConvPass::kForward:
      return walk.forward(a, b, out);
    case ConvPass::kInputGradient:
      return walk.input_gradient(a, b, out);
    case ConvPass::kWeightGradient:
      return walk.weight_gradient(a, b, out);
  }
}

template <class T>
std::optional<LibraryImplementation> found_patches() {
  matrix_products();  // a missing library is reported here, where an exception may pass
  return LibraryImplementation{reinterpret_cast<void*>(conv_patches<T>), str(blas().version, " ", blas().corename)};
}

}  // namespace

NamedFunctions conv_patches_functions() {
  return {{"conv_patches_f32", found_patches<float>}, {"conv_patches_f64", found_patches<double>}};
}

}  // namespace thtrain
