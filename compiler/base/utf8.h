// UTF-8 as RFC 3629 has it: code points up to U+10FFFF, each in its shortest form, no surrogates.
#pragma once

#include <string>
#include <string_view>

namespace thtrain {

/// What replaces bytes that are no UTF-8.
inline constexpr char32_t kReplacementCharacter = 0xfffd;

/// A code point and how many bytes it takes; of bytes that are no UTF-8 the first one alone, and not valid.
struct CodePoint {
  char32_t code = 0;  // of a byte that is no UTF-8: its value
  size_t bytes = 1;
  bool valid = true;
};

/// The code point that begins at byte `at`, which is within the text.
CodePoint code_point_at(std::string_view text, size_t at);
/// The byte where the first thing begins that is no UTF-8; npos where all is.
size_t first_not_utf8(std::string_view text);
/// Every code point; U+FFFD for each byte that is no UTF-8.
std::u32string code_points(std::string_view text);

/// May it be written in UTF-8? Surrogates, and what is above U+10FFFF, may not.
constexpr bool is_code_point(char32_t code) {
  return code < 0xd800 || (code > 0xdfff && code <= 0x10ffff);
}
/// Appends a code point; U+FFFD for what is none.
void append_utf8(std::string& out, char32_t code);

/// Does a character begin with this byte of a text? Of UTF-8 every byte but those that continue one.
constexpr bool begins_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xc0) != 0x80;
}
/// Characters of a text, which are what columns count.
int character_count(std::string_view text);
/// The byte where character `index`, from 0, begins; the size of the text where it has no more than `index` characters.
size_t byte_of_character(std::string_view text, int index);
/// The largest length up to `most` bytes at which no character of the text is cut.
size_t whole_characters(std::string_view text, size_t most);

}  // namespace thtrain
