#include "datasets/csv_text.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "compiler/base/error.h"
#include "compiler/base/escape.h"

namespace thtrain {

using Delimiter = CsvOptions::Delimiter;

constexpr std::string_view kBlanks = " \t";
constexpr const char* kDelimiterHint = "data.delimiter names what is between cells: comma, semicolon, tab or space";

std::string delimiter_hint(std::string_view line) {
  if (line.starts_with('#')) return "leave the line out: tables have no comments";
  if (line.find('|') == std::string_view::npos) return kDelimiterHint;
  return "cells cannot be separated by \"|\": replace it by a comma, semicolon or tab";
}

std::string cells_text(size_t count) {
  return str(count, count == 1 ? " cell" : " cells");
}

bool has_thousands(std::string_view cell) {
  if (!cell.empty() && (cell[0] == '-' || cell[0] == '+')) cell.remove_prefix(1);
  const std::string_view whole = cell.substr(0, cell.find('.'));
  const size_t first = whole.find(',');
  if (first == 0 || first > 3 || first == std::string_view::npos || (whole.size() - first) % 4 != 0) return false;
  for (size_t i = 0; i < whole.size(); ++i) {
    const bool is_comma = i >= first && (i - first) % 4 == 0;
    if (is_comma ? whole[i] != ',' : whole[i] < '0' || whole[i] > '9') return false;
  }
  return whole[0] != '0';
}

std::string_view trimmed(std::string_view text) {
  size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) + 1 - first);
}

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::optional<double> number_in(std::string_view text, char decimal) {
  if (decimal == ',' && text.find_first_of(",.") != std::string_view::npos) {
    if (text.find('.') != std::string_view::npos || text.find(',') != text.rfind(',')) return std::nullopt;
    std::string point(text);
    std::replace(point.begin(), point.end(), ',', '.');
    return number_in(point);
  }
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  // Whole numbers of so many digits are exact: most cells of most tables.
  if (!text.empty() && text.size() <= 15 && std::all_of(text.begin(), text.end(), is_digit)) {
    int64_t whole = 0;
    for (char c : text) whole = 10 * whole + (c - '0');
    return static_cast<double>(whole);
  }
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end != text.data() + text.size() || text.empty()) return std::nullopt;
  if (error == std::errc::result_out_of_range) return std::strtod(std::string(text).c_str(), nullptr);  // 0 or infinite
  if (error != std::errc()) return std::nullopt;
  return value;
}

bool quoted_cell(std::string_view line, size_t& at, std::string& cell) {
  cell.clear();
  for (++at;; ++at) {
    if (at >= line.size()) return false;
    if (line[at] == '"' && (at + 1 >= line.size() || line[at + 1] != '"')) break;
    if (line[at] == '"') ++at;
    const bool is_line_end = line[at] == '\r';
    if (is_line_end && at + 1 < line.size() && line[at + 1] == '\n') ++at;
    cell += is_line_end ? '\n' : line[at];
  }
  ++at;
  return true;
}

size_t record_length(std::string_view text, char delimiter) {
  const size_t end = std::min(text.find_first_of("\r\n"), text.size());
  if (text.substr(0, end).find('"') == std::string_view::npos) return end;
  const bool has_blanks = delimiter == ' ';
  auto is_line_end = [](char c) { return c == '\r' || c == '\n'; };
  auto is_delimiter = [&](char c) { return c == delimiter || (has_blanks && c == '\t'); };
  std::string cell;
  for (size_t at = 0;; ++at) {
    while (at < text.size() && (text[at] == ' ' || (text[at] == '\t' && delimiter != '\t'))) ++at;
    if (at < text.size() && text[at] == '"' && !quoted_cell(text, at, cell)) return text.size();
    while (at < text.size() && !is_delimiter(text[at]) && !is_line_end(text[at])) ++at;
    if (at >= text.size() || is_line_end(text[at])) return std::min(at, text.size());
  }
}

