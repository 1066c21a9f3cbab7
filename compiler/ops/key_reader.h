// Reads the keys of choices and the names of candidates from the left.
#pragma once

#include <charconv>
#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace thtrain {

class KeyReader {
 public:
  explicit KeyReader(std::string_view text) : rest_(text) {}

  /// Takes these characters; false where others follow.
  bool take(std::string_view expected) {
    if (!rest_.starts_with(expected)) return false;
    rest_.remove_prefix(expected.size());
    return true;
  }
  /// Takes a whole number from `least` to `most`; false where none follows.
  template <class T>
  bool number(T& out, int64_t least = 0, int64_t most = int64_t{1} << 40) {
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), out);
    if (error != std::errc() || out < least || out > most) return false;
    rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
    return true;
  }
  /// Takes numbers with an x between them: "6x4".
  template <class T>
  bool numbers(std::initializer_list<T*> out, int64_t least, int64_t most) {
    for (T* const* one = out.begin(); one != out.end(); ++one)
      if ((one != out.begin() && !take("x")) || !number(**one, least, most)) return false;
    return true;
  }
  bool is_at_end() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

}  // namespace thtrain
