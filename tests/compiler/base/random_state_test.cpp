#include "compiler/base/random_state.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdlib>
#include <fstream>
#include <limits>
#include <sstream>
#include <utility>

#include "compiler/base/legacy_distributions.h"
#include "tests/support/datasets_support.h"

namespace thtrain {
namespace {

struct GoldenCase {
  std::string name;
  int64_t seed = 0;
  std::vector<double> arguments, values;
  std::vector<int64_t> integer_arguments, integer_values;
};

double number(const std::string& text) {
  return std::strtod(text.c_str(), nullptr);
}
int64_t integer(const std::string& text) {
  return std::strtoll(text.c_str(), nullptr, 10);
}

std::vector<GoldenCase> golden_cases() {
  std::ifstream file(source_path("tests/golden/random_state.txt"));
  std::vector<GoldenCase> cases;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    GoldenCase one;
    words >> one.name >> one.seed;
    bool after = false;
    for (std::string word; words >> word;) {
      if (word == "=") {
        after = true;
        continue;
      }
      (after ? one.values : one.arguments).push_back(number(word));
      (after ? one.integer_values : one.integer_arguments).push_back(integer(word));
    }
    cases.push_back(one);
  }
  return cases;
}

template <class T>
int64_t checksum(const std::vector<T>& values) {
  return static_cast<int64_t>(crc32_z(0, reinterpret_cast<const Bytef*>(values.data()), values.size() * sizeof(T)));
}

TEST(RandomState, GivesNumPysNumbers) {
  std::vector<GoldenCase> cases = golden_cases();
  ASSERT_GE(cases.size(), 5u * 17u);
  int compared = 0;
  for (const GoldenCase& c : cases) {
    SCOPED_TRACE(c.name + " seed " + std::to_string(c.seed));
    RandomState rng(c.seed);
    const auto& a = c.arguments;
    size_t count = a.empty() ? 0 : static_cast<size_t>(a[0]);
    ++compared;
    if (c.name == "random_sample") {
      for (double expected : c.values) EXPECT_EQ(rng.random_sample(), expected);
    } else if (c.name == "random_sample_crc") {
      EXPECT_EQ(checksum(rng.uniform(0, 1, count)), c.integer_values[0]);
    } else if (c.name == "uniform") {
      EXPECT_EQ(rng.uniform(a[1], a[2], count), c.values);
    } else if (c.name == "uniform_crc") {
      EXPECT_EQ(checksum(rng.uniform(a[1], a[2], count)), c.integer_values[0]);
    } else if (c.name == "normal") {
      EXPECT_EQ(rng.normal(a[1], a[2], count), c.values);
    } else if (c.name == "normal_crc") {
      EXPECT_EQ(checksum(rng.normal(a[1], a[2], count)), c.integer_values[0]);
    } else if (c.name == "integers") {
      EXPECT_EQ(rng.integers(c.integer_arguments[1], c.integer_arguments[2], count), c.integer_values);
    } else if (c.name == "permutation") {
      EXPECT_EQ(rng.permutation(c.integer_arguments[0]), c.integer_values);
    } else if (c.name == "permutation_crc") {
      EXPECT_EQ(checksum(rng.permutation(c.integer_arguments[0])), c.integer_values[0]);
    } else {
      --compared;
    }
  }
  EXPECT_EQ(static_cast<size_t>(compared), cases.size() - 2);
}

TEST(RandomState, MixedCallsFollowNumPyAndLeaveItsState) {
  RandomState rng(99);
  std::vector<double> got = {rng.normal(), rng.random_sample(), rng.normal(1, 2),
                             static_cast<double>(rng.integer(0, 1000))};
  std::vector<int64_t> order = {0, 1, 2, 3, 4, 5};
  rng.shuffle(std::span(order));
  for (int64_t i : order) got.push_back(static_cast<double>(i));
  got.push_back(rng.normal());
  got.push_back(rng.uniform(3, 4));
  for (const GoldenCase& c : golden_cases()) {
    if (c.name == "mixed") {
      EXPECT_EQ(got, c.values);
    } else if (c.name == "state") {
      EXPECT_EQ(rng.state().position, c.integer_values[0]);
      EXPECT_EQ(rng.state().has_gauss, c.integer_values[1] != 0);
      EXPECT_EQ(rng.state().gauss, c.values[2]);
      const auto& key = rng.state().key;
      EXPECT_EQ(checksum(std::vector<uint32_t>(key.begin(), key.end())), c.integer_values[3]);
    }
  }
}

TEST(RandomState, ManyIntegersAreThoseOfSingleDraws) {
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min(), kMost = std::numeric_limits<int64_t>::max();
  const std::pair<int64_t, int64_t> ranges[] = {{0, 0},          {5, 6},           {-3, 6},     {0, 15},
                                                {0, 0xffffffff}, {0, 0x100000000}, {-7, kMost}, {kLeast, kMost}};
  for (const auto& [low, most] : ranges)
    for (size_t n : {size_t{0}, size_t{1}, size_t{700}, size_t{2000}}) {
      RandomState many(4), single(4);
      EXPECT_EQ(many.next_uint32(), single.next_uint32());  // a number of two words is of two blocks of them
      std::vector<int64_t> got(n), expected(n);
      many.whole_numbers(low, most, got.data(), n);
      const uint64_t range = static_cast<uint64_t>(most) - static_cast<uint64_t>(low);
      for (int64_t& i : expected) i = static_cast<int64_t>(static_cast<uint64_t>(low) + single.interval(range));
      EXPECT_EQ(got, expected) << low << " to " << most;
      EXPECT_EQ(many.state(), single.state()) << low << " to " << most;
    }
}

TEST(RandomState, ManyBinomialNumbersAreThoseOfSingleDraws) {
  const std::pair<int64_t, double> parameters[] = {{10, 0.5}, {10, 0.8}, {1000, 0.3}, {1000, 0.9},
                                                   {0, 0.5},  {5, 0.0},  {5, 1.0}};
  for (const auto& [n, p] : parameters) {
    RandomState many(3), single(3);
    std::vector<int64_t> got(500), expected(500);
    legacy::binomials(many, n, p, got.data(), 500);
    for (int64_t& i : expected) i = legacy::binomial(single, n, p);
    EXPECT_EQ(got, expected) << n << ", " << p;
    EXPECT_EQ(many.state(), single.state()) << n << ", " << p;
  }
}

TEST(RandomState, ShufflesBySwapsFromTheEnd) {
  for (size_t n : {0u, 1u, 2u, 63u, 64u, 65u, 66u, 129u, 5000u}) {
    RandomState many(7), single(7);
    std::vector<int32_t> got(n), expected(n);
    for (size_t i = 0; i < n; ++i) got[i] = expected[i] = static_cast<int32_t>(i);
    many.shuffle(std::span(got));
    for (size_t i = n; i-- > 1;) std::swap(expected[i], expected[single.interval(i)]);
    EXPECT_EQ(got, expected) << n;
    EXPECT_EQ(many.state(), single.state()) << n;
  }
}

#ifdef __x86_64__
// Bit 2 of what xgetbv says of component 1: does the upper half of a vector register hold anything?
bool upper_halves_are_used() {
  uint32_t low, high;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(1));
  return (low & 4) != 0;
}

