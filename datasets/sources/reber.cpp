#include "datasets/sources/reber.h"

#include <algorithm>
#include <set>

#include "compiler/base/random_state.h"
#include "datasets/data_fields.h"

namespace thtrain {

namespace {

constexpr int64_t kSymbols = std::ssize(kReberSymbols);
constexpr int64_t kLeastSteps = 8;  // of "BTBTXSETE", whose last symbol is a target alone

int64_t number_of(char symbol) {
  return static_cast<int64_t>(kReberSymbols.find(symbol));
}

struct Way {
  char symbol;
  int to;
};

/// The ways out of each state of the inner grammar; two of equal chance, or one. State 7 is behind its end.
std::span<const Way> ways_from(int state) {
  static constexpr Way kWays[7][2] = {{{'B', 1}, {'B', 1}}, {{'T', 2}, {'P', 3}}, {{'S', 2}, {'X', 4}},
                                      {{'T', 3}, {'V', 5}}, {{'X', 3}, {'S', 6}}, {{'P', 4}, {'V', 6}},
                                      {{'E', 7}, {'E', 7}}};
  return std::span(kWays[state]).first(state == 0 || state == 6 ? 1 : 2);
}

/// Where a string of the embedded grammar is.
class Walk {
 public:
  /// Symbols that may come now: two of equal chance, one, or none at the end.
  std::vector<char> next() const {
    if (location_ == Location::kBegin) return {'B'};
    if (location_ == Location::kBranch) return {'T', 'P'};
    if (location_ == Location::kEnd) return {'E'};
    if (location_ == Location::kOver) return {};
    if (state_ == 7) return {branch_};
    std::vector<char> out;
    for (const Way& way : ways_from(state_)) out.push_back(way.symbol);
    return out;
  }

  /// One of next().
  void take(char symbol) {
    if (location_ == Location::kBegin) {
      location_ = Location::kBranch;
    } else if (location_ == Location::kBranch) {
      branch_ = symbol;
      location_ = Location::kInner;
    } else if (location_ == Location::kEnd) {
      location_ = Location::kOver;
    } else if (state_ == 7) {
      location_ = Location::kEnd;
    } else {
      for (const Way& way : ways_from(state_))
        if (way.symbol == symbol) {
          state_ = way.to;
          return;
        }
    }
  }

 private:
  enum class Location { kBegin, kBranch, kInner, kEnd, kOver };
  Location location_ = Location::kBegin;
  char branch_ = ' ';
  int state_ = 0;  // of the inner grammar
};

std::vector<int64_t> draw_string(RandomState& random) {
  std::vector<int64_t> out;
  Walk walk;
  for (std::vector<char> next = walk.next(); !next.empty(); next = walk.next()) {
    const char symbol = next.size() == 1 ? next[0] : next[static_cast<size_t>(random.integer(0, 2))];
    out.push_back(number_of(symbol));
    walk.take(symbol);
  }
  return out;
}

}  // namespace

std::array<bool, kReberSymbols.size()> legal_successors(std::span<const int64_t> prefix) {
  Walk walk;
  auto may_come = [&](int64_t number) {
    const std::vector<char> next = walk.next();
    return std::any_of(next.begin(), next.end(), [&](char symbol) { return number_of(symbol) == number; });
  };
  for (int64_t number : prefix) {
    TH_CHECK(may_come(number), "no embedded Reber string begins with these symbols, of which ", number,
             " is the first wrong one");
    walk.take(kReberSymbols[static_cast<size_t>(number)]);
  }
  std::array<bool, kReberSymbols.size()> out{};
  for (int64_t number = 0; number < kSymbols; ++number) out[static_cast<size_t>(number)] = may_come(number);
  return out;
}

ReberStrings generate_reber(int64_t n, int64_t seed, int64_t part, std::span<const ReberStrings> others) {
  RandomState seeds(seed);
  for (int64_t i = 0; i < part; ++i) seeds.next_uint32();
  RandomState random(seeds.next_uint32());
  std::set<std::vector<int64_t>> known;
  for (const ReberStrings& other : others) known.insert(other.begin(), other.end());
  ReberStrings out;
  while (std::ssize(out) < n)
    if (std::vector<int64_t> string = draw_string(random); !known.contains(string)) out.push_back(std::move(string));
  return out;
}

ReberArrays reber_arrays(const ReberStrings& strings) {
  const auto n = std::ssize(strings);
  int64_t steps = 1;
  for (const std::vector<int64_t>& string : strings) steps = std::max<int64_t>(steps, std::ssize(string) - 1);
  ReberArrays out{Tensor::zeros(DType::kUInt8, {n, steps, kSymbols}), Tensor::zeros(DType::kInt64, {n, steps}),
                  Tensor::zeros(DType::kInt64, {n})};
  for (int64_t i = 0; i < n; ++i) {
    const std::vector<int64_t>& string = strings[static_cast<size_t>(i)];
    out.lengths.data<int64_t>()[i] = std::ssize(string) - 1;
    for (int64_t t = 0; t + 1 < std::ssize(string); ++t) {
      out.x.data<uint8_t>()[(i * steps + t) * kSymbols + string[static_cast<size_t>(t)]] = 1;
      out.y.data<int64_t>()[i * steps + t] = string[static_cast<size_t>(t) + 1];
    }
  }
  return out;
}

void ReberConfig::fill(DatasetOptions& out) const {
  GeneratorConfig::fill(out);
  out.read = [](const DatasetOptions& options, DType floatx) {
    const std::string origin = str("the generator \"reber\", seed ", options.seed);
    // Before any is drawn: what strings of the least length need.
    const int64_t least = kLeastSteps * kSymbols * (options.train + options.valid + options.test);
    require_fits(options, origin, least, DType::kUInt8, floatx);
    std::vector<ReberStrings> sets;
    for (int64_t n : {options.train, options.valid, options.test})
      sets.push_back(generate_reber(n, options.seed, std::ssize(sets), sets));
    auto set = [&](size_t part) {
      ReberArrays made = reber_arrays(sets[part]);
      require_fits(options, origin, made.x.size(), DType::kUInt8, floatx);
      auto array = [&](const Tensor& raw) { return DataArray{.raw = raw, .origin = origin, .where = options.where}; };
      return Split(array(made.x), array(made.y), Targets::kClasses, 1, {array(made.lengths)});
    };
    SourceData data{.train = set(0), .valid = set(1), .test = set(2), .classes = kSymbols};
    for (char symbol : kReberSymbols) data.class_names.emplace_back(1, symbol);
    return data;
  };
}

void ReberConfig::describe(Fields<ReberConfig>& f) {
  f.about(
      "Strings of the embedded Reber grammar: sequences of symbols B, T, P, S, X, V and E (seven numbers, of which one "
      "is 1), and at each step the class of the symbol that follows. The last symbol but one is the second one again, "
      "however long ago that was. Validation strings differ from the training strings, and test strings from both.");
  describe_generator(f);
}

Kind<DataConfig> reber_source() {
  return kind<ReberConfig, DataConfig>();
}

}  // namespace thtrain
