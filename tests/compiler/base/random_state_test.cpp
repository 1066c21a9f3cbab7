#include "compiler/base/random_state.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

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
