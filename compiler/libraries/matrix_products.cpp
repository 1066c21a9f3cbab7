#include "compiler/libraries/matrix_products.h"

#include <algorithm>
#include <climits>
#include <cmath>
#include <type_traits>

#include "compiler/libraries/blas.h"
#include "compiler/libraries/threads.h"

namespace thtrain {
namespace {

constexpr long kUnit = detail::kGemmUnit;
// A second thread pays from here on: half a million operations are about 5 microseconds of one core, and two threads
// meet in 1 to 2 where both are awake.
constexpr double kGemmFlopsOfPiece = 250e3;
// gemv and ger are bound by memory: entries of the matrix. Loops that update a matrix are shared out from about here on
// too; where only one of the two is, threads take lines of it from each other.
constexpr double kEntriesOfPiece = 24e3;

template <class T>
const auto& gemm_of(const Blas& blas) {
  if constexpr (std::is_same_v<T, float>)
    return blas.sgemm;
  else
    return blas.dgemm;
}
template <class T>
const auto& gemv_of(const Blas& blas) {
  if constexpr (std::is_same_v<T, float>)
    return blas.sgemv;
  else
    return blas.dgemv;
}
template <class T>
const auto& ger_of(const Blas& blas) {
  if constexpr (std::is_same_v<T, float>)
    return blas.sger;
  else
    return blas.dger;
}

CblasTranspose transpose(int trans) {
  return trans ? kCblasTrans : kCblasNoTrans;
}

/// BLAS counts in int.
template <class... Lengths>
bool fit_int(Lengths... lengths) {
  return ((lengths <= INT_MAX && lengths >= -INT_MAX) && ...);
}

int pieces_for(double work, double work_of_piece, int threads) {
  return static_cast<int>(std::clamp(std::floor(work / work_of_piece), 1.0, static_cast<double>(std::max(threads, 1))));
}

/// A matrix as it is stored; `trans` says that the product reads its transpose.
template <class T>
struct StoredMatrix {
  const T* data;
  long ld;
  bool trans;
  /// The part of the operand as read that starts at (row, column).
  const T* at(long row, long column) const { return data + (trans ? column * ld + row : row * ld + column); }
};

template <class T>
struct Gemm {
  StoredMatrix<T> a, b;
  T alpha, beta;
  T* c;
  long ldc;

