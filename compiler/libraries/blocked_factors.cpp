#include "compiler/libraries/blocked_factors.h"

#include <algorithm>
#include <atomic>
#include <complex>
#include <string>
#include <vector>

#include "compiler/libraries/lapack_parts.h"

namespace thtrain {
namespace {

// Columns of a panel: wide enough for products at full speed behind it, narrow enough that one thread is soon done.
constexpr int kColumnsOfPanel = 64;
// Of what a thread takes at once: enough for products at full speed, and few enough that all threads end together.
constexpr int kColumnsOfTile = 96;

template <class T>
struct Entries {
  using Potrf = void(const char* triangle, const int* n, T* a, const int* lda, int* info, size_t);
  using Getrf = void(const int* m, const int* n, T* a, const int* lda, int* pivots, int* info);
  using Laswp = void(const int* n, T* a, const int* lda, const int* first, const int* last, const int* pivots,
                     const int* step);
  using Trsm = void(const char* side, const char* triangle, const char* transposed, const char* diagonal, const int* m,
                    const int* n, const T* alpha, const T* a, const int* lda, T* b, const int* ldb, size_t, size_t,
                    size_t, size_t);
  using Gemm = void(const char* left, const char* right, const int* m, const int* n, const int* k, const T* alpha,
                    const T* a, const int* lda, const T* b, const int* ldb, const T* beta, T* c, const int* ldc, size_t,
                    size_t);
  using Geqrf = void(const int* m, const int* n, T* a, const int* lda, T* tau, T* work, const int* lwork, int* info);
  using Orgqr = void(const int* m, const int* n, const int* k, T* a, const int* lda, const T* tau, T* work,
                     const int* lwork, int* info);
  using Larft = void(const char* direction, const char* stored, const int* n, const int* k, const T* v, const int* ldv,
                     const T* tau, T* t, const int* ldt, size_t, size_t);
  using Larfb = void(const char* side, const char* transposed, const char* direction, const char* stored, const int* m,
                     const int* n, const int* k, const T* v, const int* ldv, const T* t, const int* ldt, T* c,
                     const int* ldc, T* work, const int* ldwork, size_t, size_t, size_t, size_t);
  Potrf* potrf;
  Getrf* getrf;
  Laswp* laswp;
  Trsm* trsm;
  Gemm* gemm;
  Geqrf* geqrf;
  Orgqr* orgqr;
  Larft* larft;
  Larfb* larfb;
};

template <class T>
const Entries<T>& entries() {
  static const Entries<T> all = [] {
    Entries<T> out;
    const auto find = [](auto*& entry, const char* name) {
      using Function = std::remove_pointer_t<std::remove_reference_t<decltype(entry)>>;
      entry = blas().lapack<Function>(str(lapack_letter<T>(), name).c_str());
    };
    find(out.potrf, "potrf_");
    find(out.getrf, "getrf_");
    find(out.laswp, "laswp_");
    find(out.trsm, "trsm_");
    find(out.gemm, "gemm_");
    find(out.geqrf, "geqrf_");
    find(out.orgqr, std::is_same_v<T, Real<T>> ? "orgqr_" : "ungqr_");
    find(out.larft, "larft_");
    find(out.larfb, "larfb_");
    return out;
  }();
  return all;
}

template <class T>
constexpr const char* kAdjoint = std::is_same_v<T, Real<T>> ? "T" : "C";
template <class T>
const T kOne(1);
template <class T>
const T kMinusOne(-1);

// One thread makes the next panel, while the others take tiles; then it does, too. What is computed does not depend on
// who takes which.
template <class Panel, class Tile>
void run_step(int threads, int tiles, const Panel& panel, const Tile& tile) {
  std::atomic<int> next = 0;
  run_pieces(threads, [&](int piece) {
    if (piece == 0) panel(piece);
    for (int i = next++; i < tiles; i = next++) tile(piece, i);
  });
}

constexpr int tiles_of(int columns) {
  return (columns + kColumnsOfTile - 1) / kColumnsOfTile;
}

template <class T>
T* element(T* a, int lda, int row, int column) {
  return a + row + static_cast<size_t>(column) * static_cast<size_t>(lda);
}

// Householder's vectors of a panel [rows, columns] in the columns of a matrix of m rows, applied to other columns.
template <class T>
class Reflections {
 public:
  explicit Reflections(int m) : t_(static_cast<size_t>(kColumnsOfPanel) * kColumnsOfPanel), m_(m) {}

