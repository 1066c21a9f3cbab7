// Tests of compiler/libraries/sort/: every length of few vectors, elements of every kind, rows and threads.
#include "compiler/libraries/sort/sort.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "compiler/base/str.h"
#include "compiler/codegen/entry_abi.h"
#include "compiler/libraries/sort/engine.h"
#include "compiler/ops/order/vector_sort.h"

namespace thtrain::sort_test {
namespace {

using vector_sort::Bits;
using vector_sort::Engine;

template <class T>
std::vector<const Engine<T>*> engines() {
  std::vector<const Engine<T>*> out;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) out.push_back(vector_sort::avx2_engine<T>());
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq"))
    out.push_back(vector_sort::avx512_engine<T>());
#endif
  std::erase(out, nullptr);
  return out;
}

template <class T>
std::string name() {
  return str("sort_", std::is_floating_point_v<T> ? "f" : "i", 8 * sizeof(T));
}

// The definition: stable, NaN larger than any number, as one NaN.
template <class T>
std::vector<T> sorted(std::vector<T> x, bool descending) {
  const auto is_less = [](T a, T b) { return a < b || (b != b && a == a); };
  std::stable_sort(x.begin(), x.end(), [&](T a, T b) { return descending ? is_less(b, a) : is_less(a, b); });
  for (T& element : x)
    if (element != element) element = std::bit_cast<T>(std::numeric_limits<Bits<T>>::max());
  return x;
}

struct Call {
  int lanes = 8, threads = 1;
  bool descending = false, is_unsigned = false;
  long grain = 1 << 20, rows = 1, n = 0, k = 0;
};

template <class T>
std::vector<T> call(const Call& c, const std::vector<T>& in) {
  constexpr size_t kBeyond = 3;
  const auto size = static_cast<size_t>(c.rows * c.k);
  std::vector<T> out(size + kBeyond, T(77)), work(2 * in.size());
  ThContext context{};
  context.threads = c.threads;
  const auto found = find_library_function(name<T>());
  reinterpret_cast<void (*)(ThContext*, TH_SORT_PARAMETERS)>(found->address)(
      &context, c.lanes, c.descending, c.is_unsigned, c.grain, c.rows, c.n, c.k, in.data(), work.data(), out.data());
  for (size_t i = size; i < out.size(); ++i) EXPECT_EQ(out[i], T(77)) << "written past the end";
  out.resize(size);
  return out;
}

enum Pattern { kRandom, kFew, kAscending, kDescending, kEqual, kPipe, kSpecial, kPatterns };

template <class T>
std::vector<T> elements(Pattern pattern, long n) {
  std::mt19937_64 random(static_cast<uint64_t>(n) + pattern);
  std::vector<T> out(static_cast<size_t>(n));
  for (long i = 0; i < n; ++i) {
    const auto any = static_cast<int64_t>(random());
    T x = std::is_floating_point_v<T> ? static_cast<T>(static_cast<double>(any) * 1e-10) : static_cast<T>(any);
    if (pattern == kFew) x = static_cast<T>(any % 4);
    if (pattern == kAscending) x = static_cast<T>(i);
    if (pattern == kDescending) x = static_cast<T>(n - i);
    if (pattern == kEqual) x = T(5);
    if (pattern == kPipe) x = static_cast<T>(std::min(i, n - i));
    if (pattern == kSpecial) {
      using Limits = std::numeric_limits<T>;
      const T special[] = {Limits::max(),         Limits::lowest(),    T(0),
                           static_cast<T>(-T(0)), Limits::infinity(),  -Limits::infinity(),
                           Limits::quiet_NaN(),   -Limits::quiet_NaN()};
      if (const auto which = static_cast<size_t>(random() % 16); which < std::size(special)) x = special[which];
    }
    out[static_cast<size_t>(i)] = x;
  }
  return out;
}

template <class T>
void expect_bits(const std::vector<T>& got, const T* want, const std::string& where) {
  for (size_t i = 0; i < got.size(); ++i)
    if (std::bit_cast<Bits<T>>(got[i]) != std::bit_cast<Bits<T>>(want[i])) {
      ADD_FAILURE() << where << ", element " << i << ": " << got[i] << ", not " << want[i];
      return;
    }
}

template <class T>
class VectorSort : public testing::Test {};
using Elements = testing::Types<float, double, int32_t, int64_t>;
TYPED_TEST_SUITE(VectorSort, Elements);

TYPED_TEST(VectorSort, OfEveryLength) {
  using T = TypeParam;
  for (const Engine<T>* engine : engines<T>())
    for (long n = 0; n <= 300; ++n)
      for (int pattern = 0; pattern < kPatterns; ++pattern)
        for (bool descending : {false, true}) {
          const std::vector<T> in = elements<T>(static_cast<Pattern>(pattern), n), want = sorted(in, descending);
          for (long k : {n, n / 3}) {
            const Call c{.lanes = engine->lanes, .descending = descending, .n = n, .k = k};
            expect_bits(call(c, in), want.data(),
                        str(engine->lanes, " lanes, ", n, ", pattern ", pattern, ", first ", k));
          }
        }
}

TYPED_TEST(VectorSort, OfRowsByThreads) {
  using T = TypeParam;
  for (const Engine<T>* engine : engines<T>())
    for (int pattern = 0; pattern < kPatterns; ++pattern)
      for (const auto& [rows, n, k] :
           {std::tuple{7L, 130L, 130L}, {9L, 70L, 20L}, {1L, 60001L, 60001L}, {2L, 30001L, 500L}})
        for (int threads : {1, 3}) {
          const std::vector<T> in = elements<T>(static_cast<Pattern>(pattern), rows * n);
          const Call c{.lanes = engine->lanes, .threads = threads, .grain = 100, .rows = rows, .n = n, .k = k};
          const std::vector<T> got = call(c, in);
          std::vector<T> want;
          for (long row = 0; row < rows; ++row) {
            const std::vector<T> all = sorted(std::vector<T>(in.begin() + row * n, in.begin() + (row + 1) * n), false);
            want.insert(want.end(), all.begin(), all.begin() + k);
          }
          expect_bits(got, want.data(), str(rows, " rows of ", n, ", pattern ", pattern, ", threads ", threads));
        }
}

TYPED_TEST(VectorSort, BadPivotsEndInHeapSort) {
  using T = TypeParam;
  for (const Engine<T>* engine : engines<T>())
    for (long n : {200L, 1000L, 5000L})
      for (int splits : {0, 1, 3}) {
        std::vector<T> keys = elements<T>(kRandom, n), work(keys.size());
        const std::vector<T> want = sorted(keys, false);
        engine->sort({keys.data(), work.data(), n, n}, {0, n}, splits);
        expect_bits(keys, want.data(), str(n, " after ", splits));
      }
}

TEST(VectorSortOfUnsigned, HasTheirOrder) {
  for (const Engine<int32_t>* engine : engines<int32_t>())
    for (bool descending : {false, true}) {
      const std::vector<int32_t> in{-1, 0, 5, std::numeric_limits<int32_t>::min(), 7};
      const std::vector<int32_t> ascending{0, 5, 7, std::numeric_limits<int32_t>::min(), -1};
      std::vector<int32_t> want = ascending;
      if (descending) std::reverse(want.begin(), want.end());
      const Call c{.lanes = engine->lanes, .descending = descending, .is_unsigned = true, .n = 5, .k = 5};
      EXPECT_EQ(call(c, in), want);
    }
}

// Numbers less than 2^32 apart are sorted as 32-bit ones.
TEST(VectorSortOfInt64, AtTheEndsOf32Bits) {
  for (const Engine<int64_t>* engine : engines<int64_t>())
    for (int64_t apart : {int64_t{1} << 31, (int64_t{1} << 32) - 1, int64_t{1} << 32, int64_t{-1}})
      for (int64_t least : {std::numeric_limits<int64_t>::min(), int64_t{-5}}) {
        std::vector<int64_t> in = elements<int64_t>(kRandom, 500);
        for (int64_t& x : in)
          x = least + (apart < 0 ? x & std::numeric_limits<int64_t>::max() : (x & 0xffffffff) % apart);
        in[7] = least + (apart < 0 ? 9 : apart);
        in[9] = least;
        for (bool descending : {false, true})
          for (long k : {500L, 90L}) {
            const Call c{.lanes = engine->lanes, .descending = descending, .n = 500, .k = k};
            expect_bits(call(c, in), sorted(in, descending).data(), str(least, " and ", apart));
          }
      }
}

}  // namespace
}  // namespace thtrain::sort_test
