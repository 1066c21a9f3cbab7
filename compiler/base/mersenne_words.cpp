#include "compiler/base/mersenne_words.h"

// Written once, and compiled for x86-64's baseline and for AVX2: integers and exact conversions, so the same bits.
#if defined(__x86_64__)
#define TH_FOR_AVX2 1
#endif

namespace thtrain {
namespace {

constexpr size_t kWords = 624, kMiddle = 397;
constexpr size_t kLanes = 8;
typedef uint32_t Words __attribute__((vector_size(32), aligned(4), may_alias));
typedef uint64_t Longs __attribute__((vector_size(32), aligned(4), may_alias));
typedef double Doubles __attribute__((vector_size(32), aligned(8), may_alias));
typedef float Floats __attribute__((vector_size(16), aligned(4), may_alias));

#define TH_ALWAYS_INLINE inline __attribute__((always_inline))

TH_ALWAYS_INLINE uint32_t twisted(uint32_t high, uint32_t low, uint32_t middle) {
  const uint32_t joined = (high & 0x80000000u) | (low & 0x7fffffffu);
  return middle ^ (joined >> 1) ^ ((low & 1u) ? 0x9908b0dfu : 0u);
}

// Words i to `end`, each from the word `middle` words later.
TH_ALWAYS_INLINE void twist_run(uint32_t* key, size_t i, size_t end, ptrdiff_t middle) {
  for (; i + kLanes <= end; i += kLanes) {
    const Words high = *reinterpret_cast<const Words*>(key + i), low = *reinterpret_cast<const Words*>(key + i + 1);
    const Words joined = (high & 0x80000000u) | (low & 0x7fffffffu);
    *reinterpret_cast<Words*>(key + i) = *reinterpret_cast<const Words*>(key + static_cast<ptrdiff_t>(i) + middle) ^
                                         (joined >> 1) ^ ((0u - (low & 1u)) & 0x9908b0dfu);
  }
  for (; i < end; ++i) key[i] = twisted(key[i], key[i + 1], key[static_cast<ptrdiff_t>(i) + middle]);
}

TH_ALWAYS_INLINE void twist(uint32_t* key) {
  constexpr ptrdiff_t kForward = kMiddle, kBack = static_cast<ptrdiff_t>(kMiddle) - static_cast<ptrdiff_t>(kWords);
  twist_run(key, 0, kWords - kMiddle, kForward);
  twist_run(key, kWords - kMiddle, kWords - 1, kBack);
  key[kWords - 1] = twisted(key[kWords - 1], key[0], key[kMiddle - 1]);
}

TH_ALWAYS_INLINE uint32_t tempered(uint32_t y) {
  y ^= y >> 11;
  y ^= (y << 7) & 0x9d2c5680u;
  y ^= (y << 15) & 0xefc60000u;
  return y ^ (y >> 18);
}

TH_ALWAYS_INLINE void temper_lanes(Words& y) {
  y ^= y >> 11;
  y ^= (y << 7) & 0x9d2c5680u;
  y ^= (y << 15) & 0xefc60000u;
  y ^= y >> 18;
}

TH_ALWAYS_INLINE void temper(const uint32_t* words, uint32_t* out, size_t count) {
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    Words y = *reinterpret_cast<const Words*>(words + i);
    temper_lanes(y);
    *reinterpret_cast<Words*>(out + i) = y;
  }
  for (; i < count; ++i) out[i] = tempered(words[i]);
}

// 27 bits of one word and 26 of the next. A number below 2^52 becomes a double by the exponent of 2^52 in its bits.
template <class T>
TH_ALWAYS_INLINE void uniforms(const uint32_t* words, double low_end, double range, T* out, size_t count) {
  constexpr size_t kPairs = kLanes / 2;
  size_t i = 0;
  for (; i + kPairs <= count; i += kPairs) {
    Words y = *reinterpret_cast<const Words*>(words + 2 * i);
    temper_lanes(y);
    const Longs pairs = (Longs)y;
    constexpr uint64_t kExponent = 0x4330000000000000u;
    constexpr double kTwoTo52 = 4503599627370496.0;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    const Longs first = (pairs & 0xffffffffu) >> 5, second = pairs >> 38;
#else
    const Longs first = pairs >> 37, second = (pairs & 0xffffffffu) >> 6;
#endif
    const Doubles high = (Doubles)(first | kExponent) - kTwoTo52, low = (Doubles)(second | kExponent) - kTwoTo52;
    const Doubles value = low_end + range * ((high * 67108864.0 + low) * (1.0 / 9007199254740992.0));
    if constexpr (sizeof(T) == sizeof(double))
      *reinterpret_cast<Doubles*>(out + i) = value;
    else
      *reinterpret_cast<Floats*>(out + i) = __builtin_convertvector(value, Floats);
  }
  for (; i < count; ++i) {
    const uint32_t high = tempered(words[2 * i]) >> 5, low = tempered(words[2 * i + 1]) >> 6;
    out[i] = static_cast<T>(low_end + range * ((high * 67108864.0 + low) / 9007199254740992.0));
  }
}

#ifdef TH_FOR_AVX2
// Upper halves of registers that hold something make every later SSE instruction slow: 30 times a logarithm's time was
// measured. g++ clears them by itself from -O2 on.
__attribute__((target("avx2"))) void twist_avx2(uint32_t* key) {
  twist(key);
  __builtin_ia32_vzeroupper();
}
__attribute__((target("avx2"))) void temper_avx2(const uint32_t* words, uint32_t* out, size_t count) {
  temper(words, out, count);
  __builtin_ia32_vzeroupper();
}
template <class T>
__attribute__((target("avx2"))) void uniforms_avx2(const uint32_t* words, double low, double range, T* out,
                                                   size_t count) {
  uniforms(words, low, range, out, count);
  __builtin_ia32_vzeroupper();
}
bool has_avx2() {
  static const bool has = __builtin_cpu_supports("avx2");
  return has;
}
#endif

}  // namespace

void mersenne_twist(uint32_t* key) {
#ifdef TH_FOR_AVX2
  if (has_avx2()) return twist_avx2(key);
#endif
  twist(key);
}

void mersenne_temper(const uint32_t* words, uint32_t* out, size_t count) {
#ifdef TH_FOR_AVX2
  if (has_avx2()) return temper_avx2(words, out, count);
#endif
  temper(words, out, count);
}

template <class T>
static void any_uniforms(const uint32_t* words, double low, double range, T* out, size_t count) {
#ifdef TH_FOR_AVX2
  if (has_avx2()) return uniforms_avx2(words, low, range, out, count);
#endif
  uniforms(words, low, range, out, count);
}

void mersenne_uniforms(const uint32_t* words, double low, double range, double* out, size_t count) {
  any_uniforms(words, low, range, out, count);
}

void mersenne_uniforms(const uint32_t* words, double low, double range, float* out, size_t count) {
  any_uniforms(words, low, range, out, count);
}

}  // namespace thtrain
