// The built-in problems of sequences compared with the bytes that NumPy programs of their definitions make.

#include <set>

#include "datasets/load.h"
#include "datasets/sources/adding.h"
#include "datasets/sources/reber.h"
#include "datasets/sources/strokes.h"
#include "tests/support/checksum.h"
#include "tests/support/datasets_support.h"
#include "tests/support/dtypes.h"

namespace thtrain {
namespace {

template <class Config>
Dataset sequences_of(const Config& config, uint64_t memory_limit = 0) {
  DatasetOptions options{.name = std::string(Config::kName)};
  config.fill(options);
  options.memory_limit = memory_limit;
  return load_dataset(options, k64);
}

std::string symbols_of(std::span<const int64_t> numbers) {
  std::string out;
  for (int64_t number : numbers) out += kReberSymbols[static_cast<size_t>(number)];
  return out;
}
std::vector<int64_t> numbers_of(std::string_view symbols) {
  std::vector<int64_t> out;
  for (char symbol : symbols) out.push_back(static_cast<int64_t>(kReberSymbols.find(symbol)));
  return out;
}

// NumPy 2.4.6: random.randint(0, 2) chooses at each branch, random = RandomState(s), s the first two numbers of
// RandomState(5).randint(0, 2**32, size=2, dtype=numpy.uint32).
TEST(Reber, TheStringsOfNumPysChoices) {
  auto text = [](const ReberStrings& strings) {
    return join(strings, " ", [](const std::vector<int64_t>& string) { return symbols_of(string); });
  };
  const ReberStrings first = generate_reber(6, 5, 0);
  EXPECT_EQ(text(first), "BTBPVPSETE BPBPVVEPE BPBTXSEPE BPBPTVPXTVPXVVEPE BPBPVVEPE BPBTXXVVEPE");
  EXPECT_EQ(text(generate_reber(4, 5, 1, std::vector<ReberStrings>{first})),
            "BPBTXXTTTTVPXVVEPE BPBTSXXVVEPE BTBTXXVPSETE BPBPTTVPSEPE");
}

TEST(Reber, TheSameBytesOnEveryMachine) {
  std::vector<ReberStrings> sets;
  const struct {
    int64_t n, steps;
    uint32_t x, y, lengths;
  } pinned[] = {{300, 31, 2625027936, 723244751, 2336679894},
                {100, 33, 3040175173, 3829765780, 1486680756},
                {200, 28, 1975978711, 1602096992, 1702106467}};
  for (const auto& p : pinned) {
    sets.push_back(generate_reber(p.n, 5, std::ssize(sets), sets));
    const ReberArrays made = reber_arrays(sets.back());
    EXPECT_EQ(made.x.shape(), (Shape{p.n, p.steps, 7}));
    EXPECT_EQ(checksum(made.x), p.x);
    EXPECT_EQ(checksum(made.y), p.y);
    EXPECT_EQ(checksum(made.lengths), p.lengths);
  }
}

TEST(Reber, StringsOfOneSetAreInNoOther) {
  ReberConfig config;
  config.n_train = 400;
  config.n_valid = config.n_test = 200;
  const Dataset data = sequences_of(config);
  std::vector<std::set<std::string>> sets;
  for (const Split* split : {&data.train, &data.valid, &data.test}) {
    const Batch all = split->all(k64);
    std::set<std::string>& strings = sets.emplace_back();
    for (int64_t i = 0; i < split->size(); ++i) {
      const int64_t* y = all.y.data<int64_t>() + i * split->steps();
      std::vector<int64_t> string = {0};
      string.insert(string.end(), y, y + split->length(i));
      const std::string text = symbols_of(string);
      strings.insert(text);
      // The grammar, once more: branches and what the last symbol but one has to be.
      ASSERT_TRUE(text.starts_with('B') && text.ends_with('E'));
      ASSERT_EQ(text[1], text[text.size() - 2]);
      for (size_t t = 1; t < string.size(); ++t) {
        const auto legal = legal_successors(std::span(string).first(t));
        ASSERT_TRUE(legal[static_cast<size_t>(string[t])]) << text << ' ' << t;
      }
      ASSERT_EQ(legal_successors(string), (std::array<bool, 7>{}));
    }
  }
  for (const std::string& text : sets[0]) EXPECT_FALSE(sets[1].contains(text) || sets[2].contains(text)) << text;
  for (const std::string& text : sets[1]) EXPECT_FALSE(sets[2].contains(text)) << text;
}

TEST(Reber, LegalSuccessorsOfEveryState) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "B"},       {"B", "TP"},     {"BT", "B"},      {"BTB", "TP"},    {"BTBT", "SX"},    {"BTBTS", "SX"},
      {"BTBP", "TV"},  {"BTBPT", "TV"}, {"BTBTX", "XS"},  {"BTBTXX", "TV"}, {"BTBPV", "PV"},   {"BTBPVP", "XS"},
      {"BTBPVV", "E"}, {"BTBTXS", "E"}, {"BTBTXSE", "T"}, {"BPBTXSE", "P"}, {"BTBTXSET", "E"}, {"BTBTXSETE", ""}};
  for (const auto& [prefix, expected] : cases) {
    const auto legal = legal_successors(numbers_of(prefix));
    for (size_t i = 0; i < legal.size(); ++i)
      EXPECT_EQ(legal[i], std::string_view(expected).find(kReberSymbols[i]) != std::string_view::npos)
          << prefix << ' ' << kReberSymbols[i];
  }
  EXPECT_THROW(legal_successors(numbers_of("BTBTXSEP")), InternalError);
}

