#include "compiler/base/random_state.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <new>

#include "compiler/base/error.h"
#include "compiler/base/mersenne_words.h"

namespace thtrain {

RandomState::RandomState(int64_t seed) {
  if (seed < 0 || seed > 0xffffffffLL) {
    throw UserError({.what = "the seed of a random generator is out of range",
                     .expected = "an integer from 0 to 4294967295",
                     .got = str(seed)});
  }
  auto word = static_cast<uint32_t>(seed);
  for (uint32_t i = 0; i < kWords; ++i) {
    state_.key[i] = word;
    word = 1812433253u * (word ^ (word >> 30)) + i + 1;
  }
}

RandomState::RandomState(std::span<const int64_t> seeds) : RandomState(int64_t{19650218}) {
  if (seeds.empty())
    throw UserError(
        Message{.what = "the seed of a random generator is an empty list", .expected = "one number or more"});
  std::vector<uint32_t> words;
  for (int64_t seed : seeds) words.push_back(RandomState(seed).state_.key[0]);
  auto& key = state_.key;
  size_t i = 1, j = 0;
  auto mixed = [&](uint32_t factor) { return key[i] ^ ((key[i - 1] ^ (key[i - 1] >> 30)) * factor); };
  auto next = [&] {
    if (++i < kWords) return;
    key[0] = key[kWords - 1];
    i = 1;
  };
  for (size_t k = std::max(kWords, words.size()); k > 0; --k) {
    key[i] = mixed(1664525u) + words[j] + static_cast<uint32_t>(j);
    next();
    if (++j == words.size()) j = 0;
  }
  for (size_t k = kWords - 1; k > 0; --k) {
    key[i] = mixed(1566083941u) - static_cast<uint32_t>(i);
    next();
  }
  key[0] = 0x80000000u;
}

void RandomState::refill() {
  mersenne_twist(state_.key.data());
  state_.position = 0;
}

uint64_t RandomState::next_uint64() {
  uint64_t high = next_uint32();
  return high << 32 | next_uint32();
}

template <class T>
void RandomState::fill_uniforms(double low, double range, T* out, size_t n) {
  while (n > 0) {
    if (state_.position == static_cast<int32_t>(kWords)) refill();
    const size_t first = static_cast<size_t>(state_.position), count = std::min(n, (kWords - first) / 2);
    if (count == 0) {  // one word is left
      *out++ = static_cast<T>(low + range * random_sample());
      --n;
      continue;
    }
    mersenne_uniforms(state_.key.data() + first, low, range, out, count);
    state_.position += static_cast<int32_t>(2 * count);
    out += count;
    n -= count;
  }
}

void RandomState::uniforms(double low, double high, double* out, size_t n) {
  fill_uniforms(low, high - low, out, n);
}

void RandomState::uniforms(double low, double high, float* out, size_t n) {
  fill_uniforms(low, high - low, out, n);
}

// Candidates of the polar method are taken in blocks: each gives one pair at most, so none is drawn too many.
void RandomState::standard_normals(double* out, size_t n) {
  constexpr size_t kBlock = 256;
  if (n > 0 && state_.has_gauss) {
    *out++ = standard_normal();
    --n;
  }
  double u[2 * kBlock], x[kBlock], y[kBlock], square[kBlock];
  for (size_t pairs = n / 2; pairs > 0;) {
    const size_t candidates = std::min(pairs, kBlock);
    uniforms(0, 1, u, 2 * candidates);
    size_t taken = 0;
    for (size_t i = 0; i < candidates; ++i) {
      x[taken] = 2.0 * u[2 * i] - 1.0;
      y[taken] = 2.0 * u[2 * i + 1] - 1.0;
      square[taken] = x[taken] * x[taken] + y[taken] * y[taken];
      taken += static_cast<size_t>((square[taken] < 1.0) & (square[taken] != 0.0));
    }
    for (size_t i = 0; i < taken; ++i) {
      const double factor = std::sqrt(-2.0 * std::log(square[i]) / square[i]);
      out[2 * i] = factor * y[i];
      out[2 * i + 1] = factor * x[i];
    }
    out += 2 * taken;
    pairs -= taken;
  }
  if (n % 2) *out = standard_normal();
}

double RandomState::standard_normal() {
  if (state_.has_gauss) {
    double held = state_.gauss;
    state_.has_gauss = false;
    state_.gauss = 0;
    return held;
  }
  double x, y, square;
  do {
    x = 2.0 * random_sample() - 1.0;
    y = 2.0 * random_sample() - 1.0;
    square = x * x + y * y;
  } while (square >= 1.0 || square == 0.0);
  double factor = std::sqrt(-2.0 * std::log(square) / square);
  state_.gauss = factor * x;
  state_.has_gauss = true;
  return factor * y;
}

uint64_t RandomState::interval(uint64_t max) {
  if (max == 0) return 0;
  uint64_t mask = ~uint64_t{0} >> std::countl_zero(max);
  uint64_t value;
  do {
    value = (max <= 0xffffffffu ? next_uint32() : next_uint64()) & mask;
  } while (value > max);
  return value;
}

// Numbers that are too large are written over, not jumped over: which ones they are cannot be predicted.
void RandomState::intervals(uint64_t max, uint64_t step, uint64_t* out, size_t count) {
  uint32_t words[kWords];
  size_t taken = 0;
  while (taken < count) {
    const uint64_t first = max - step * taken;
    const size_t of_number = first > 0xffffffffu ? 2 : 1;  // words
    if (first > 0 && state_.position == static_cast<int32_t>(kWords)) refill();
    const size_t left = (kWords - static_cast<size_t>(state_.position)) / of_number;
    if (first == 0 || left == 0) {
      out[taken++] = interval(first);
      continue;
    }
    const uint64_t mask = ~uint64_t{0} >> std::countl_zero(first);
    const size_t same_mask = step ? std::min<uint64_t>(count - taken, first - (mask >> 1)) : count - taken;
    const size_t numbers = std::min(same_mask, left);
    mersenne_temper(state_.key.data() + state_.position, words, numbers * of_number);
    state_.position += static_cast<int32_t>(numbers * of_number);
    const auto take = [&](uint64_t value) {
      out[taken] = value & mask;
      taken += static_cast<size_t>((value & mask) <= max - step * taken);
    };
    if (of_number == 1)
      for (size_t i = 0; i < numbers; ++i) take(words[i]);
    else
      for (size_t i = 0; i < numbers; ++i) take(uint64_t{words[2 * i]} << 32 | words[2 * i + 1]);
  }
}

void RandomState::whole_numbers(int64_t low, int64_t most, int64_t* out, size_t n) {
  const auto first = static_cast<uint64_t>(low);
  intervals(static_cast<uint64_t>(most) - first, 0, reinterpret_cast<uint64_t*>(out), n);
  for (size_t i = 0; i < n; ++i) out[i] = static_cast<int64_t>(first + static_cast<uint64_t>(out[i]));
}

static void check_range(int64_t low, int64_t high) {
  if (low >= high) {
    throw UserError(
        {.what = "random integers: the range is empty", .expected = "low < high", .got = str(low, " and ", high)});
  }
}

int64_t RandomState::integer(int64_t low, int64_t high) {
  check_range(low, high);
  int64_t out;
  whole_numbers(low, high - 1, &out, 1);
  return out;
}

// UserError where there is no memory for so many numbers.
template <class T>
static std::vector<T> numbers(size_t count) {
  constexpr size_t kMost = size_t{1} << 37;  // a TiB
  try {
    if (count < kMost) return std::vector<T>(count);
  } catch (const std::bad_alloc&) {
  }
  throw UserError({.what = "random numbers: the memory for them is not there",
                   .expected = "no more than fit in memory",
                   .got = str(count, " numbers")});
}

std::vector<double> RandomState::uniform(double low, double high, size_t count) {
  std::vector<double> out = numbers<double>(count);
  uniforms(low, high, out.data(), count);
  return out;
}

std::vector<double> RandomState::normal(double mean, double deviation, size_t count) {
  std::vector<double> out = numbers<double>(count);
  standard_normals(out.data(), count);
  for (double& value : out) value = mean + deviation * value;
  return out;
}

std::vector<int64_t> RandomState::integers(int64_t low, int64_t high, size_t count) {
  std::vector<int64_t> out = numbers<int64_t>(count);
  if (count == 0) return out;
  check_range(low, high);
  whole_numbers(low, high - 1, out.data(), count);
  return out;
}

std::vector<int64_t> RandomState::permutation(int64_t n) {
  if (n < 0)
    throw UserError(
        {.what = "permutation: the number of elements is negative", .expected = "at least 0", .got = str(n)});
  std::vector<int64_t> out = numbers<int64_t>(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) out[static_cast<size_t>(i)] = i;
  shuffle(std::span(out));
  return out;
}

namespace {

void append_little_endian(std::string& out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i) & 0xff);
}

