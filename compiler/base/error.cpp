#include "compiler/base/error.h"

namespace thtrain {

std::string Message::text() const {
  std::string out = str("error: ", what);
  auto field = [&](std::string_view label, const std::string& value) {
    if (value.empty()) return;
    std::string indented;
    for (char c : value) {
      indented += c;
      if (c == '\n') indented += "            ";
    }
    out += str("\n  ", label, std::string(10 - label.size(), ' '), indented);
  };
  field("expected:", expected);
  field("got:", got);
  field("node:", node);
  if (config) {
    field("config:", str(config.file, ":", config.line, ":", config.column));
    if (!config.source_line.empty()) {
      std::string number = std::to_string(config.line);
      std::string margin = std::string(number.size() < 5 ? 5 - number.size() : 0, ' ') + number;
      // A tab before the caret stays a tab, so that the caret stands under its word.
      std::string lead;
      for (int i = 0; i + 1 < config.column && i < static_cast<int>(config.source_line.size()); ++i)
        lead += config.source_line[static_cast<size_t>(i)] == '\t' ? '\t' : ' ';
      out += str("\n  ", margin, " | ", config.source_line);
      out += str("\n  ", std::string(margin.size(), ' '), " | ", lead,
                 std::string(static_cast<size_t>(config.length < 1 ? 1 : config.length), '^'));
    }
  }
  field("hint:", hint);
  return out;
}

Error::Error(std::vector<Message> messages) : messages_(std::move(messages)) {
  text_ = join(messages_, "\n", [](const Message& m) { return m.text(); });
}

namespace detail {
void fail_check(const char* condition, const char* file, int line, std::string what) {
  throw InternalError({.what = std::move(what),
                       .expected = condition,
                       .node = str(file, ":", line),
                       .hint = "this is a fault of thtrain, not of your program: please report it"});
}
}  // namespace detail

}  // namespace thtrain
