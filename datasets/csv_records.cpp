#include "datasets/csv_records.h"

#include <algorithm>

#include "compiler/base/escape.h"
#include "compiler/base/utf8.h"
#include "datasets/content.h"
#include "datasets/csv_text.h"

namespace thtrain {

using Delimiter = CsvOptions::Delimiter;

constexpr size_t kMostQuoted = size_t{1} << 20;

CsvRecords::CsvRecords(const std::string& path, const CsvOptions& options)
    : options_(options), file_(path), lines_(file_) {
  const std::string beginning = file_.beginning();
  const Content content = content_of(beginning);
  if (content == Content::kText || content == Content::kEmpty) return;
  std::string hint;
  if (content == Content::kGzip) hint = str("it is packed twice: gunzip -c ", path, " gives what is to be read");
  if (content == Content::kUtf16) hint = "save it in UTF-8";
  if (content == Content::kNpy || content == Content::kZip) hint = "source = \"npy\" reads .npy and .npz files";
  if (content == Content::kIdx) hint = "source = \"idx\" reads IDX files";
  throw file_error(path, "not a table", "text: lines of numbers", content_text(beginning), hint);
}

bool CsvRecords::next() {
  do {
    if (!lines_.next(text_)) return false;
  } while (trimmed(text_).empty());
  line_ = lines_.number();
  begin_ = lines_.begin();
  if (delimiter_ == 0) find_delimiter();
  cells_.clear();
  const size_t open = for_each_cell(text_, delimiter_, [&](std::string_view cell) { cells_.emplace_back(cell); });
  if (open != std::string_view::npos) join_lines(open);
  check_bytes();
  return true;
}

// The lines that follow, up to the one that closes the quote at `open` and all that open behind it.
void CsvRecords::join_lines(size_t open) {
  joined_ = text_;
  text_ = joined_;
  for (std::string_view line; lines_.next(line);) {
    joined_ += '\n';
    joined_ += line;
    text_ = joined_;
    if (joined_.size() - open > kMostQuoted) break;
    if (!closes_quote(line)) continue;
    open = for_each_cell(
        text_, delimiter_, [&](std::string_view cell) { cells_.emplace_back(cell); }, open);
    if (open == std::string_view::npos) return;
  }
  fail_open(open);
}

void CsvRecords::fail_open(size_t open) const {
  const std::string_view before = text_.substr(0, open);
  const int64_t line = line_ + std::count(before.begin(), before.end(), '\n');
  throw file_error(file_.path,
                   str("line ", line, ", character ", open - (before.rfind('\n') + 1) + 1, ": the quote is not closed"),
                   "a closing quote, on this line or within 1 MiB",
                   str('"', excerpt(text_.substr(open, text_.find('\n', open) - open), 40), '"'),
                   "a quote within quotes is written twice");
}

// Names in another encoding would be written as they are, and taken for one another.
void CsvRecords::check_bytes() const {
  const bool has_zero = text_.find('\0') != std::string_view::npos;
  if (!has_zero && first_not_utf8(text_) == std::string_view::npos) return;
  auto is_bad = [&](const std::string& cell) {
    return has_zero ? cell.find('\0') != std::string::npos : first_not_utf8(cell) != std::string_view::npos;
  };
  const auto bad = std::find_if(cells_.begin(), cells_.end(), is_bad);
  const size_t column = std::min<size_t>(static_cast<size_t>(bad - cells_.begin()), cells_.size() - 1);
  throw file_error(file_.path,
                   str("line ", line_, ", column ", column + 1, has_zero ? ": a byte 0" : ": not text in UTF-8"),
                   has_zero ? "text" : "UTF-8", str("\"", excerpt(cells_[column], 40), "\""),
                   has_zero ? "is the file damaged?" : "save the file in UTF-8");
}

// With the lines that its quotes join, as far as that can be told without the delimiter.
std::string CsvRecords::first_record() const {
  std::string out(text_);
  TextLines ahead(file_);
  std::string_view line;
  while (ahead.number() < line_ && ahead.next(line)) {
  }
  while (std::count(out.begin(), out.end(), '"') % 2 == 1 && out.size() < kMostQuoted && ahead.next(line)) {
    out += '\n';
    out += line;
  }
  return out;
}

void CsvRecords::find_delimiter() {
  Delimiter delimiter = options_.delimiter;
  if (delimiter == Delimiter::kAuto) {
    auto possible = possible_delimiters(first_record());
    if (options_.decimal == ',' && possible.size() > 1)
      std::erase_if(possible, [](const auto& one) { return one.first == Delimiter::kComma; });
    if (possible.size() > 1) {
      throw file_error(file_.path, str("line ", line_, ": the delimiter is not clear"),
                       join(possible, " or ", [](auto& p) { return str("data.delimiter = \"", p.second, '"'); }),
                       excerpt(trimmed(text_)));
    }
    delimiter = possible.empty() ? Delimiter::kComma : possible[0].first;
  }
  delimiter_ = delimiter == Delimiter::kSemicolon ? ';'
               : delimiter == Delimiter::kTab     ? '\t'
               : delimiter == Delimiter::kSpace   ? ' '
                                                  : ',';
}

}  // namespace thtrain
