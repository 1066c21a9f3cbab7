#include "cli/toml_config.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <optional>

#include "cli/toml_check.h"
#include "cli/toml_nesting.h"
#include "compiler/base/file.h"
#include "compiler/base/nearest_name.h"
#include "compiler/base/system_error.h"
#include "compiler/base/utf8.h"
#include "datasets/content.h"

#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#define TOML_ENABLE_UNRELEASED_FEATURES 0
#include <toml++/toml.h>

namespace thtrain {

namespace {

ConfigPosition position_of(const TomlSource& source, const toml::source_region& region) {
  const int line = static_cast<int>(region.begin.line), column = static_cast<int>(region.begin.column);
  const bool one_line = region.end.line == region.begin.line;
  const int end = one_line ? static_cast<int>(region.end.column) : character_count(source.line(line)) + 1;
  const int shift = source.column_shift;
  return source.position(line, column + shift, one_line ? end - column : end - column - shift);
}

std::vector<std::string> split_lines(std::string_view text) {
  std::vector<std::string> lines;
  for (size_t start = 0; start <= text.size();) {
    size_t end = std::min(text.find('\n', start), text.size());
    std::string_view line = text.substr(start, end - start);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.emplace_back(line);
    start = end + 1;
  }
  return lines;
}

ConfigNode convert(const toml::node& node, const TomlSource& source) {
  ConfigNode out;
  if (const toml::table* table = node.as_table()) {
    for (const auto& [key, value] : *table) {
      ConfigNode child = convert(value, source);
      child.key = std::string(key.str());
      child.key_position = position_of(source, key.source());
      out.children.push_back(std::move(child));
    }
    // The library sorts by name.
    std::stable_sort(out.children.begin(), out.children.end(), [](const ConfigNode& a, const ConfigNode& b) {
      return std::pair(a.key_position.line, a.key_position.column) <
             std::pair(b.key_position.line, b.key_position.column);
    });
  } else if (const toml::array* array = node.as_array()) {
    out.kind = ConfigNode::Kind::kArray;
    for (const toml::node& element : *array) out.children.push_back(convert(element, source));
  } else if (const auto* boolean = node.as_boolean()) {
    out = ConfigNode::of(boolean->get());
  } else if (const auto* integer = node.as_integer()) {
    out = ConfigNode::of(integer->get());
  } else if (const auto* number = node.as_floating_point()) {
    out = ConfigNode::of(number->get());
  } else if (const auto* text = node.as_string()) {
    out = ConfigNode::of(text->get());
  } else {
    out.kind = ConfigNode::Kind::kDate;
  }
  out.position = position_of(source, node.source());
  if (out.kind == ConfigNode::Kind::kDate) {
    const std::string& line = source.line(static_cast<int>(node.source().begin.line));
    out.text = line.substr(byte_of_character(line, out.position.column - 1), static_cast<size_t>(out.position.length));
  }
  return out;
}

// What the system is given of a path would end there, and no other text has one.
void refuse_zeros(const ConfigNode& node, Findings& findings) {
  if (node.kind == ConfigNode::Kind::kString && node.text.find('\0') != std::string::npos)
    findings.add({.what = "a string holds the character U+0000",
                  .expected = "text without it",
                  .got = description(node),
                  .config = node.position});
  for (const ConfigNode& child : node.children) refuse_zeros(child, findings);
}

// ---- mistakes of syntax ----

// A value that has no mistakes, for a message.
std::string description_of(std::string_view value) {
  const std::string text = str("v = ", value);
  const TomlSource source{.file = "", .lines = split_lines(text)};
  const auto parsed = toml::parse(text);
  return parsed ? description(convert(*parsed.table().get("v"), source)) : std::string(value);
}

// What the library says of a text in which the check finds no mistake.
Message complaint(const toml::parse_error& error, const TomlSource& source) {
  return {.what = str("not valid TOML: ", error.description()),
          .expected = "a text that toml++ reads",
          .config = position_of(source, error.source())};
}

// Whether a text nests too deep for the parser, after a finding.
bool is_too_deep(std::string_view text, const TomlSource& source, Findings& findings) {
  const size_t at = first_too_deep(text);
  if (at == std::string_view::npos) return false;
  const std::string_view before = text.substr(0, at);
  const size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  const int line = static_cast<int>(1 + std::count(before.begin(), before.end(), '\n'));
  const int column = 1 + character_count(before.substr(line_start)) + source.column_shift;
  findings.add({.what = kTooDeep, .expected = kAllowedDepth, .config = source.position(line, column, 1)});
  return true;
}

}  // namespace

ConfigNode parse_toml(std::string_view text, const std::string& file, Findings& findings) {
  constexpr int kMaxMistakes = 20;
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  TomlSource source{.file = file, .lines = split_lines(text)};
  ConfigNode root;
  root.incomplete = is_too_deep(text, source, findings);
  if (!root.incomplete) {
    TomlCheck check = check_toml(text, source, kMaxMistakes, description_of);
    root.incomplete = !check.mistakes.empty();
    if (check.has_more)
      check.mistakes.back().hint +=
          str(check.mistakes.back().hint.empty() ? "" : ";\n", "there are more mistakes behind these ", kMaxMistakes);
    for (Message& mistake : check.mistakes) findings.add(std::move(mistake));
    const auto parsed = toml::parse(check.rest);
    if (parsed)
      root.children = std::move(convert(parsed.table(), source).children);
    else
      findings.add(complaint(parsed.error(), source));
    refuse_zeros(root, findings);
  }
  root.position.file = file;
  root.position.line = root.position.column = 1;
  return root;
}

// What cannot be read as an experiment, and which file of the folder may have been meant.
static UserError unreadable(const std::string& path, const std::string& got, bool exists) {
  namespace fs = std::filesystem;
  std::string near;
  fs::path folder = fs::path(path).parent_path();
  if (!exists) {
    std::error_code ignored;
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder.empty() ? "." : folder, ignored))
      if (entry.path().extension() == ".toml") names.push_back(entry.path().filename().string());
    std::erase(names, fs::path(path).filename().string());  // a link that leads nowhere
    std::sort(names.begin(), names.end());
    near = nearest_name(fs::path(path).filename().string(), names);
  }
  return UserError({.what = str("cannot read the experiment ", path),
                    .expected = "a TOML file",
                    .got = got,
                    .hint = near.empty() ? "" : str("did you mean ", (folder / near).string(), "?")});
}