  void operator()(long row, long column, long inner, long m, long n, long k, T beta_now) const {
    gemm_of<T>(blas())(kCblasRowMajor, transpose(a.trans), transpose(b.trans), static_cast<int>(m), static_cast<int>(n),
                       static_cast<int>(k), alpha, a.at(row, inner), static_cast<int>(a.ld), b.at(inner, column),
                       static_cast<int>(b.ld), beta_now, c + row * ldc + column, static_cast<int>(ldc));
  }
};

/// C = alpha A B + beta C by its definition (beta == 0: C is not read): for what BLAS cannot say (lengths beyond int,
/// rows that overlap).
template <class T>
void plain_gemm(const Gemm<T>& g, long m, long n, long k) {
  for (long i = 0; i < m; ++i)
    for (long j = 0; j < n; ++j) {
      T sum = 0;
      for (long p = 0; p < k; ++p) sum += *g.a.at(i, p) * *g.b.at(p, j);
      T& c = g.c[i * g.ldc + j];
      c = g.alpha * sum + (g.beta == 0 ? T(0) : g.beta * c);
    }
}

template <class T>
void scale(T* c, long ldc, long m, long n, T beta) {
  for (long i = 0; i < m; ++i) {
    T* row = c + i * ldc;
    if (beta == 0)
      std::fill(row, row + n, T(0));
    else if (beta != 1)
      for (long j = 0; j < n; ++j) row[j] *= beta;
  }
}

struct Block {
  long m, n, k;
};

/// OpenBLAS copies its operands into its own layout first, which takes as long as the product where one side is short.
/// Its AVX-512 kernels do without in products of up to 1e6 multiplications, and of A B^T where there are up to 1,200
/// results: short products are made of such blocks (+30 % for [20, 784] x [784, 500], twice as fast for [600, 784] x
/// [784, 10] in float64, four times for [2, 335] x [925, 335]^T).
Block block_of(long m, long n, long k, bool trans_a, bool trans_b) {
  constexpr long kShort = 32, kMost = 1'000'000, kResults = 1200;
  static const bool has_small_kernels = blas().corename == "SkylakeX" || blas().corename == "Cooperlake";
  const bool few_results = !trans_a && trans_b;
  const bool is_small = static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) <= kMost &&
                        !(few_results && m * n > kResults);
  if (!has_small_kernels || is_small || std::min(m, n) > kShort) return {m, n, k};
  if (few_results)
    return {std::min(m, kResults / std::min(n, kShort)), std::min(n, kResults / std::min(m, kShort)), kMost / kResults};
  if (n <= kShort) return {96, n, 256};
  return {m, 256, 96};
}

template <class T>
void gemm_piece(const Gemm<T>& g, long row, long column, long m, long n, long k) {
  const Block block = block_of(m, n, k, g.a.trans, g.b.trans);
  for (long inner = 0; inner < k; inner += block.k)
    for (long j = 0; j < n; j += block.n)
      for (long i = 0; i < m; i += block.m)
        g(row + i, column + j, inner, std::min(block.m, m - i), std::min(block.n, n - j), std::min(block.k, k - inner),
          inner == 0 ? g.beta : T(1));
}

/// C += alpha A B of a piece for an alpha of 0: BLAS would leave the product out, and with it its NaN and infinities.
template <class T>
void add_zero_times_product(const Gemm<T>& g, long row, long column, long m, long n, long k) {
  constexpr long kSide = 64;
  T product[kSide * kSide];
  for (long i = row; i < row + m; i += kSide)
    for (long j = column; j < column + n; j += kSide) {
      const long height = std::min(kSide, row + m - i), width = std::min(kSide, column + n - j);
      const Gemm<T> block{
          {g.a.at(i, 0), g.a.ld, g.a.trans}, {g.b.at(0, j), g.b.ld, g.b.trans}, T(1), T(0), product, kSide};
      block(0, 0, 0, height, width, k, T(0));
      for (long r = 0; r < height; ++r)
        for (long s = 0; s < width; ++s) g.c[(i + r) * g.ldc + j + s] += g.alpha * product[r * kSide + s];
    }
}

/// What the sum over no products adds: alpha 0.
template <class T>
void add_zero_times(T alpha, T* c, long ldc, long m, long n) {
  if (std::isfinite(alpha)) return;
  for (long i = 0; i < m; ++i)
    for (long j = 0; j < n; ++j) c[i * ldc + j] += alpha * 0;
}

/// From here on a beta of 0 says that C is not read. One that the call gave multiplies C by itself.
template <class T>
T beta_of_blas(T beta, int reads_c, T* c, long ldc, long m, long n) {
  if (!reads_c || beta != 0) return reads_c ? beta : T(0);
  for (long i = 0; i < m; ++i)
    for (long j = 0; j < n; ++j) c[i * ldc + j] *= beta;
  return T(1);
}

template <class T>
void gemv(ThContext* context, TH_GEMV_PARAMETERS(T));

template <class T>
void gemm(ThContext* context, TH_GEMM_PARAMETERS(T)) {
  if (m <= 0 || n <= 0) return;
  const T alpha = *alpha_at, beta = beta_of_blas(*beta_at, reads_c, c, ldc, m, n);
  if (k <= 0) {
    scale(c, ldc, m, n, beta);
    return add_zero_times(alpha, c, ldc, m, n);
  }
  // One row or column: bound by memory, and gemv reads the matrix as it lies.
  if (m == 1)
    return gemv(context, !trans_b, trans_b ? n : k, trans_b ? k : n, &alpha, b, ldb, a, trans_a ? lda : 1L, &beta,
                beta != 0, c, 1L);
  if (n == 1)
    return gemv(context, trans_a, trans_a ? k : m, trans_a ? m : k, &alpha, a, lda, b, trans_b ? 1L : ldb, &beta,
                beta != 0, c, ldc);
  long a_columns = trans_a ? m : k, b_columns = trans_b ? k : n;
  if (k == 1) {  // one of the operands may be a single row: its leading dimension says nothing
    if (trans_a) lda = a_columns;
    if (!trans_b) ldb = b_columns;
  }
  Gemm<T> g{{a, lda, trans_a != 0}, {b, ldb, trans_b != 0}, alpha, beta, c, ldc};
  if (lda < a_columns || ldb < b_columns || ldc < n || !fit_int(m, n, k, lda, ldb, ldc)) return plain_gemm(g, m, n, k);
  if (alpha == 0) scale(c, ldc, m, n, beta);
  detail::GemmGrid grid = detail::gemm_grid(m, n, k, context->threads);
  Partition rows(m, 1, kUnit, grid.row_pieces), columns(n, 1, kUnit, grid.column_pieces);
  run_pieces(rows.pieces() * columns.pieces(), [&](int piece) {
    int i = piece / columns.pieces(), j = piece % columns.pieces();
    const long height = rows.end(i) - rows.begin(i), width = columns.end(j) - columns.begin(j);
    if (alpha == 0) return add_zero_times_product(g, rows.begin(i), columns.begin(j), height, width, k);
    gemm_piece(g, rows.begin(i), columns.begin(j), height, width, k);
  });
}

/// Matrices are shared among threads; where they are few and large, all threads compute each.
template <class T>
void batched_gemm(ThContext* context, TH_BATCHED_GEMM_PARAMETERS(T)) {
  const double flops = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  const long count = outer * inner;
  const bool is_shared = count >= context->threads;
  ThContext of_piece = *context;
  if (is_shared) of_piece.threads = 1;
  const double work = flops * static_cast<double>(count);
  const Partition partition(count, 1, 1, is_shared ? pieces_for(work, kGemmFlopsOfPiece, context->threads) : 1);
  run_pieces(partition.pieces(), [&](int piece) {
    ThContext own = of_piece;
    for (long i = partition.begin(piece); i < partition.end(piece); ++i) {
      const long far = i / inner, near = i % inner;
      gemm(&own, trans_a, trans_b, m, n, k, alpha_at, a + far * a_outer + near * a_inner, lda,
           b + far * b_outer + near * b_inner, ldb, beta_at, reads_c, c + far * c_outer + near * c_inner, ldc);
    }
  });
}

/// BLAS counts a negative increment from the other end.
template <class T>
T* blas_start(T* first, long length, long increment) {
  return increment < 0 ? first + (length - 1) * increment : first;
}

template <class T>
void plain_gemv(int trans, long m, long n, T alpha, const T* a, long lda, const T* x, long incx, T* y, long incy) {
  for (long i = 0; i < (trans ? n : m); ++i) {
    T sum = 0;
    for (long p = 0; p < (trans ? m : n); ++p) sum += a[trans ? p * lda + i : i * lda + p] * x[p * incx];
    y[i * incy] += alpha * sum;
  }
}

// Of the sums that threads have for themselves: a stack of 64 KB.
template <class T>
constexpr long kSums = (64 << 10) / static_cast<long>(sizeof(T));

template <class T>
long whole_lines(long n) {
  constexpr long kLine = 64 / static_cast<long>(sizeof(T));
  return (n + kLine - 1) / kLine * kLine;
}

/// y += x A, the rows of A shared out: loops that update A, and ger, share them out so too, and what a thread wrote is
/// in its cache. A cut of the columns lets two of them have parts of each row, and the lines around the cut go to and
/// fro. part(row, rows, to, to_inc) adds what those rows give; sums of the pieces are added in order.
template <class T, class Part>
void by_rows(const Partition& rows, long n, T* y, long incy, Part part) {
  alignas(64) T sums[kSums<T>];
  const long stride = whole_lines<T>(n);
  run_pieces(rows.pieces(), [&](int piece) {
    const long begin = rows.begin(piece), count = rows.end(piece) - begin;
    if (piece == 0) return part(begin, count, y, incy);
    T* const own = sums + (piece - 1) * stride;
    std::fill(own, own + n, T(0));
    part(begin, count, own, 1L);
  });
  for (int piece = 1; piece < rows.pieces(); ++piece)
    for (long j = 0; j < n; ++j) y[j * incy] += sums[(piece - 1) * stride + j];
}

template <class T>
void gemv(ThContext* context, TH_GEMV_PARAMETERS(T)) {
  const int trans = trans_a;
  long length = trans ? n : m, inner = trans ? m : n;
  if (length <= 0) return;
  const T alpha = *alpha_at;
  scale(y, incy, length, 1, beta_of_blas(*beta_at, reads_y, y, incy, length, 1));
  if (inner <= 0) return add_zero_times(alpha, y, incy, length, 1);
  if (m == 1) lda = n;
  if (length == 1) incy = 1;
  if (inner == 1) incx = 1;
  if (alpha == 0 || incx == 0 || incy == 0 || lda < n || !fit_int(m, n, lda, incx, incy))
    return plain_gemv(trans, m, n, alpha, a, lda, x, incx, y, incy);
  int pieces = pieces_for(static_cast<double>(m) * static_cast<double>(n), kEntriesOfPiece, context->threads);
  auto product = [&](long row, long column, long rows, long columns, const T* from, T* to, long to_inc) {
    gemv_of<T>(blas())(kCblasRowMajor, transpose(trans), static_cast<int>(rows), static_cast<int>(columns), alpha,
                       a + row * lda + column, static_cast<int>(lda), blas_start(from, trans ? rows : columns, incx),
                       static_cast<int>(incx), T(1), blas_start(to, trans ? columns : rows, to_inc),
                       static_cast<int>(to_inc));
  };
  if (trans && Partition(m, 1, 1, pieces).pieces() > 1 && (pieces - 1) * whole_lines<T>(n) <= kSums<T>)
    return by_rows<T>(Partition(m, 1, 1, pieces), n, y, incy, [&](long row, long rows, T* to, long to_inc) {
      product(row, 0, rows, n, x + row * incx, to, to_inc);
    });
  Partition partition(length, 1, trans ? kUnit : 1, pieces);
  run_pieces(partition.pieces(), [&](int piece) {
    const long begin = partition.begin(piece), count = partition.end(piece) - begin;
    if (trans)
      product(0, begin, m, count, x, y + begin * incy, incy);
    else
      product(begin, 0, count, n, x, y + begin * incy, incy);
  });
}

template <class T>
void ger(ThContext* context, TH_GER_PARAMETERS(T)) {
  if (m <= 0 || n <= 0) return;
  const T alpha = *alpha_at;
  if (m == 1) {
    lda = n;
    incx = 1;
  }
  if (n == 1) incy = 1;
  if (alpha == 0 || incx == 0 || incy == 0 || lda < n || !fit_int(m, n, lda, incx, incy)) {
    for (long i = 0; i < m; ++i)
      for (long j = 0; j < n; ++j) a[i * lda + j] += alpha * x[i * incx] * y[j * incy];
    return;
  }
  int pieces = pieces_for(static_cast<double>(m) * static_cast<double>(n), kEntriesOfPiece, context->threads);
  Partition partition(m, 1, 1, pieces);
  run_pieces(partition.pieces(), [&](int piece) {
    long begin = partition.begin(piece), count = partition.end(piece) - begin;
    ger_of<T>(blas())(kCblasRowMajor, static_cast<int>(count), static_cast<int>(n), alpha,
                      blas_start(x + begin * incx, count, incx), static_cast<int>(incx), blas_start(y, n, incy),
                      static_cast<int>(incy), a + begin * lda, static_cast<int>(lda));
  });
}

}  // namespace

