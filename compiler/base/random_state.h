// The Mersenne Twister MT19937, seeded and read bit for bit as NumPy's RandomState seeds and reads it.
//
// M. Matsumoto, T. Nishimura, "Mersenne Twister: a 623-dimensionally equidistributed uniform pseudo-random number
// generator", ACM TOMACS 8(1), 1998. Normal numbers: the polar method (G. Marsaglia, T. A. Bray, SIAM Review 6(3),
// 1964). Initializers, shuffles and RandomStreams draw from it, so a model starts from the weights that a NumPy program
// starts from.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace thtrain {

// ---- random numbers ------------------------------------------------------------------------------------------------

/// A generator of random numbers. Copies are independent generators. Every method but the const ones moves the
/// generator on.
class RandomState {
 public:
  static constexpr size_t kWords = 624;
  static constexpr size_t kStateBytes = 4 * kWords + 16;
  static constexpr size_t kStateWords = kStateBytes / 4;

  /// What RandomState.get_state() holds.
  struct State {
    std::array<uint32_t, kWords> key{};
    int32_t position = kWords;  // words of `key` already used: 0 to 624
    bool has_gauss = false;     // normal() holds back the second number of a pair
    double gauss = 0;
    bool operator==(const State&) const = default;
  };

  /// np.random.RandomState(seed); UserError unless 0 <= seed < 2^32.
  explicit RandomState(int64_t seed);
  explicit RandomState(const State& state) : state_(state) {}
  /// np.random.RandomState(list of words); UserError where there is none, or one is not in [0, 2^32).
  explicit RandomState(std::span<const int64_t> seeds);

  /// The next 32 bits; the next 64 (the first word is the upper half).
  uint32_t next_uint32() {
    if (state_.position == static_cast<int32_t>(kWords)) refill();
    uint32_t y = state_.key[static_cast<size_t>(state_.position++)];
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680u;
    y ^= (y << 15) & 0xefc60000u;
    return y ^ (y >> 18);
  }
  uint64_t next_uint64();

  /// random_sample(): 53 bits, 0 <= u < 1.
  double random_sample() {
    uint32_t high = next_uint32() >> 5, low = next_uint32() >> 6;
    return (high * 67108864.0 + low) / 9007199254740992.0;
  }
  /// uniform(low, high, n), rounded to float32 where that is asked for, and standard_normal(n): many at a time.
  void uniforms(double low, double high, double* out, size_t n);
  void uniforms(double low, double high, float* out, size_t n);
  void standard_normals(double* out, size_t n);
  /// uniform(low, high): low + (high - low) * random_sample().
  double uniform(double low, double high) { return low + (high - low) * random_sample(); }
  /// normal(mean, deviation), the legacy method: pairs, of which the second waits for the next call.
  double normal(double mean = 0, double deviation = 1) { return mean + deviation * standard_normal(); }
  double standard_normal();
  /// randint(low, high) for int64: low <= i < high, by masked rejection; UserError unless low < high.
  int64_t integer(int64_t low, int64_t high);
  /// random_integers(low, most, n): low <= i <= most, of which low is not the larger one.
  void whole_numbers(int64_t low, int64_t most, int64_t* out, size_t n);
  /// 0 <= i <= max by masked rejection: what shuffle draws.
  uint64_t interval(uint64_t max);

  /// The same, `count` numbers in the order of an array of that size.
  std::vector<double> uniform(double low, double high, size_t count);
  std::vector<double> normal(double mean, double deviation, size_t count);
  std::vector<int64_t> integers(int64_t low, int64_t high, size_t count);
  /// permutation(n): the numbers 0 to n - 1, shuffled.
  std::vector<int64_t> permutation(int64_t n);
  /// shuffle(x) of a one-dimensional array.
  template <class T>
  void shuffle(std::span<T> elements) {
    constexpr size_t kAhead = 64;  // elements far apart are fetched side by side
    std::array<uint64_t, kAhead> drawn;
    for (size_t left = elements.size(); left > 1;) {
      const size_t count = std::min(kAhead, left - 1);
      intervals(left - 1, 1, drawn.data(), count);
      for (size_t k = 0; k < count; ++k) __builtin_prefetch(&elements[drawn[k]], 1);
      for (size_t k = 0; k < count; ++k) std::swap(elements[--left], elements[drawn[k]]);
    }
  }

  const State& state() const { return state_; }
  /// kStateBytes bytes, the same on every machine: the words, position, has_gauss, gauss; each little-endian.
  std::string to_bytes() const;
  /// UserError unless `bytes` came from to_bytes.
  static RandomState from_bytes(std::string_view bytes);
  /// The same as kStateWords words: what shared variables of generators hold. The position is cut to 624.
  void to_words(uint32_t* words) const;
  static RandomState from_words(const uint32_t* words);

 private:
  template <class T>
  void fill_uniforms(double low, double range, T* out, size_t n);
  void refill();
  /// interval(max), interval(max - step), ...; a step of 1 ends before 0.
  void intervals(uint64_t max, uint64_t step, uint64_t* out, size_t count);

  State state_;
};

}  // namespace thtrain