bool closes_quote(std::string_view line) {
  for (size_t at = line.find('"'); at != std::string_view::npos; at = line.find('"', at + 2))
    if (at + 1 >= line.size() || line[at + 1] != '"') return true;
  return false;
}

static size_t count_digits(std::string_view text) {
  return static_cast<size_t>(std::find_if_not(text.begin(), text.end(), is_digit) - text.begin());
}

bool is_formatted_number(std::string_view cell) {
  static constexpr std::string_view kSigns[] = {"$", "€", "£", "¥", "%", " ", "\u00a0", "\u202f", "'", ",", "."};
  bool has_digits = false;
  if (cell.starts_with('-') || cell.starts_with('+')) cell.remove_prefix(1);
  while (!cell.empty()) {
    size_t taken = count_digits(cell);
    has_digits = has_digits || taken > 0;
    for (std::string_view sign : kSigns)
      if (taken == 0 && cell.starts_with(sign)) taken = sign.size();
    if (taken == 0) return false;
    cell.remove_prefix(taken);
  }
  return has_digits;
}

bool is_date(std::string_view cell) {
  const size_t first = count_digits(cell);
  if (first == 0 || first > 4 || first == cell.size()) return false;
  const char sign = cell[first];
  cell.remove_prefix(first + 1);
  const size_t second = count_digits(cell);
  if (second == 0 || second > 2) return false;
  if (sign == ':') return first <= 2 && second == 2;
  if ((sign != '-' && sign != '/' && sign != '.') || second == cell.size() || cell[second] != sign) return false;
  cell.remove_prefix(second + 1);
  const size_t third = count_digits(cell);
  const bool ends = third == cell.size() || cell[third] == ' ' || cell[third] == 'T';
  return ends && (first == 4 ? third >= 1 && third <= 2 : third == 2 || third == 4);
}

std::string list_text(const std::vector<std::string>& names) {
  constexpr size_t kMost = 20;
  std::vector<std::string> shown(names.begin(),
                                 names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), kMost)));
  const std::string texts = join(shown, ", ", [](const std::string& name) { return excerpt(name, 40); });
  return texts + (names.size() > kMost ? str(" and ", names.size() - kMost, " more") : "");
}

bool is_missing_value(std::string_view cell) {
  constexpr std::string_view kTexts[] = {"",    "NA",   "N/A",  "n/a",  "na",   "#N/A", "<NA>", "NaN", "NAN",
                                         "nan", "null", "NULL", "none", "None", "?",    "-",    "--",  "."};
  return std::find(std::begin(kTexts), std::end(kTexts), cell) != std::end(kTexts);
}

// `line` without what is in quotes.
static std::string unquoted(std::string_view line) {
  std::string out;
  bool quoted = false;
  for (char c : line) {
    if (c == '"') quoted = !quoted;
    if (!quoted) out += c;
  }
  return out;
}

std::vector<std::pair<Delimiter, const char*>> possible_delimiters(std::string_view line) {
  std::string text = unquoted(trimmed(line));
  std::vector<std::pair<Delimiter, const char*>> out;
  if (text.find(',') != std::string::npos) out.emplace_back(Delimiter::kComma, "comma");
  if (text.find(';') != std::string::npos) out.emplace_back(Delimiter::kSemicolon, "semicolon");
  bool tabs = false;
  for (size_t at = text.find('\t'); at != std::string::npos; at = text.find('\t', at + 1)) {
    size_t before = text.find_last_not_of(kBlanks, at), after = text.find_first_not_of(kBlanks, at);
    // There may be nothing on one side: a quote that is not closed takes in the rest of the line.
    auto is_delimiter = [&](size_t i) { return i != std::string::npos && (text[i] == ',' || text[i] == ';'); };
    tabs = tabs || (!is_delimiter(before) && !is_delimiter(after));
  }
  if (tabs) out.emplace_back(Delimiter::kTab, "tab");
  return out;
}

}  // namespace thtrain
