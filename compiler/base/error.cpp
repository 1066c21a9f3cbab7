#include "compiler/base/error.h"

#include <algorithm>
#include <span>

#include "compiler/base/escape.h"
#include "compiler/base/utf8.h"

namespace thtrain {

namespace {

constexpr size_t kMaxMessages = 20;  // of one error; nobody reads more at once
constexpr size_t kLongestLine = 2000, kLineEnd = 200;
constexpr size_t kWidestQuote = 110, kBeforeCaret = 40;

// A line that is too long to be read keeps its beginning and its end.
std::string shortened(const std::string& line) {
  if (line.size() <= kLongestLine) return line;
  const size_t first = whole_characters(line, kLongestLine - kLineEnd);
  size_t second = line.size() - kLineEnd;
  while (second < line.size() && !begins_character(line[second])) ++second;
  return str(line.substr(0, first), " ... ", line.substr(second));
}

// Several lines, those after the first indented.
std::string lines_text(const std::string& value, size_t indent) {
  std::string out;
  for (size_t start = 0; start <= value.size();) {
    size_t end = std::min(value.find('\n', start), value.size());
    if (start > 0) out += "\n" + std::string(indent, ' ');
    out += shortened(printable(std::string_view(value).substr(start, end - start)));
    start = end + 1;
  }
  return out;
}

// Columns of a character of printable_characters(). What a tab takes is the terminal's choice.
size_t width_of(const std::string& cell) {
  if (cell == "\\t") return 1;
  return static_cast<size_t>(character_count(cell));
}

/// A line of the configuration as it is shown, and the carets below it.
struct Quote {
  std::string line, carets;
};

// `column` counts from 1. Of a long line the part around the carets is shown.
Quote quote(const ConfigPosition& position) {
  std::vector<std::string> cells = printable_characters(position.source_line);
  const size_t caret = std::min(static_cast<size_t>(std::max(position.column, 1)) - 1, cells.size());
  const size_t caret_end = caret + static_cast<size_t>(std::max(position.length, 1));
  auto width = [&](size_t first, size_t last) {
    size_t out = 0;
    for (size_t i = first; i < std::min(last, cells.size()); ++i) out += width_of(cells[i]);
    return out;
  };
  size_t first = 0, last = cells.size();
  if (width(0, last) > kWidestQuote) {
    first = caret;
    while (first > 0 && width(first - 1, caret) <= kBeforeCaret) --first;
    last = first;
    for (size_t used = 0; last < cells.size() && used < kWidestQuote; ++last) used += width(last, last + 1);
  }
  const bool is_whole = first == 0 && last == cells.size();
  Quote out{.line = first > 0 ? "..." : "", .carets = first > 0 ? "   " : ""};
  for (size_t i = first; i < last; ++i) {
    // A tab stays a tab, before the carets too, so that they are under their word; in a part of a line it is a space.
    const bool is_tab = is_whole && cells[i] == "\\t";
    out.line += is_tab ? "\t" : cells[i] == "\\t" ? " " : cells[i];
    if (i < caret) out.carets += is_tab ? std::string("\t") : std::string(width(i, i + 1), ' ');
  }
  if (last < cells.size()) out.line += "...";
  out.carets += std::string(std::max<size_t>(width(caret, std::min(caret_end, last)), 1), '^');
  return out;
}

}  // namespace

std::string Message::text() const {
  constexpr size_t kIndent = 12;
  // One line: a name in it may have a line end.
  std::string out = str("error: ", shortened(printable(what)));
  auto field = [&](std::string_view label, const std::string& value) {
    if (!value.empty()) out += str("\n  ", label, std::string(10 - label.size(), ' '), lines_text(value, kIndent));
  };
  field("expected:", expected);
  field("got:", got);
  field("node:", node);
  if (config) {
    field("config:", str(printable(config.file), ":", config.line, ":", config.column));
    if (!config.source_line.empty()) {
      std::string number = std::to_string(config.line);
      std::string margin = std::string(number.size() < 5 ? 5 - number.size() : 0, ' ') + number;
      Quote quoted = quote(config);
      out += str("\n  ", margin, " | ", quoted.line);
      out += str("\n  ", std::string(margin.size(), ' '), " | ", quoted.carets);
    }
  }
  field("hint:", hint);
  return out;
}

Error::Error(std::vector<Message> messages) : messages_(std::move(messages)) {
  const size_t shown = std::min(messages_.size(), kMaxMessages);
  text_ = join(std::span(messages_).first(shown), "\n", [](const Message& m) { return m.text(); });
  if (size_t more = messages_.size() - shown; more > 0)
    text_ += str("\nerror: ", more, more == 1 ? " more mistake is" : " more mistakes are", " not shown");
}

UserError::UserError(Message message) : Error({std::move(message)}) {}

InternalError::InternalError(Message message) : Error({std::move(message)}) {}

Interrupted::Interrupted(int signal, std::string what) : Error({Message{.what = std::move(what)}}), signal_(signal) {}

namespace detail {
void fail_check(const char* condition, const char* file, int line, std::string what) {
  throw InternalError({.what = std::move(what),
                       .expected = condition,
                       .node = str(file, ":", line),
                       .hint = "this is a fault of thtrain, not of your program: please report it"});
}
}  // namespace detail

}  // namespace thtrain
