// QR factorizations, eigenvalues and singular values by LAPACK.
#include <atomic>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "compiler/libraries/blocked_factors.h"
#include "compiler/libraries/lapack.h"
#include "compiler/libraries/lapack_parts.h"
#include "compiler/ops/factor/eigenvalue_order.h"
#include "compiler/ops/factor/factor_functions.h"
#include "compiler/ops/factor/leading.h"

namespace thtrain {
namespace {

template <class T>
constexpr bool kIsComplex = !std::is_same_v<T, Real<T>>;

/// The entries for T; those of complex matrices have workspaces of real numbers, too, or other names.
template <class T>
struct Decompositions {
  using Geqrf = void(const int* m, const int* n, T* a, const int* lda, T* tau, T* work, const int* lwork, int* info);
  using Orgqr = void(const int* m, const int* n, const int* k, T* a, const int* lda, const T* tau, T* work,
                     const int* lwork, int* info);
  using Syevd = void(const char* job, const char* triangle, const int* n, T* a, const int* lda, T* w, T* work,
                     const int* lwork, int* iwork, const int* liwork, int* info, size_t, size_t);
  using Heevd = void(const char* job, const char* triangle, const int* n, T* a, const int* lda, Real<T>* w, T* work,
                     const int* lwork, Real<T>* rwork, const int* lrwork, int* iwork, const int* liwork, int* info,
                     size_t, size_t);
  using Gesdd = void(const char* job, const int* m, const int* n, T* a, const int* lda, T* s, T* u, const int* ldu,
                     T* vt, const int* ldvt, T* work, const int* lwork, int* iwork, int* info, size_t);
  using ComplexGesdd = void(const char* job, const int* m, const int* n, T* a, const int* lda, Real<T>* s, T* u,
                            const int* ldu, T* vt, const int* ldvt, T* work, const int* lwork, Real<T>* rwork,
                            int* iwork, int* info, size_t);
  using Geev = void(const char* left, const char* right, const int* n, T* a, const int* lda, T* re, T* im, T* vl,
                    const int* ldvl, T* vr, const int* ldvr, T* work, const int* lwork, int* info, size_t, size_t);
  using ComplexGeev = void(const char* left, const char* right, const int* n, T* a, const int* lda, T* w, T* vl,
                           const int* ldvl, T* vr, const int* ldvr, T* work, const int* lwork, Real<T>* rwork,
                           int* info, size_t, size_t);
  Geqrf* geqrf;
  Orgqr* orgqr;
  std::conditional_t<kIsComplex<T>, Heevd, Syevd>* eigh;
  std::conditional_t<kIsComplex<T>, ComplexGesdd, Gesdd>* gesdd;
  std::conditional_t<kIsComplex<T>, ComplexGeev, Geev>* geev;
};

template <class T>
const Decompositions<T>& decompositions() {
  static const Decompositions<T> functions = [] {
    find_blocked_factors<T>();
    Decompositions<T> out;
    const auto find = [](auto*& entry, const char* name) {
      using Function = std::remove_pointer_t<std::remove_reference_t<decltype(entry)>>;
      entry = blas().lapack<Function>(str(lapack_letter<T>(), name).c_str());
    };
    find(out.geqrf, "geqrf_");
    find(out.orgqr, kIsComplex<T> ? "ungqr_" : "orgqr_");
    find(out.eigh, kIsComplex<T> ? "heevd_" : "syevd_");
    find(out.gesdd, "gesdd_");
    find(out.geev, "geev_");
    return out;
  }();
  return functions;
}

template <class T>
int length_of(const T& wanted) {
  return static_cast<int>(std::real(wanted));
}

/// Of one matrix after the other, with the workspaces, which the first one sizes.
template <class T>
class Solver {
 public:
  /// The eigenvalues of the matrix whose lower triangle is in a, row-major; a becomes its eigenvectors, by columns.
  int eigh(bool wants_vectors, int n, T* a, Real<T>* w) {
    const char* const job = wants_vectors ? "V" : "N";
    int status = 0;
    const auto call = [&](T* work, int length, Real<T>* reals, int of_reals, int* integers, int of_integers) {
      if constexpr (kIsComplex<T>)
        decompositions<T>().eigh(job, "U", &n, a, &n, w, work, &length, reals, &of_reals, integers, &of_integers,
                                 &status, 1, 1);
      else
        decompositions<T>().eigh(job, "U", &n, a, &n, w, work, &length, integers, &of_integers, &status, 1, 1);
    };
    if (work_.empty()) {
      T wanted{};
      Real<T> reals{};
      int integers = 0;
      call(&wanted, -1, &reals, -1, &integers, -1);
      work_.resize(static_cast<size_t>(length_of(wanted)));
      reals_.resize(static_cast<size_t>(reals));
      integers_.resize(static_cast<size_t>(integers));
    }
    call(work_.data(), size(work_), reals_.data(), size(reals_), integers_.data(), size(integers_));
    return status;
  }

