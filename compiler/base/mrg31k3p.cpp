#include "compiler/base/mrg31k3p.h"

#include <map>
#include <mutex>

#include "compiler/base/error.h"

namespace thtrain {
namespace {

using Matrix = std::array<std::array<uint64_t, 3>, 3>;

Matrix product(const Matrix& a, const Matrix& b, uint64_t modulus) {
  Matrix out{};
  for (size_t i = 0; i < 3; ++i)
    for (size_t j = 0; j < 3; ++j)
      for (size_t k = 0; k < 3; ++k) out[i][j] = (out[i][j] + a[i][k] * b[k][j] % modulus) % modulus;
  return out;
}

// One step of each generator, squared `power` times.
struct Jump {
  Matrix first{{{0, 1 << 22, (1 << 7) + 1}, {1, 0, 0}, {0, 1, 0}}};
  Matrix second{{{1 << 15, 0, (1 << 15) + 1}, {1, 0, 0}, {0, 1, 0}}};
};

const Jump& jump_of(int power) {
  static std::mutex mutex;
  static std::map<int, Jump> known;
  std::lock_guard lock(mutex);
  const auto [at, fresh] = known.try_emplace(power);
  for (int i = 0; fresh && i < power; ++i) {
    at->second.first = product(at->second.first, at->second.first, Mrg31k3p::kModulus1);
    at->second.second = product(at->second.second, at->second.second, Mrg31k3p::kModulus2);
  }
  return at->second;
}

void apply(const Matrix& a, int32_t* x, uint64_t modulus) {
  std::array<uint64_t, 3> out{};
  for (size_t i = 0; i < 3; ++i)
    for (size_t k = 0; k < 3; ++k) out[i] = (out[i] + a[i][k] * static_cast<uint64_t>(x[k]) % modulus) % modulus;
  for (size_t i = 0; i < 3; ++i) x[i] = static_cast<int32_t>(out[i]);
}

}  // namespace

void Mrg31k3p::check_seed(const State& seed) {
  auto is_state = [&](size_t first, int64_t modulus) {
    bool any = false, fits = true;
    for (size_t k = first; k < first + 3; ++k) {
      any = any || seed[k] != 0;
      fits = fits && seed[k] >= 0 && seed[k] < modulus;
    }
    return any && fits;
  };
  if (!is_state(0, kModulus1) || !is_state(3, kModulus2))
    throw UserError(Message{.what = "the seed of MRG31k3p is out of range",
                            .expected = str("3 integers from 0 to ", kModulus1 - 1, ", then 3 from 0 to ",
                                            kModulus2 - 1, ", of each 3 one that is not 0"),
                            .got = join(seed, ", ", [](int32_t word) { return std::to_string(word); })});
}

int32_t Mrg31k3p::next() {
  auto& [x1, x2, x3, y1, y2, y3] = state_;
  const int64_t x = ((int64_t{x2} << 22) + 129 * int64_t{x3}) % kModulus1;
  const int64_t y = ((int64_t{y1} << 15) + 32769 * int64_t{y3}) % kModulus2;
  state_ = {static_cast<int32_t>(x), x1, x2, static_cast<int32_t>(y), y1, y2};
  return static_cast<int32_t>(x > y ? x - y : x - y + kModulus1);
}

void Mrg31k3p::jump(int power) {
  const Jump& by = jump_of(power);
  apply(by.first, state_.data(), kModulus1);
  apply(by.second, state_.data() + 3, kModulus2);
}

}  // namespace thtrain
