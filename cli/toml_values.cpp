#include "cli/toml_values.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>

#include "compiler/base/escape.h"
#include "compiler/base/str.h"
#include "compiler/base/utf8.h"

namespace thtrain {

namespace {

constexpr const char* kValue = "a string in quotes, a number, true, false, an array or an inline table";

bool is_digit(char c, int base = 10) {
  if (base == 16 && ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'))) return true;
  return c >= '0' && c < '0' + std::min(base, 10);
}
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// A number, date or word, which ends before a blank, a comma, a bracket, a comment or the end of its line.
class Scalar {
 public:
  Scalar(std::string_view text, size_t at)
      : text_(text), begin_(at), end_(std::min(text.find_first_of(" \t\r\n,]}#", at), text.size())), at_(at) {}

  size_t check() {
    const std::string_view token = this->token();
    if (is_letter(token.empty() ? ' ' : token[0])) {
      if (token != "true" && token != "false" && token != "inf" && token != "nan") fail_as_word();
    } else if (token == "+inf" || token == "-inf" || token == "+nan" || token == "-nan") {
    } else if (is_date()) {
      date();
    } else if (token.size() > 1 && token[0] == '0' && is_letter(token[1]) && token[1] != 'e' && token[1] != 'E') {
      based();
    } else {
      decimal();
    }
    return end_;
  }

 private:
  std::string_view token() const { return text_.substr(begin_, end_ - begin_); }
  bool is(char c) const { return at_ < end_ && text_[at_] == c; }

  TomlFault whole(const std::string& what, const std::string& expected) const {
    return {.begin = begin_, .end = end_, .what = what, .expected = expected, .got = std::string(token())};
  }
  // The character at this position is another one.
  [[noreturn]] void fail(const std::string& expected) const {
    if (at_ == text_.size())
      throw TomlFault{.begin = at_, .end = at_, .expected = expected, .got = "the end of the text"};
    const CodePoint point = code_point_at(text_, at_);
    const std::string got = point.code == '\n' || point.code == '\r' ? "the end of the line"
                            : point.code == 0                        ? "\\u0000"
                                                                     : printable(text_.substr(at_, point.bytes));
    throw TomlFault{.begin = at_, .end = at_ + point.bytes, .expected = expected, .got = got};
  }

  [[noreturn]] void fail_as_word() const {
    std::string lower(token());
    for (char& c : lower)
      if (is_letter(c)) c = static_cast<char>(c | 0x20);
    TomlFault out = whole("this is not a value", kValue);
    if (token().find_first_of("\"'=[{") == std::string_view::npos)
      out.hint =
          lower == "true" || lower == "false" ? str("write ", lower) : str("text goes into quotes: \"", token(), "\"");
    throw out;
  }

  // Digits with single underscores between them; how many digits.
  size_t digits(const char* expected, int base = 10) {
    size_t count = 0;
    for (; at_ < end_ && (is_digit(text_[at_], base) || text_[at_] == '_'); ++at_) {
      const bool is_between = count > 0 && at_ + 1 < end_ && is_digit(text_[at_ + 1], base);
      if (text_[at_] != '_')
        ++count;
      else if (!is_between)
        throw whole("underscores must be followed by digits", "digits before and after each _");
    }
    if (count == 0) fail(expected);
    return count;
  }

  std::string without_underscores() const {
    std::string out(token());
    std::erase(out, '_');
    if (out.starts_with('+')) out.erase(0, 1);
    return out;
  }

  void check_integer(const std::string& digits, int base) const {
    int64_t value = 0;
    if (std::from_chars(digits.data(), digits.data() + digits.size(), value, base).ec != std::errc())
      throw whole("the integer does not fit 64 bits", str("an integer from ", std::numeric_limits<int64_t>::min(),
                                                          " to ", std::numeric_limits<int64_t>::max()));
  }

  void based() {
    const char kind = text_[begin_ + 1];
    const int base = kind == 'x' ? 16 : kind == 'o' ? 8 : kind == 'b' ? 2 : 0;
    at_ = begin_ + 1;
    if (base == 0) fail("digit");
    ++at_;
    digits("digit", base);
    if (at_ != end_) fail("digit");
    check_integer(without_underscores().substr(2), base);
  }

  void decimal() {
    if (is('+') || is('-')) ++at_;
    if (at_ == begin_ && !(at_ < end_ && is_digit(text_[at_])))
      throw TomlFault{.begin = at_, .end = at_ + 1, .what = "could not determine value type", .expected = kValue};
    const size_t first = at_;
    const bool is_long = digits("decimal digit") > 1;
    bool is_float = false;
    if (is('.')) {
      ++at_;
      digits("decimal digit");
      is_float = true;
    }
    if (is('e') || is('E')) {
      ++at_;
      if (is('+') || is('-')) ++at_;
      digits("exponent digit");
      is_float = true;
    }
    if (at_ != end_) fail(is_float ? "decimal digit or exponent" : "digit");
    if (is_long && text_[first] == '0') fail_as_zeros();
    if (!is_float) return check_integer(without_underscores(), 10);
    if (std::isinf(std::strtod(without_underscores().c_str(), nullptr)))
      throw whole("the number is too large", "a number that float64 holds, up to 1.8e308");
  }

  [[noreturn]] void fail_as_zeros() const {
    TomlFault out = whole("leading zeroes are prohibited", "a number without zeros before it");
    const size_t first = std::min(out.got.find_first_not_of("+-0"), out.got.size());
    if (first < out.got.size() && is_digit(out.got[first]))
      out.hint = str("write ", out.got.starts_with('-') ? "-" : "", out.got.substr(first));
    throw out;
  }

  // ---- dates ----

  bool is_date() const {
    const std::string_view text = token();
    const auto digits =
        static_cast<size_t>(std::ranges::find_if_not(text, [](char c) { return is_digit(c); }) - text.begin());
    return text.size() > 4 && ((digits == 2 && text[2] == ':') || (digits == 4 && text[4] == '-'));
  }
  TomlFault no_date() const {
    return whole("this is no date", "a date or a time, such as 1979-05-27, 07:32:00 or 1979-05-27T07:32:00Z");
  }

  // So many digits, a number from `low` to `high`.
  int part(size_t count, int low, int high) {
    int value = 0;
    for (size_t i = 0; i < count; ++i, ++at_) {
      if (at_ >= end_ || !is_digit(text_[at_])) throw no_date();
      value = 10 * value + (text_[at_] - '0');
    }
    if (value < low || value > high) throw no_date();
    return value;
  }
  void take(char c) {
    if (!is(c)) throw no_date();
    ++at_;
  }

  void date() {
    if (token()[2] != ':') {
      const int year = part(4, 0, 9999);
      take('-');
      const int month = part(2, 1, 12);
      take('-');
      const bool is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
      part(2, 1, month == 2 ? 28 + is_leap : 30 + (month + month / 8) % 2);
      if (at_ == end_ && !has_time_behind_blank()) return;
      if (at_ < end_ && !is('T') && !is('t') && !is(' ')) throw no_date();
      ++at_;
      time();
      offset();
    } else {
      time();
    }
    if (at_ != end_) throw no_date();
  }
  // Then it belongs to the date.
  bool has_time_behind_blank() {
    const std::string_view behind = text_.substr(end_, 4);
    if (behind.size() < 4 || behind[0] != ' ' || !is_digit(behind[1]) || behind[3] != ':') return false;
    end_ = std::min(text_.find_first_of(" \t\r\n,]}#", end_ + 1), text_.size());
    return true;
  }
  void time() {
    part(2, 0, 23);
    take(':');
    part(2, 0, 59);
    take(':');
    part(2, 0, 59);
    if (!is('.')) return;
    ++at_;
    const size_t first = at_;
    while (at_ < end_ && is_digit(text_[at_])) ++at_;
    if (at_ == first) throw no_date();
  }
  void offset() {
    if (is('Z') || is('z')) {
      ++at_;
    } else if (is('+') || is('-')) {
      ++at_;
      part(2, 0, 23);
      take(':');
      part(2, 0, 59);
    }
  }

  std::string_view text_;
  size_t begin_, end_, at_;
};

}  // namespace

size_t check_toml_scalar(std::string_view text, size_t at) {
  return Scalar(text, at).check();
}

std::string toml_escape(std::string_view text, size_t& at, bool has_lines) {
  constexpr std::string_view kFrom = "btnfr\"\\", kTo = "\b\t\n\f\r\"\\";
  const size_t begin = at;
  auto fault = [&](size_t end, const std::string& what) {
    return TomlFault{.begin = begin,
                     .end = std::min(end, text.size()),
                     .what = what,
                     .expected = "one of \\b \\t \\n \\f \\r \\\" \\\\ \\uXXXX, or the text in single quotes"};
  };
  if (++at == text.size()) return "";  // the string has no closing quote
  const char kind = text[at++];
  if (const size_t which = kFrom.find(kind); which != std::string_view::npos) return std::string(1, kTo[which]);
  if (has_lines) {  // only blanks are behind it, to the end of the line; those before the next text are none
    const size_t next = std::min(text.find_first_not_of(" \t\r", at - 1), text.size());
    if (next < text.size() && text[next] == '\n') {
      at = std::min(text.find_first_not_of(" \t\r\n", next), text.size());
      return "";
    }
  }
  const size_t count = kind == 'u' ? 4 : kind == 'U' ? 8 : 0;
  if (count == 0)
    throw fault(
        begin + 1 + code_point_at(text, begin + 1).bytes,
        str("unknown escape sequence '", printable(text.substr(begin, 1 + code_point_at(text, begin + 1).bytes)), "'"));
  uint32_t code = 0;
  for (size_t i = 0; i < count; ++i, ++at) {
    if (at == text.size() || !is_digit(text[at], 16))
      throw fault(at + 1, str("an escape sequence \\", kind, " needs ", count, " hexadecimal digits"));
  }
  std::from_chars(text.data() + at - count, text.data() + at, code, 16);
  if (!is_code_point(code))
    throw fault(at, code > 0x10ffff ? "values greater than U+10FFFF are invalid"
                                    : "unicode surrogates (U+D800 - U+DFFF) are explicitly prohibited");
  std::string out;
  append_utf8(out, code);
  return out;
}

}  // namespace thtrain