static std::string read_config_text(const std::string& path) {
  constexpr size_t kMost = size_t{16} << 20;
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0 && errno == ENOENT) {
    const std::string target = target_of_link(path);
    throw unreadable(path, target.empty() ? "no such file" : str("a link to ", target, ", which is not there"), false);
  }
  if (file < 0) throw unreadable(path, system_error_text(errno), true);
  std::string text;
  char part[65536];
  ssize_t count = 0;
  int error_number = 0;
  while (text.size() <= kMost && (count = ::read(file, part, sizeof part)) != 0) {
    if (count > 0) text.append(part, static_cast<size_t>(count));
    if (count < 0 && errno != EINTR) {
      error_number = errno;
      break;
    }
  }
  ::close(file);
  if (error_number != 0) throw unreadable(path, system_error_text(error_number), true);
  if (text.size() > kMost) throw unreadable(path, "a file of more than 16 MiB", true);
  return text;
}

// Another file altogether would give a mistake for each of its lines. Every experiment begins with a key, a section or
// a comment.
static void refuse_other_files(const std::string& path, std::string_view text) {
  const std::string_view beginning = text.substr(0, 256);
  const Content content = content_of(beginning);
  if (content == Content::kEmpty) return;
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  for (size_t start = 0; start < text.size();) {
    const size_t end = std::min(text.find('\n', start), text.size());
    const std::string_view line = text.substr(start, end - start);
    const size_t first = line.find_first_not_of(" \t\r");
    start = end + 1;
    if (first == std::string_view::npos || line[first] == '#') continue;
    const bool is_text = content == Content::kText || content == Content::kBytes;
    const bool may_be_toml = line[first] == '[' || line.find('=') != std::string_view::npos;
    if (is_text && may_be_toml) return;
    std::string hint;
    if (path.ends_with(".csv") || content == Content::kNpy || content == Content::kZip || content == Content::kIdx)
      hint = "an experiment names such a file as data.train: configs/ has examples";
    throw UserError({.what = str(path, ": this is no experiment"),
                     .expected = "a TOML file",
                     .got = content_text(beginning),
                     .hint = hint});
  }
}