TEST(Reber, IsADataSetOfSequences) {
  ReberConfig config;
  config.n_train = 300;
  config.n_valid = 100;
  config.n_test = 0;
  config.seed = 5;
  const Dataset data = sequences_of(config);
  EXPECT_EQ(data.text(),
            "data set reber: sequences of 8 to 31 steps of [7], 7 classes by step\n"
            "  train 300 sequences from the generator \"reber\", seed 5\n"
            "  valid 100 sequences from the generator \"reber\", seed 5");
  EXPECT_EQ(join(data.class_names, ""), "BTPSXVE");
}

// The keys that every generator of sequences has.
template <class Config>
void every_key_matters(const Config& config, auto own_keys) {
  auto all = [](const Config& c) {
    const Dataset data = sequences_of(c);
    std::string out = data.text() + join(data.class_names, " ");
    const Batch batch = data.train.all(k64);
    for (const Tensor& t : {batch.x, batch.y}) out += t.text(2000);
    return out;
  };
  const std::string plain = all(config);
  auto differs = [&](auto change) {
    Config other = config;
    change(other);
    EXPECT_NE(all(other), plain);
  };
  differs([](auto& c) { c.n_train = 21; });
  differs([](auto& c) { c.n_valid = 3; });
  differs([](auto& c) { c.n_test = 3; });
  differs([](auto& c) { c.seed = 2; });
  differs([](auto& c) { c.standardize = Standardization::By::kAll; });
  own_keys(differs);
}

TEST(Reber, ItsKeysMatter) {
  ReberConfig config;
  config.n_train = 20;
  every_key_matters(
      config, [](auto differs) { differs([](auto& c) { c.class_names = {"a", "b", "c", "d", "e", "f", "g"}; }); });
}

// Told before the first one is drawn, which would take hours and more memory than there is.
TEST(SequenceSources, WhatCannotFitIsNotMade) {
  ReberConfig strings;
  StrokesConfig digits;
  strings.n_train = digits.n_train = 1000000000000;
  EXPECT_EQ(error_text([&] { sequences_of(strings, 1000); }),
            "error: the generator \"reber\", seed 1: the data does not fit in memory\n"
            "  expected: at most 1000 B\n"
            "  got:      458 TiB as float64\n"
            "  hint:     examples in files are read while training");
  EXPECT_EQ(error_text([&] { sequences_of(digits, 1000); }),
            "error: the generator \"strokes\", seed 1: the data does not fit in memory\n"
            "  expected: at most 1000 B\n"
            "  got:      175 TiB as float64\n"
            "  hint:     examples in files are read while training");
}