uint64_t little_endian(std::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

}  // namespace

std::string RandomState::to_bytes() const {
  std::string out;
  out.reserve(kStateBytes);
  for (uint32_t word : state_.key) append_little_endian(out, word, 4);
  append_little_endian(out, static_cast<uint32_t>(state_.position), 4);
  append_little_endian(out, state_.has_gauss, 4);
  append_little_endian(out, std::bit_cast<uint64_t>(state_.gauss), 8);
  return out;
}

RandomState RandomState::from_bytes(std::string_view bytes) {
  auto damaged = [](std::string expected, std::string got) {
    return UserError({.what = "the saved state of a random generator is damaged",
                      .expected = std::move(expected),
                      .got = std::move(got)});
  };
  if (bytes.size() != kStateBytes) throw damaged(str(kStateBytes, " bytes"), str(bytes.size(), " bytes"));
  State state;
  for (size_t i = 0; i < kWords; ++i) state.key[i] = static_cast<uint32_t>(little_endian(bytes.substr(4 * i, 4)));
  uint64_t position = little_endian(bytes.substr(4 * kWords, 4));
  uint64_t has_gauss = little_endian(bytes.substr(4 * kWords + 4, 4));
  if (position > kWords) throw damaged("a position from 0 to 624", str("position ", position));
  if (has_gauss > 1) throw damaged("a flag of 0 or 1", str("flag ", has_gauss));
  state.position = static_cast<int32_t>(position);
  state.has_gauss = has_gauss == 1;
  state.gauss = std::bit_cast<double>(little_endian(bytes.substr(4 * kWords + 8, 8)));
  return RandomState(state);
}

void RandomState::to_words(uint32_t* words) const {
  const uint64_t gauss = std::bit_cast<uint64_t>(state_.gauss);
  std::copy(state_.key.begin(), state_.key.end(), words);
  words[kWords] = static_cast<uint32_t>(state_.position);
  words[kWords + 1] = state_.has_gauss;
  words[kWords + 2] = static_cast<uint32_t>(gauss);
  words[kWords + 3] = static_cast<uint32_t>(gauss >> 32);
}

RandomState RandomState::from_words(const uint32_t* words) {
  State state;
  std::copy(words, words + kWords, state.key.begin());
  state.position = static_cast<int32_t>(std::min<uint32_t>(words[kWords], kWords));
  state.has_gauss = words[kWords + 1] != 0;
  state.gauss = std::bit_cast<double>(uint64_t{words[kWords + 3]} << 32 | words[kWords + 2]);
  return RandomState(state);
}

}  // namespace thtrain
