#include "compiler/base/random_state.h"

#include <bit>
#include <cmath>

#include "compiler/base/error.h"

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

void RandomState::refill() {
  constexpr size_t kMiddle = 397;
  auto& key = state_.key;
  auto twist = [](uint32_t high, uint32_t low) {
    uint32_t joined = (high & 0x80000000u) | (low & 0x7fffffffu);
    return (joined >> 1) ^ ((low & 1u) ? 0x9908b0dfu : 0u);
  };
  size_t i = 0;
  for (; i < kWords - kMiddle; ++i) key[i] = key[i + kMiddle] ^ twist(key[i], key[i + 1]);
  for (; i < kWords - 1; ++i) key[i] = key[i + kMiddle - kWords] ^ twist(key[i], key[i + 1]);
  key[i] = key[kMiddle - 1] ^ twist(key[i], key[0]);
  state_.position = 0;
}

uint32_t RandomState::next_uint32() {
  if (state_.position == static_cast<int32_t>(kWords)) refill();
  uint32_t y = state_.key[static_cast<size_t>(state_.position++)];
  y ^= y >> 11;
  y ^= (y << 7) & 0x9d2c5680u;
  y ^= (y << 15) & 0xefc60000u;
  return y ^ (y >> 18);
}

uint64_t RandomState::next_uint64() {
  uint64_t high = next_uint32();
  return high << 32 | next_uint32();
}

double RandomState::random_sample() {
  uint32_t high = next_uint32() >> 5, low = next_uint32() >> 6;
  return (high * 67108864.0 + low) / 9007199254740992.0;
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

int64_t RandomState::integer(int64_t low, int64_t high) {
  if (low >= high) {
    throw UserError(
        {.what = "random integers: the range is empty", .expected = "low < high", .got = str(low, " and ", high)});
  }
  uint64_t range = static_cast<uint64_t>(high) - static_cast<uint64_t>(low) - 1;
  return static_cast<int64_t>(static_cast<uint64_t>(low) + interval(range));
}

std::vector<double> RandomState::uniform(double low, double high, size_t count) {
  std::vector<double> out(count);
  for (double& value : out) value = uniform(low, high);
  return out;
}

std::vector<double> RandomState::normal(double mean, double deviation, size_t count) {
  std::vector<double> out(count);
  for (double& value : out) value = normal(mean, deviation);
  return out;
}

std::vector<int64_t> RandomState::integers(int64_t low, int64_t high, size_t count) {
  std::vector<int64_t> out(count);
  for (int64_t& value : out) value = integer(low, high);
  return out;
}

std::vector<int64_t> RandomState::permutation(int64_t n) {
  TH_CHECK(n >= 0, "permutation of ", n);
  std::vector<int64_t> out(static_cast<size_t>(n));
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

}  // namespace thtrain