// NumPy 2.4.6: see generate_adding.
TEST(Adding, TheNumbersOfNumPy) {
  const uint32_t pinned[3][2] = {{1894712587, 2429834642}, {214631513, 2974375158}, {3740260875, 2596765516}};
  for (int part = 0; part < 3; ++part) {
    const Adding made = generate_adding(40, 11, 9, part);
    EXPECT_EQ(checksum(made.x), pinned[part][0]) << part;
    EXPECT_EQ(checksum(made.y), pinned[part][1]) << part;
  }
  const Adding made = generate_adding(2, 5, 3, 1);
  EXPECT_EQ(made.x.text(20),
            "[[[0.8097172181205327, 1], [0.20547674589601028, 0], [0.976312536535173, 1], "
            "[0.310774540875304, 0], [0.10684738543775651, 0]], [[0.22005410419212001, 0], [0.8372281563589187, 1], "
            "[0.27587974201355014, 0], [0.9380399481213697, 1], [0.069983794267934, 0]]]");
}

TEST(Adding, TheMeanSquaredErrorOfTheMean) {
  const Adding made = generate_adding(20000, 4, 3, 1);
  double mean = 0, squares = 0;
  for (int64_t i = 0; i < 20000; ++i) mean += made.y.as_double(i) / 20000;
  for (int64_t i = 0; i < 20000; ++i) squares += (made.y.as_double(i) - 1) * (made.y.as_double(i) - 1) / 20000;
  EXPECT_NEAR(mean, 1, 0.01);
  EXPECT_NEAR(squares, 1.0 / 6, 0.005);
}

TEST(Adding, ItsKeysMatter) {
  AddingConfig config;
  config.n_train = 20;
  config.steps = 6;
  EXPECT_EQ(sequences_of(config).text(),
            "data set adding: sequences of 6 steps of [2], targets of [1]\n"
            "  train 20 sequences from the generator \"adding\", seed 1\n"
            "  valid 2000 sequences from the generator \"adding\", seed 1\n"
            "  test  2000 sequences from the generator \"adding\", seed 1");
  every_key_matters(config, [](auto differs) {
    differs([](auto& c) { c.steps = 7; });
    differs([](auto& c) { c.standardize_targets = true; });
  });
  EXPECT_EQ(error_text([&] { sequences_of(config, 1000); }),
            "error: the generator \"adding\", seed 1: the data does not fit in memory\n"
            "  expected: at most 1000 B\n"
            "  got:      754 KiB as float64\n"
            "  hint:     examples in files are read while training");
}

// A Python program of the definition, with NumPy 2.4.6 and the paths of datasets/digit_strokes.cpp.
TEST(StrokesSource, TheSameBytesOnEveryMachine) {
  const uint32_t pinned[2][3] = {{1630284710, 2818512697, 2537850708}, {316412304, 3697358147, 279173351}};
  for (int part = 0; part < 2; ++part) {
    const Strokes made = generate_strokes(300, 4, part);
    EXPECT_EQ(made.x.shape(), (Shape{300, 21, 3}));
    EXPECT_EQ(checksum(made.x), pinned[part][0]) << part;
    EXPECT_EQ(checksum(made.y), pinned[part][1]) << part;
    EXPECT_EQ(checksum(made.lengths), pinned[part][2]) << part;
  }
}

TEST(StrokesSource, ItsKeysMatter) {
  StrokesConfig config;
  config.n_train = 20;
  config.n_valid = config.n_test = 5;
  EXPECT_EQ(sequences_of(config).text(),
            "data set strokes: sequences of 4 to 20 steps of [3], 10 classes\n"
            "  train 20 sequences from the generator \"strokes\", seed 1\n"
            "  valid 5 sequences from the generator \"strokes\", seed 1\n"
            "  test  5 sequences from the generator \"strokes\", seed 1");
  every_key_matters(config, [](auto differs) {
    differs([](auto& c) { c.scale = 0.5; });
    differs([](auto& c) { c.class_names = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}; });
  });
}

}  // namespace
}  // namespace thtrain