TEST(RandomState, LeavesTheUpperHalvesOfVectorRegistersEmpty) {
  uint32_t a = 13, b = 0, c = 1, d = 0;
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2")) asm volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
  if (!__builtin_cpu_supports("avx2") || !(a & 4)) GTEST_SKIP() << "this processor does not tell";
  asm volatile("vzeroupper");
  if (upper_halves_are_used()) GTEST_SKIP() << "this processor does not tell";
  RandomState rng(1);
  std::vector<double> numbers(1000);
  std::vector<float> narrow(1000);
  rng.uniforms(0, 1, numbers.data(), numbers.size());
  EXPECT_FALSE(upper_halves_are_used()) << "float64";
  rng.uniforms(0, 1, narrow.data(), narrow.size());
  EXPECT_FALSE(upper_halves_are_used()) << "float32";
  for (int i = 0; i < 700; ++i) rng.next_uint32();
  EXPECT_FALSE(upper_halves_are_used()) << "new words";
}
#endif

TEST(RandomState, BytesRoundTripInTheMiddleOfAPair) {
  RandomState rng(7);
  rng.normal();
  ASSERT_TRUE(rng.state().has_gauss);
  std::string bytes = rng.to_bytes();
  EXPECT_EQ(bytes.size(), RandomState::kStateBytes);
  RandomState again = RandomState::from_bytes(bytes);
  EXPECT_EQ(again.state(), rng.state());
  EXPECT_EQ(again.normal(0, 1, 1001), rng.normal(0, 1, 1001));
  EXPECT_EQ(again.to_bytes(), rng.to_bytes());
  EXPECT_EQ(RandomState(rng.state()).next_uint64(), RandomState(again.state()).next_uint64());
}

TEST(RandomState, CopiesAreIndependent) {
  RandomState first(3);
  RandomState second = first;
  first.next_uint32();
  EXPECT_EQ(second.state(), RandomState(3).state());
}

TEST(RandomState, SeedsOutOfRangeAreRefused) {
  for (int64_t seed : {int64_t{-1}, int64_t{4294967296}}) {
    EXPECT_EQ(error_text([&] { RandomState rng(seed); }),
              "error: the seed of a random generator is out of range\n"
              "  expected: an integer from 0 to 4294967295\n"
              "  got:      " +
                  std::to_string(seed));
  }
}

TEST(RandomState, AnEmptyRangeOfIntegersIsRefused) {
  EXPECT_EQ(error_text([] { RandomState(1).integer(4, 4); }),
            "error: random integers: the range is empty\n"
            "  expected: low < high\n"
            "  got:      4 and 4");
}

TEST(RandomState, DamagedBytesAreRefused) {
  std::string good = RandomState(1).to_bytes();
  const std::string head = "error: the saved state of a random generator is damaged\n";
  EXPECT_EQ(error_text([&] { RandomState::from_bytes(good.substr(1)); }),
            head + "  expected: 2512 bytes\n  got:      2511 bytes");
  std::string position = good;
  position[4 * RandomState::kWords + 1] = 7;
  EXPECT_EQ(error_text([&] { RandomState::from_bytes(position); }),
            head + "  expected: a position from 0 to 624\n  got:      position 1904");
  std::string flag = good;
  flag[4 * RandomState::kWords + 4] = 2;
  EXPECT_EQ(error_text([&] { RandomState::from_bytes(flag); }),
            head + "  expected: a flag of 0 or 1\n  got:      flag 2");
}

}  // namespace
}  // namespace thtrain