  /// Of a, which has `columns` columns of `rows` elements, rows <= columns: u [rows, rows] and vt [rows, columns].
  int svd(bool wants_vectors, int rows, int columns, T* a, Real<T>* s, T* u, T* vt) {
    const char* const job = wants_vectors ? "S" : "N";
    int status = 0;
    const auto call = [&](T* work, int length) {
      if constexpr (kIsComplex<T>)
        decompositions<T>().gesdd(job, &rows, &columns, a, &rows, s, u, &rows, vt, &rows, work, &length, reals_.data(),
                                  integers_.data(), &status, 1);
      else
        decompositions<T>().gesdd(job, &rows, &columns, a, &rows, s, u, &rows, vt, &rows, work, &length,
                                  integers_.data(), &status, 1);
    };
    if (work_.empty()) {
      const auto k = static_cast<size_t>(rows);
      integers_.resize(8 * k);
      if (kIsComplex<T>) reals_.resize(std::max(5 * k * k + 7 * k, 2 * k * (static_cast<size_t>(columns) + k) + k));
      T wanted{};
      call(&wanted, -1);
      work_.resize(static_cast<size_t>(length_of(wanted)));
    }
    call(work_.data(), size(work_));
    return status;
  }

  /// Of a, by columns; re and im have the parts of the eigenvalues of a real matrix, re those of a complex one.
  int eig(bool wants_vectors, int n, T* a, T* re, T* im, T* vectors) {
    const char* const job = wants_vectors ? "V" : "N";
    const int one = 1;
    int status = 0;
    const auto call = [&](T* work, int length) {
      if constexpr (kIsComplex<T>)
        decompositions<T>().geev("N", job, &n, a, &n, re, nullptr, &one, vectors, &n, work, &length, reals_.data(),
                                 &status, 1, 1);
      else
        decompositions<T>().geev("N", job, &n, a, &n, re, im, nullptr, &one, vectors, &n, work, &length, &status, 1, 1);
    };
    if (work_.empty()) {
      if (kIsComplex<T>) reals_.resize(2 * static_cast<size_t>(n));
      T wanted{};
      call(&wanted, -1);
      work_.resize(static_cast<size_t>(length_of(wanted)));
    }
    call(work_.data(), size(work_));
    return status;
  }

