#include "datasets/csv_text.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "compiler/base/error.h"
#include "compiler/base/escape.h"
#include "datasets/file.h"

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

std::optional<double> number_in(std::string_view text) {
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
    cell += line[at];
  }
  ++at;
  return true;
}

std::string list_text(const std::vector<std::string>& names) {
  constexpr size_t kMost = 20;
  std::vector<std::string> shown(names.begin(),
                                 names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), kMost)));
  return join(shown, ", ") + (names.size() > kMost ? str(" and ", names.size() - kMost, " more") : "");
}

bool is_missing_value(std::string_view cell) {
  constexpr std::string_view kTexts[] = {"",    "NA",   "N/A",  "n/a",  "na",   "#N/A", "<NA>", "NaN", "NAN",
                                         "nan", "null", "NULL", "none", "None", "?",    "-",    "--",  "."};
  return std::find(std::begin(kTexts), std::end(kTexts), cell) != std::end(kTexts);
}

UserError missing_values(const std::string& path, const std::vector<std::string>& columns, bool named,
                         const std::vector<int64_t>& counts, int64_t first_line) {
  constexpr size_t kMost = 20;
  int64_t total = 0;
  std::vector<std::string> texts;
  for (size_t i = 0; i < counts.size(); ++i) {
    total += counts[i];
    if (counts[i] > 0)
      texts.push_back(str(counts[i], " in column ", named ? str('"', excerpt(columns[i], 40), '"') : columns[i]));
  }
  const size_t more = texts.size() - std::min(texts.size(), kMost);
  texts.resize(texts.size() - more);
  return file_error(
      path, total == 1 ? "a value is missing" : str(total, " values are missing"),
      "a number in each cell of the columns to learn from",
      str(join(texts, ", "), more > 0 ? str(" and some in ", more, more == 1 ? " more column" : " more columns") : "",
          total == 1 ? "; it is" : "; the first is", " on line ", first_line),
      "data.impute = \"mean\", \"median\" or \"zero\" fills them; or leave the lines out");
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
