// Factorizations of one large matrix by several threads: LAPACK's blocked algorithms, with its own entries for the
// panels. Matrices are stored by columns; T is float, double or a complex number of them.
#pragma once

namespace thtrain {

/// Finds the entries, when a program is made, where an exception may pass.
template <class T>
void find_blocked_factors();

/// l of a = l . l^H, in a's lower triangle; what is above the diagonal may be overwritten. LAPACK's status: the first
/// pivot that is not positive, counted from 1, or 0.
template <class T>
int blocked_cholesky(int threads, int n, T* a);

/// l and u, with LAPACK's pivots [n].
template <class T>
void blocked_lu(int threads, int n, T* a, int* pivots);

/// Householder's vectors of a [m, n], m >= n, below its diagonal, and r above them, with their factors tau [n].
template <class T>
void blocked_qr(int threads, int m, int n, T* a, T* tau);
/// What they make of a: q [m, n].
template <class T>
void blocked_q(int threads, int m, int n, T* a, const T* tau);

}  // namespace thtrain