 private:
  template <class U>
  static int size(const std::vector<U>& work) {
    return static_cast<int>(work.size());
  }
  std::vector<T> work_;
  std::vector<Real<T>> reals_;
  std::vector<int> integers_;
};

template <class T>
bool are_finite(const T* x, long count) {
  for (long i = 0; i < count; ++i)
    if (!std::isfinite(std::real(x[i])) || !std::isfinite(std::imag(x[i]))) return false;
  return true;
}

template <class T>
void qr(ThContext* context, TH_QR_PARAMETERS(Real<T>)) {
  if (n == 0) return;
  const int rows = static_cast<int>(m), columns = static_cast<int>(n);
  const double work = 2 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(n);
  share(context, count, work, [&](long first, long last) {
    std::vector<T> x(static_cast<size_t>(m * n)), tau(static_cast<size_t>(n));  // x by columns
    int length = -1, status = 0;
    T wanted[2] = {};
    decompositions<T>().geqrf(&rows, &columns, nullptr, &rows, tau.data(), wanted, &length, &status);
    decompositions<T>().orgqr(&rows, &columns, &columns, nullptr, &rows, tau.data(), wanted + 1, &length, &status);
    length = std::max(length_of(wanted[0]), length_of(wanted[1]));
    std::vector<T> room(static_cast<size_t>(length));
    const bool is_blocked = is_for_all_threads(context, count, work);
    for (long i = first; i < last; ++i) {
      T* const upper = elements<T>(r) + i * n * n;
      transpose(context->threads, elements<T>(a) + i * m * n, x.data(), m, n);
      if (is_blocked)
        blocked_qr(context->threads, rows, columns, x.data(), tau.data());
      else
        decompositions<T>().geqrf(&rows, &columns, x.data(), &rows, tau.data(), room.data(), &length, &status);
      std::vector<T> signs(static_cast<size_t>(n), T(1));
      for (long j = 0; j < n; ++j) {
        const T diagonal = x[static_cast<size_t>(j * m + j)];
        const auto size = std::abs(diagonal);
        T& sign = signs[static_cast<size_t>(j)];
        if (size > 0) sign = diagonal / size;
        T of_r = sign;
        if constexpr (kIsComplex<T>) of_r = std::conj(sign);
        std::fill_n(upper + j * n, j, T(0));
        upper[j * n + j] = size;
        for (long k = j + 1; k < n; ++k) upper[j * n + k] = of_r * x[static_cast<size_t>(k * m + j)];
      }
      if (is_blocked)
        blocked_q(context->threads, rows, columns, x.data(), tau.data());
      else
        decompositions<T>().orgqr(&rows, &columns, &columns, x.data(), &rows, tau.data(), room.data(), &length,
                                  &status);
      for (long j = 0; j < n; ++j)
        if (const T sign = signs[static_cast<size_t>(j)]; sign != T(1))
          for (T* at = x.data() + j * m; at != x.data() + (j + 1) * m; ++at) *at *= sign;
      transpose(context->threads, x.data(), elements<T>(q) + i * m * n, n, m);
    }
  });
}

template <class T>
int eigh(ThContext* context, TH_EIGH_PARAMETERS(Real<T>)) {
  const int rows = static_cast<int>(n);
  std::atomic<int> failed = 0;
  share(context, n == 0 ? 0 : count, 4 * cube(n), [&](long first, long last) {
    Solver<T> solver;
    std::vector<T> copy(wants_vectors ? 0 : static_cast<size_t>(n * n));
    for (long m = first; m < last; ++m) {
      T* const x = wants_vectors ? elements<T>(vectors) + m * n * n : copy.data();
      std::copy_n(elements<T>(a) + m * n * n, n * n, x);
      bool is_finite = true;
      for (long i = 0; i < n; ++i) is_finite = is_finite && are_finite(x + i * n, i + 1);
      const int status = is_finite ? solver.eigh(wants_vectors != 0, rows, x, values + m * n) : 1;
      if (status != 0) {
        context->fail(context, check, status, m);
        failed = 1;
        return;
      }
      if (!wants_vectors) continue;
      for (long j = 0; j < n; ++j) {
        if constexpr (kIsComplex<T>)
          for (long i = 0; i < n; ++i) x[j * n + i] = std::conj(x[j * n + i]);
        make_leading_positive(x + j * n, n, 1);
      }
      transpose_in_place(context->threads, x, n);
    }
  });
  return failed;
}

// What LAPACK sees by columns is a^T = u' . s . vt', so that u = vt'^T and vh = u'^T, and both lie where they belong.
template <class T>
int svd(ThContext* context, TH_SVD_PARAMETERS(Real<T>)) {
  const int rows = static_cast<int>(n), columns = static_cast<int>(m);
  std::atomic<int> failed = 0;
  const double work = 4 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(n);
  share(context, n == 0 ? 0 : count, work, [&](long first, long last) {
    Solver<T> solver;
    std::vector<T> copy(static_cast<size_t>(m * n));
    for (long i = first; i < last; ++i) {
      std::copy_n(elements<T>(a) + i * m * n, m * n, copy.data());
      T *const left = wants_vectors ? elements<T>(u) + i * m * n : nullptr, *const right =
                                                                                wants_vectors
                                                                                    ? elements<T>(vh) + i * n * n
                                                                                    : nullptr;
      int status = 1;
      if (are_finite(copy.data(), m * n))
        status = solver.svd(wants_vectors != 0, rows, columns, copy.data(), s + i * n, right, left);
      if (status != 0) {
        context->fail(context, check, status, i);
        failed = 1;
        return;
      }
      for (long j = 0; j < n && wants_vectors; ++j) {
        const T sign = make_leading_positive(left + j, m, n);
        if (sign != T(1))
          for (long k = 0; k < n; ++k) right[j * n + k] *= sign;
      }
    }
  });
  return failed;
}

template <class T>
int eig_of(ThContext* context, TH_EIG_PARAMETERS(Real<T>)) {
  using Complex = std::complex<Real<T>>;
  (void)is_complex;
  const int rows = static_cast<int>(n);
  const auto length = static_cast<size_t>(n), square = length * length;
  std::atomic<int> failed = 0;
  share(context, n == 0 ? 0 : count, 10 * cube(n), [&](long first, long last) {
    Solver<T> solver;
    std::vector<T> copy(square), re(length), im(length), found(wants_vectors ? square : 1);
    std::vector<Complex> w(length);
    for (long m = first; m < last; ++m) {
      std::copy_n(elements<T>(a) + m * n * n, n * n, copy.data());
      transpose_in_place(context->threads, copy.data(), n);
      const int status = are_finite(copy.data(), n * n)
                             ? solver.eig(wants_vectors != 0, rows, copy.data(), re.data(), im.data(), found.data())
                             : 1;
      if (status != 0) {
        context->fail(context, check, status, m);
        failed = 1;
        return;
      }
      for (size_t j = 0; j < length; ++j) {
        if constexpr (kIsComplex<T>)
          w[j] = re[j];
        else
          w[j] = {re[j], im[j]};
      }
      const std::vector<int64_t> order = order_of_eigenvalues(w.data(), n);
      auto* const out = reinterpret_cast<Complex*>(values) + m * n;
      for (long j = 0; j < n; ++j) out[j] = w[static_cast<size_t>(order[static_cast<size_t>(j)])];
      if (!wants_vectors) continue;
      // Of a pair of conjugates the first has its parts in two columns.
      auto* const columns = reinterpret_cast<Complex*>(vectors) + m * n * n;
      for (long j = 0; j < n; ++j) {
        const auto from = static_cast<size_t>(order[static_cast<size_t>(j)]);
        const bool is_second = w[from].imag() < 0;
        for (size_t i = 0; i < length; ++i) {
          Complex x;
          if constexpr (kIsComplex<T>)
            x = found[from * length + i];
          else if (w[from].imag() == 0)
            x = found[from * length + i];
          else
            x = {found[(from - is_second) * length + i],
                 is_second ? -found[from * length + i] : found[(from + 1) * length + i]};
          columns[static_cast<long>(i) * n + j] = x;
        }
        make_leading_positive(columns + j, n, n);
      }
    }
  });
  return failed;
}

template <class T>
int eig(ThContext* context, TH_EIG_PARAMETERS(T)) {
  if (is_complex) return eig_of<std::complex<T>>(context, count, n, 1, wants_vectors, a, values, vectors, check);
  return eig_of<T>(context, count, n, 0, wants_vectors, a, values, vectors, check);
}

template <class T>
void find_all() {
  decompositions<T>();
  decompositions<std::complex<T>>();
}

template <class T>
void add_functions_of(NamedFunctions& out, DType dtype) {
  out[factor_function_name("qr", dtype)] = lapack_function(decompositions<T>, qr<T>);
  out[factor_function_name("eigh", dtype)] = lapack_function(decompositions<T>, eigh<T>);
  out[factor_function_name("svd", dtype)] = lapack_function(decompositions<T>, svd<T>);
  if constexpr (!kIsComplex<T>) out[factor_function_name("eig", dtype)] = lapack_function(find_all<T>, eig<T>);
}

}  // namespace

NamedFunctions decomposition_functions() {
  NamedFunctions out;
  add_functions_of<float>(out, DType::kFloat32);
  add_functions_of<double>(out, DType::kFloat64);
  add_functions_of<std::complex<float>>(out, DType::kComplex64);
  add_functions_of<std::complex<double>>(out, DType::kComplex128);
  return out;
}

}  // namespace thtrain
