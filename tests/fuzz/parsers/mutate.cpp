#include "tests/fuzz/parsers/mutate.h"

#include <algorithm>
#include <random>

namespace thtrain::fuzz {
namespace {

constexpr size_t kMaxBytes = 4096;

class Mutator {
 public:
  Mutator(const std::vector<std::string>& seeds, uint64_t seed) : seeds_(seeds), random_(seed) {}

  std::string run() {
    std::string text = any_seed();
    for (size_t changes = 1 + below(8); changes > 0; --changes) change(text);
    if (text.size() > kMaxBytes) text.resize(kMaxBytes);
    return text;
  }

 private:
  // Not std::uniform_int_distribution: the libraries differ in it.
  size_t below(size_t limit) { return static_cast<size_t>(random_() % limit); }
  const std::string& any_seed() { return seeds_[below(seeds_.size())]; }
  size_t location(const std::string& text) { return below(text.size() + 1); }
  std::string piece(const std::string& text) { return text.substr(location(text), 1 + below(32)); }

  void change(std::string& text) {
    if (text.empty()) {
      text = any_seed().substr(0, 1 + below(64));
      return;
    }
    size_t at = below(text.size());
    switch (below(8)) {
      case 0:
        text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
        break;
      case 1:
        text[at] = "\0\1\x7f\x80\xff\n\t\"'[]{}=,;.-+eEx0189 #"[below(29)];
        break;
      case 2:
        text.erase(at, 1 + below(16));
        break;
      case 3:
        text.insert(location(text), piece(text));
        break;
      case 4:
        text.insert(location(text), piece(any_seed()));
        break;
      case 5:
        binary_number(text, at);
        break;
      case 6:
        digits(text, at);
        break;
      default:
        text.resize(at);
        break;
    }
  }

  // A length, an offset or a count that no file has.
  void binary_number(std::string& text, size_t at) {
    static constexpr uint64_t kNumbers[] = {0,          1,          0x7f,       0xff,      0x7fff,     0xffff,
                                            0x7fffffff, 0xffffffff, 1ull << 40, INT64_MAX, 1ull << 63, UINT64_MAX};
    uint64_t number = kNumbers[below(std::size(kNumbers))];
    size_t bytes = size_t{1} << below(4);
    bool big_endian = below(2) == 1;
    for (size_t i = 0; i < bytes && at + i < text.size(); ++i)
      text[at + i] = static_cast<char>(number >> (8 * (big_endian ? bytes - 1 - i : i)));
  }

  void digits(std::string& text, size_t at) {
    static constexpr const char* kNumbers[] = {
        "0",    "-1",  "99999999999", "9223372036854775807", "18446744073709551616", "1e999", "nan",
        "-inf", "0.0", "1e-400"};
    size_t begin = text.find_first_of("0123456789", at);
    if (begin == std::string::npos) return;
    size_t end = text.find_first_not_of("0123456789", begin);
    text.replace(begin, end - begin, kNumbers[below(std::size(kNumbers))]);
  }

  const std::vector<std::string>& seeds_;
  std::mt19937_64 random_;
};

}  // namespace

std::string mutated(const std::vector<std::string>& seeds, uint64_t seed) {
  return Mutator(seeds, seed).run();
}

}  // namespace thtrain::fuzz