detail::GemmGrid detail::gemm_grid(long m, long n, long k, int threads) {
  // A piece of rows x columns costs its multiplications, and the copies of its two operands: about 12 multiplications
  // an element (fitted to [60, 784] x [784, 500] and its kind, whose best cuts it gives).
  constexpr double kCopy = 12;
  auto longest = [](long length, int pieces) {
    Partition partition(length, 1, kUnit, pieces);
    long most = 0;
    for (int piece : {0, partition.pieces() - 1}) most = std::max(most, partition.end(piece) - partition.begin(piece));
    return static_cast<double>(most);
  };
  double flops = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  int pieces = pieces_for(flops, kGemmFlopsOfPiece, threads);
  GemmGrid best;
  double least = INFINITY;
  for (int row_pieces = 1; row_pieces <= pieces; ++row_pieces) {
    int column_pieces = pieces / row_pieces;
    double rows = longest(m, row_pieces), columns = longest(n, column_pieces);
    double cost = rows * columns + kCopy * (rows + columns);
    if (cost < least) {
      least = cost;
      best = {Partition(m, 1, kUnit, row_pieces).pieces(), Partition(n, 1, kUnit, column_pieces).pieces()};
    }
  }
  return best;
}

const MatrixProducts& matrix_products() {
  blas();  // a missing library is reported here, where an exception may pass
  static const MatrixProducts all{gemm<float>, gemm<double>, batched_gemm<float>, batched_gemm<double>,
                                  gemv<float>, gemv<double>, ger<float>,          ger<double>};
  return all;
}

NamedFunctions blas_functions() {
  auto function = [](auto MatrixProducts::*member) {
    return [member]() -> std::optional<LibraryImplementation> {
      return LibraryImplementation{reinterpret_cast<void*>(matrix_products().*member),
                                   str(blas().version, " ", blas().corename)};
    };
  };
  using P = MatrixProducts;
  return {{"gemm_f32", function(&P::gemm_f32)},
          {"gemm_f64", function(&P::gemm_f64)},
          {"batched_gemm_f32", function(&P::batched_gemm_f32)},
          {"batched_gemm_f64", function(&P::batched_gemm_f64)},
          {"gemv_f32", function(&P::gemv_f32)},
          {"gemv_f64", function(&P::gemv_f64)},
          {"ger_f32", function(&P::ger_f32)},
          {"ger_f64", function(&P::ger_f64)}};
}

}  // namespace thtrain