ConfigNode read_toml_file(const std::string& path, Findings& findings) {
  const std::string text = read_config_text(path);
  refuse_other_files(path, text);
  return parse_toml(text, path, findings);
}

// Digits with or without a sign, more than an int64 has. (TOML takes none that begin with 0.)
static bool is_long_integer(const std::string& value) {
  const size_t first = std::min(value.find_first_not_of("+-"), value.size());
  const bool all_digits = value.find_first_not_of("0123456789", first) == std::string::npos;
  return first <= 1 && all_digits && value.size() - first >= 19 && value[first] != '0';
}

ConfigNode parse_toml_value(const std::string& text, size_t start, const ConfigPosition& position, Findings& findings) {
  constexpr std::string_view kPrefix = "v = ";
  std::string value = text.substr(start);
  TomlSource source{.file = position.file, .lines = {text}, .first_line = position.line};
  source.column_shift = position.column - 1 - static_cast<int>(kPrefix.size());
  bool opened = !value.empty() && std::string_view("\"'[{").find(value[0]) != std::string_view::npos;
  ConfigNode node;
  node.position = position;
  if (opened && is_too_deep(str(kPrefix, value), source, findings)) return node;
  const std::string pair = str(kPrefix, value);
  const TomlCheck check = check_toml(pair, source, 1, description_of);
  const auto parsed = toml::parse(check.mistakes.empty() ? pair : "");
  const bool is_toml = parsed && parsed.table().size() == 1;
  if (is_toml) {
    node = convert(*parsed.table().get("v"), source);
    refuse_zeros(node, findings);
  } else if (opened) {
    findings.add(!check.mistakes.empty() ? check.mistakes[0]
                 : !parsed               ? complaint(parsed.error(), source)
                                         : Message{.what = "not valid TOML: more than one value",
                                                   .expected = "one value",
                                                   .got = value,
                                                   .config = position});
    node.position = position;
    return node;
  } else if (is_long_integer(value)) {
    findings.add({.what = "the integer does not fit 64 bits",
                  .expected = str("an integer from ", std::numeric_limits<int64_t>::min(), " to ",
                                  std::numeric_limits<int64_t>::max()),
                  .got = value,
                  .config = position});
    return node;
  } else {
    // ".5" and "1." are no numbers of TOML, but they are to everybody who types them.
    double number = 0;
    auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    const bool is_whole = end == value.data() + value.size();
    if (error == std::errc::result_out_of_range && is_whole && std::isinf(std::strtod(value.c_str(), nullptr))) {
      findings.add({.what = "the number is too large",
                    .expected = "a number that float64 holds, up to 1.8e308",
                    .got = value,
                    .config = position});
      return node;
    }
    bool is_number = error == std::errc() && is_whole && value.find('.') != std::string::npos;
    node = is_number ? ConfigNode::of(number) : ConfigNode::of(value);
    node.position = position;
  }
  if (!opened) {
    node.unquoted = true;
    node.text = value;
  }
  return node;
}

}  // namespace thtrain
