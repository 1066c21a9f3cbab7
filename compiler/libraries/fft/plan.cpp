#include "compiler/libraries/fft/plan.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace thtrain::fft {
namespace {

constexpr long kBytesOfFactors = 512 << 10;  // of a row: more are computed from two tables
constexpr long kBytesOfBlock = 256 << 10;    // of vectors that a sweep works on: they stay in the second cache

std::vector<int> radices_of(long n) {
  std::vector<int> small, large;
  int twos = 0;
  for (; n % 2 == 0; n /= 2) ++twos;
  // Eights and fours, and no two where that is possible.
  for (; twos > 4 || twos == 3; twos -= 3) small.push_back(8);
  for (; twos >= 2; twos -= 2) small.push_back(4);
  if (twos == 1) small.push_back(2);
  for (int prime : {7, 5, 3})
    for (; n % prime == 0; n /= prime) small.push_back(prime);
  for (int prime = 11; n > 1; prime += 2)
    for (; n % prime == 0; n /= prime) large.push_back(prime);
  std::vector<int> out;
  if (small.empty()) small.push_back(1);
  out.push_back(small.back());
  out.insert(out.end(), large.begin(), large.end());
  if (small.size() > 1)
    out.insert(out.end(), small.rbegin() + 1, small.rend());
  else
    out.push_back(1);
  return out;
}

}  // namespace

Root root_of(long k, long n) {
  // To an eighth of the circle, where sine and cosine are as good as their argument.
  k %= n;
  const int eighth = static_cast<int>(8 * k / n);
  long rest = 8 * k - eighth * n;  // of 8 n
  const bool from_above = eighth % 2 == 1;
  if (from_above) rest = n - rest;
  const long double angle =
      std::numbers::pi_v<long double> * static_cast<long double>(rest) / (4.0L * static_cast<long double>(n));
  long double re = std::cos(angle), im = std::sin(angle);
  if (eighth % 4 == 1 || eighth % 4 == 2) std::swap(re, im);
  if (eighth >= 2 && eighth < 6) re = -re;
  if (eighth >= 4) im = -im;
  return {re, -im};
}

bool is_smooth(long n) {
  for (long prime = 2; prime <= kLargestRadix; ++prime)
    while (n % prime == 0) n /= prime;
  return n == 1;
}

long convolution_length(long n) {
  // Twos, and at most one of three and five each: their passes are the fastest.
  long best = std::numeric_limits<long>::max();
  for (long factor : {1L, 3L, 5L, 9L, 15L, 25L}) {
    long length = 64 * factor;
    while (length < 2 * n - 1) length *= 2;
    best = std::min(best, length);
  }
  return best;
}

template <class T>
Passes<T> passes_of(long n) {
  Passes<T> out;
  out.n = n;
  out.radices = radices_of(n);
  const size_t passes = out.radices.size();
  out.factors.resize(passes);
  out.roots.resize(passes);
  long length = n;
  for (size_t i = 0; i < passes; ++i) {
    const int radix = out.radices[i];
    const long stride = length / radix;
    for (long j = 0; j < stride; ++j)
      for (long p = 1; p < radix; ++p) {
        const Root root = root_of(p * j, length);
        out.factors[i].push_back(static_cast<T>(root.re));
        out.factors[i].push_back(static_cast<T>(root.im));
      }
    if (radix > 8) {
      for (int k = 0; k < radix; ++k) out.roots[i].push_back(static_cast<T>(root_of(k, radix).re));
      for (int k = 0; k < radix; ++k) out.roots[i].push_back(static_cast<T>(-root_of(k, radix).im));
    }
    length = stride;
  }
  out.position.resize(static_cast<size_t>(n));
  const int last = out.radices.back();
  out.first_of_block.resize(static_cast<size_t>(n / last));
  for (long at = 0; at < n; ++at) {
    long k = 0, weight = 1, rest = at, block = n;
    for (int radix : out.radices) {
      block /= radix;
      k += rest / block * weight;
      rest %= block;
      weight *= radix;
    }
    out.position[static_cast<size_t>(k)] = static_cast<int32_t>(at);
    if (at % last == 0) out.first_of_block[static_cast<size_t>(at / last)] = static_cast<int32_t>(k);
  }
  return out;
}

template <class T>
RowPlan<T> row_plan(long n, long lanes) {
  RowPlan<T> out;
  out.lanes = lanes;
  double best = std::numeric_limits<double>::infinity();
  for (long n1 = 1; n1 <= n; ++n1) {
    if (n % n1 != 0) continue;
    const long n2 = n / n1;
    auto whole = [&](long length) { return static_cast<double>((length + lanes - 1) / lanes * lanes); };
    // Work of vectors that are not full, and of blocks that leave the second cache.
    auto passes = [](long length) { return 1 + std::log2(static_cast<double>(length)); };
    double cost = whole(n2) * static_cast<double>(n1) * passes(n1) + whole(n1) * static_cast<double>(n2) * passes(n2);
    if (std::max(n1, n2) * lanes * 2 * static_cast<long>(sizeof(T)) > kBytesOfBlock)
      cost *= 1 + 0.2 * std::log2(static_cast<double>(std::max(n1, n2) * lanes * 2 * static_cast<long>(sizeof(T))) /
                                  kBytesOfBlock);
    cost *= 1 + 0.01 * std::abs(std::log2(static_cast<double>(n1) / static_cast<double>(n2)));
    if (cost < best) {
      best = cost;
      out.n1 = n1;
      out.n2 = n2;
    }
  }
  out.columns = passes_of<T>(out.n1);
  out.rows = passes_of<T>(out.n2);
  out.is_product = n * 2 * static_cast<long>(sizeof(T)) > kBytesOfFactors;
  auto add = [&](std::vector<T>& to, long k, long step) {
    const Root root = root_of(k, n);
    to[static_cast<size_t>(step)] = static_cast<T>(root.re);
    return static_cast<T>(root.im);
  };
  const long blocks = out.blocks_of_columns();
  if (out.is_product) {
    out.factors.resize(static_cast<size_t>(2 * blocks * out.n1));
    out.of_lanes.resize(static_cast<size_t>(2 * lanes * out.n1));
    for (long k = 0; k < out.n1; ++k) {
      for (long c = 0; c < blocks; ++c) {
        const long at = 2 * (c * out.n1 + k);
        out.factors[static_cast<size_t>(at + 1)] = add(out.factors, c * lanes * k, at);
      }
      for (long lane = 0; lane < lanes; ++lane) {
        const long at = 2 * lanes * k + lane;
        out.of_lanes[static_cast<size_t>(at + lanes)] = add(out.of_lanes, lane * k, at);
      }
    }
  } else {
    out.factors.resize(static_cast<size_t>(2 * blocks * out.n1 * lanes));
    for (long c = 0; c < blocks; ++c)
      for (long k = 0; k < out.n1; ++k)
        for (long lane = 0; lane < lanes; ++lane) {
          const long at = 2 * lanes * (c * out.n1 + k) + lane;
          out.factors[static_cast<size_t>(at + lanes)] = add(out.factors, (c * lanes + lane) * k, at);
        }
  }
  return out;
}

template Passes<float> passes_of(long n);
template Passes<double> passes_of(long n);
template RowPlan<float> row_plan(long n, long lanes);
template RowPlan<double> row_plan(long n, long lanes);

}  // namespace thtrain::fft