  void of_panel(const T* v, int rows, int columns, const T* tau) {
    rows_ = rows;
    columns_ = columns;
    v_ = v;
    entries<T>().larft("F", "C", &rows, &columns, v, &m_, tau, t_.data(), &kLongest, 1, 1);
  }
  /// To columns of c, which begins in the panel's first row. Work: columns kColumnsOfPanel.
  void apply(const char* transposed, T* c, int columns, std::vector<T>& work) const {
    work.resize(static_cast<size_t>(columns) * kColumnsOfPanel);
    entries<T>().larfb("L", transposed, "F", "C", &rows_, &columns, &columns_, v_, &m_, t_.data(), &kLongest, c, &m_,
                       work.data(), &columns, 1, 1, 1, 1);
  }

 private:
  static constexpr int kLongest = kColumnsOfPanel;
  std::vector<T> t_;
  int m_, rows_ = 0, columns_ = 0;
  const T* v_ = nullptr;
};

}  // namespace

template <class T>
void find_blocked_factors() {
  entries<T>();
}

template <class T>
int blocked_cholesky(int threads, int n, T* a) {
  const auto at = [&](int row, int column) { return element(a, n, row, column); };
  // Its triangle, and the rows below.
  const auto factor = [&](int k, int width) {
    int status = 0;
    const int below = n - k - width;
    entries<T>().potrf("L", &width, at(k, k), &n, &status, 1);
    if (status != 0) return k + status;
    if (below > 0)
      entries<T>().trsm("R", "L", kAdjoint<T>, "N", &below, &width, &kOne<T>, at(k, k), &n, at(k + width, k), &n, 1, 1,
                        1, 1);
    return 0;
  };
  int status = factor(0, std::min(kColumnsOfPanel, n));
  for (int k = 0; k + kColumnsOfPanel < n && status == 0; k += kColumnsOfPanel) {
    const int next = k + kColumnsOfPanel, width = std::min(kColumnsOfPanel, n - next);
    const auto update = [&](int column, int columns) {
      const int rows = n - column;
      entries<T>().gemm("N", kAdjoint<T>, &rows, &columns, &kColumnsOfPanel, &kMinusOne<T>, at(column, k), &n,
                        at(column, k), &n, &kOne<T>, at(column, column), &n, 1, 1);
    };
    const auto make_panel = [&](int) {
      update(next, width);
      status = factor(next, width);
    };
    run_step(threads, tiles_of(n - next - width), make_panel, [&](int, int tile) {
      const int first = next + width + tile * kColumnsOfTile;
      update(first, std::min(kColumnsOfTile, n - first));
    });
  }
  return status;
}

template <class T>
void blocked_lu(int threads, int n, T* a, int* pivots) {
  const auto at = [&](int row, int column) { return element(a, n, row, column); };
  const auto factor = [&](int k, int width) {
    int status = 0;  // a pivot of 0 is no failure
    const int rows = n - k;
    entries<T>().getrf(&rows, &width, at(k, k), &n, pivots + k, &status);
    for (int i = k; i < k + width; ++i) pivots[i] += k;
  };
  factor(0, std::min(kColumnsOfPanel, n));
  for (int k = 0; k < n; k += kColumnsOfPanel) {
    const int of_panel = std::min(kColumnsOfPanel, n - k), next = k + of_panel,
              width = std::min(kColumnsOfPanel, n - next), below = n - next, first_row = k + 1, step = 1;
    const auto exchange_rows = [&](int column, int columns) {
      entries<T>().laswp(&columns, at(0, column), &n, &first_row, &next, pivots, &step);
    };
    const auto update = [&](int column, int columns) {
      exchange_rows(column, columns);
      entries<T>().trsm("L", "L", "N", "U", &of_panel, &columns, &kOne<T>, at(k, k), &n, at(k, column), &n, 1, 1, 1, 1);
      entries<T>().gemm("N", "N", &below, &columns, &of_panel, &kMinusOne<T>, at(next, k), &n, at(k, column), &n,
                        &kOne<T>, at(next, column), &n, 1, 1);
    };
    const auto make_panel = [&](int) {
      if (width == 0) return;
      update(next, width);
      factor(next, width);
    };
    const int tiles = tiles_of(n - next - width);
    run_step(threads, tiles + tiles_of(k), make_panel, [&](int, int tile) {
      const int first = next + width + tile * kColumnsOfTile, before = (tile - tiles) * kColumnsOfTile;
      if (tile < tiles)
        update(first, std::min(kColumnsOfTile, n - first));
      else
        exchange_rows(before, std::min(kColumnsOfTile, k - before));
    });
  }
}

template <class T>
void blocked_qr(int threads, int m, int n, T* a, T* tau) {
  std::vector<Reflections<T>> reflections(2, Reflections<T>(m));  // of a panel and of the next one
  std::vector<std::vector<T>> work(static_cast<size_t>(threads));
  const auto factor = [&](int k, int width) {
    std::vector<T> room(static_cast<size_t>(kColumnsOfPanel) * kColumnsOfPanel);
    const int rows = m - k, length = static_cast<int>(room.size());
    int status = 0;
    T* const v = element(a, m, k, k);
    entries<T>().geqrf(&rows, &width, v, &m, tau + k, room.data(), &length, &status);
    if (k + width < n) reflections[static_cast<size_t>(k / kColumnsOfPanel % 2)].of_panel(v, rows, width, tau + k);
  };
  factor(0, std::min(kColumnsOfPanel, n));
  for (int k = 0; k + kColumnsOfPanel < n; k += kColumnsOfPanel) {
    const int next = k + kColumnsOfPanel, width = std::min(kColumnsOfPanel, n - next);
    const auto update = [&](int piece, int column, int columns) {
      reflections[static_cast<size_t>(k / kColumnsOfPanel % 2)].apply(kAdjoint<T>, element(a, m, k, column), columns,
                                                                      work[static_cast<size_t>(piece)]);
    };
    const auto make_panel = [&](int piece) {
      update(piece, next, width);
      factor(next, width);
    };
    run_step(threads, tiles_of(n - next - width), make_panel, [&](int piece, int tile) {
      const int first = next + width + tile * kColumnsOfTile;
      update(piece, first, std::min(kColumnsOfTile, n - first));
    });
  }
}

template <class T>
void blocked_q(int threads, int m, int n, T* a, const T* tau) {
  Reflections<T> reflections(m);
  std::vector<std::vector<T>> work(static_cast<size_t>(threads));
  std::vector<T> v(static_cast<size_t>(m) * kColumnsOfPanel),
      room(static_cast<size_t>(kColumnsOfPanel) * kColumnsOfPanel);
  for (int k = (n - 1) / kColumnsOfPanel * kColumnsOfPanel; k >= 0; k -= kColumnsOfPanel) {
    const int width = std::min(kColumnsOfPanel, n - k), rows = m - k, next = k + width;
    T* const panel = element(a, m, k, k);
    std::copy_n(panel, static_cast<size_t>(m) * static_cast<size_t>(width) - static_cast<size_t>(k), v.data());
    reflections.of_panel(v.data(), rows, width, tau + k);
    const auto make_panel = [&](int) {
      const int length = static_cast<int>(room.size());
      int status = 0;
      entries<T>().orgqr(&rows, &width, &width, panel, &m, tau + k, room.data(), &length, &status);
    };
    run_step(threads, tiles_of(n - next), make_panel, [&](int piece, int tile) {
      const int first = next + tile * kColumnsOfTile, columns = std::min(kColumnsOfTile, n - first);
      for (int column = first; column < first + columns; ++column) std::fill_n(element(a, m, k, column), width, T(0));
      reflections.apply("N", element(a, m, k, first), columns, work[static_cast<size_t>(piece)]);
    });
  }
}

#define TH_BLOCKED_FACTORS(T)                                        \
  template void find_blocked_factors<T>();                           \
  template int blocked_cholesky(int threads, int n, T* a);           \
  template void blocked_lu(int threads, int n, T* a, int* pivots);   \
  template void blocked_qr(int threads, int m, int n, T* a, T* tau); \
  template void blocked_q(int threads, int m, int n, T* a, const T* tau);
TH_BLOCKED_FACTORS(float)
TH_BLOCKED_FACTORS(double)
TH_BLOCKED_FACTORS(std::complex<float>)
TH_BLOCKED_FACTORS(std::complex<double>)
#undef TH_BLOCKED_FACTORS

}  // namespace thtrain
