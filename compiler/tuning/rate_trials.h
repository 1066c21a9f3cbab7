// What kernels cost on this machine: what is measured once, before the first program is planned, for the choice among
// implementations and the shares of threads. docs/decisions/0013.
#pragma once

#include "compiler/kernel/target.h"

namespace thtrain {

/// Times short sequences of instructions of `target`, a BLAS's products and a thread that is woken, in about 0.03 s,
/// and compares their fastest rounds with a chain of additions, one a cycle. What cannot be measured stays as it is
/// without measuring: all of it but for x86-64 with multiply-adds and caches of known size; the library's where there
/// is none; the thread's where the process has one core.
kernel::KernelRates measure_kernel_rates(const kernel::Target& target);

namespace detail {

/// The nearest of 100 * 2^(k/4), in whole numbers, at least 1: two measurements that differ little give one number.
int rounded_rate(double hundredths);

}  // namespace detail

}  // namespace thtrain
