#include "cli/toml_config.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "datasets/file.h"

// The library asserts, or in a release assumes, that a header such as "[=]" starts with a key, before it finds out and
// says so itself. Without its assertions every text ends in a value or in an error.
#undef NDEBUG
#define TOML_ASSERT(condition) static_assert(true)
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#define TOML_ENABLE_UNRELEASED_FEATURES 0
#include <toml++/toml.h>

namespace thtrain {

using Kind = ConfigNode::Kind;

namespace {

/// The lines of a text, for carets. An override is a text of one line, of which the parser sees the end.
struct Source {
  std::string file;
  std::vector<std::string> lines;
  int first_line = 1;
  int column_shift = 0;  // added to the parser's columns

  ConfigPosition place(const toml::source_region& region) const {
    int line = static_cast<int>(region.begin.line), column = static_cast<int>(region.begin.column) + column_shift;
    ConfigPosition out;
    out.file = file, out.line = line + first_line - 1, out.column = column;
    if (line < 1 || line > static_cast<int>(lines.size())) return out;
    out.source_line = lines[static_cast<size_t>(line) - 1];
    bool one_line = region.end.line == region.begin.line;
    int end = one_line ? static_cast<int>(region.end.column) + column_shift : character_count(out.source_line) + 1;
    out.length = std::max(1, end - column);
    return out;
  }
};

// The byte where a column's character starts; columns count characters, from 1.
size_t byte_of(const std::string& line, int column) {
  size_t at = 0;
  for (; at < line.size(); ++at)
    if ((line[at] & 0xC0) != 0x80 && --column <= 0) break;
  return at;
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

ConfigNode convert(const toml::node& node, const Source& source) {
  ConfigNode out;
  if (const toml::table* table = node.as_table()) {
    for (const auto& [key, value] : *table) {
      ConfigNode child = convert(value, source);
      child.key = std::string(key.str());
      child.key_position = source.place(key.source());
      out.children.push_back(std::move(child));
    }
    // The library sorts by name.
    std::stable_sort(out.children.begin(), out.children.end(), [](const ConfigNode& a, const ConfigNode& b) {
      return std::pair(a.key_position.line, a.key_position.column) <
             std::pair(b.key_position.line, b.key_position.column);
    });
  } else if (const toml::array* array = node.as_array()) {
    out.kind = Kind::kArray;
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
    out.kind = Kind::kDate;
  }
  out.position = source.place(node.source());
  if (out.kind == Kind::kDate) {
    size_t start = byte_of(out.position.source_line, out.position.column);
    out.text = out.position.source_line.substr(start, static_cast<size_t>(out.position.length));
  }
  return out;
}

// ---- mistakes of syntax ----

bool is_redefinition(std::string_view description) {
  return description.find("cannot redefine") != std::string_view::npos;
}

// "cannot redefine existing integer 'a.b'" -> "a.b"
std::string name_in_quotes(std::string_view description) {
  size_t first = description.find('\''), last = description.find('\'', first + 1);
  if (last == std::string_view::npos) return "";
  return std::string(description.substr(first + 1, last - first - 1));
}

// Where a key of this name was written last.
const ConfigNode* last_of_name(const ConfigNode& node, const std::string& key) {
  const ConfigNode* best = nullptr;
  for (const ConfigNode& child : node.children)
    for (const ConfigNode* found : {child.key == key ? &child : nullptr, last_of_name(child, key)})
      if (found && (!best || found->key_position.line >= best->key_position.line)) best = found;
  return best;
}

Message repeated_key(const Source& source, const toml::parse_error& error, const std::vector<std::string>& lines) {
  std::string path = name_in_quotes(error.description());
  std::string key = path.substr(path.rfind('.') + 1);  // npos + 1 is 0
  Message out{.what = str("key ", path, " is given twice"), .config = source.place(error.source())};
  ConfigPosition& place = out.config;
  const std::string& line = place.source_line;
  size_t start = std::min(line.find_first_not_of(" \t"), line.size());
  // The parser points behind the key, or at the bracket of a header.
  size_t at = line.rfind(key, byte_of(line, place.column));
  if (at == std::string::npos) at = line.find(key);
  if (at == std::string::npos) at = start;
  place.column = character_count(line.substr(0, at)) + 1;
  place.length = character_count(key);
  bool begins_line = at == start || line.find_first_not_of("[ \t") == at;
  std::vector<std::string> before(lines.begin(), lines.begin() + (error.source().begin.line - 1));
  auto parsed = toml::parse(join(before, "\n"));
  if (parsed && begins_line) {
    ConfigNode root = convert(parsed.table(), source);
    if (const ConfigNode* first = last_of_name(root, key))
      out.hint = str("it is first given in line ", first->key_position.line);
  }
  return out;
}

// Text where a value should be, such as `True` or `digits`: where it starts, if the byte `at` is in it.
size_t bare_word(const std::string& line, size_t at) {
  size_t start = at;
  if (line.find_first_not_of(" \t") == line.find('[')) return std::string::npos;  // a header
  while (start > 0 && std::string_view(" \t=,[{").find(line[start - 1]) == std::string_view::npos) --start;
  size_t before = start == 0 ? std::string::npos : line.find_last_not_of(" \t", start - 1);
  bool is_value = before != std::string::npos && std::string_view("=,[").find(line[before]) != std::string_view::npos;
  bool letter = start < line.size() && std::isalpha(static_cast<unsigned char>(line[start]));
  return is_value && letter ? start : std::string::npos;
}

Message syntax_mistake(const Source& source, const toml::parse_error& error) {
  std::string what(error.description());
  bool in_string = what.find("string: ") != std::string::npos;
  size_t colon = what.find(": ");
  if (what.starts_with("Error while parsing") && colon != std::string::npos) what = what.substr(colon + 2);
  if (what.starts_with("Encountered")) what[0] = 'e';
  Message out{.what = str("not valid TOML: ", what), .config = source.place(error.source())};
  const std::string& line = out.config.source_line;
  size_t at = byte_of(line, out.config.column);
  size_t word_start = bare_word(line, at);
  if (word_start != std::string::npos) {
    std::string word = line.substr(word_start, line.find_first_of(" \t#,]}", word_start) - word_start);
    std::string lower = word;
    for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    bool boolean = lower == "true" || lower == "false";
    bool plain = word.find_first_of("\"'=[{") == std::string::npos;
    out.what = "not valid TOML: this is not a value";
    out.config.column = character_count(line.substr(0, word_start)) + 1;
    out.config.length = character_count(word);
    if (plain) out.hint = boolean ? str("write ", lower) : str("text goes into quotes: \"", word, "\"");
  } else if (in_string && at == line.size()) {
    out.what = "not valid TOML: the string has no closing quote";
  }
  return out;
}

// Whether a mistake ends with its line, so that the lines behind it can be read without that line.
bool stands_alone(const std::string& line, const toml::parse_error& error) {
  size_t start = line.find_first_not_of(" \t");
  if (start == std::string::npos || line[start] == '[') return false;
  if (line.find("\"\"\"") != std::string::npos || line.find("'''") != std::string::npos) return false;
  int depth = 0;
  for (char c : line) depth += (c == '[' || c == '{') - (c == ']' || c == '}');
  if (depth != 0) return false;
  auto alone = toml::parse(line);
  return is_redefinition(error.description()) ? alone || is_redefinition(alone.error().description()) : !alone;
}

}  // namespace

ConfigNode parse_toml(std::string_view text, const std::string& file, Findings& findings) {
  constexpr int kMostMistakes = 20;
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  Source source{.file = file, .lines = split_lines(text)};
  std::vector<std::string> lines = source.lines;
  ConfigNode root;
  for (int mistakes = 0; mistakes < kMostMistakes; ++mistakes) {
    auto parsed = toml::parse(join(lines, "\n"));
    root.incomplete = mistakes > 0;
    if (parsed) {
      root.children = std::move(convert(parsed.table(), source).children);
      break;
    }
    const toml::parse_error& error = parsed.error();
    bool twice = is_redefinition(error.description());
    findings.add(twice ? repeated_key(source, error, lines) : syntax_mistake(source, error));
    root.incomplete = true;
    size_t index = error.source().begin.line - 1;
    if (index >= lines.size() || !stands_alone(lines[index], error)) break;
    lines[index].clear();
  }
  root.position.file = file;
  root.position.line = root.position.column = 1;
  return root;
}

ConfigNode read_toml_file(const std::string& path, Findings& findings) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  std::ifstream stream(path, std::ios::binary);
  if (!stream || fs::is_directory(path, ignored)) {
    fs::path folder = fs::path(path).parent_path();
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder.empty() ? "." : folder, ignored))
      if (entry.path().extension() == ".toml") names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    std::string near = nearest_name(fs::path(path).filename().string(), names);
    bool directory = fs::is_directory(path, ignored), exists = fs::exists(path, ignored);
    throw UserError({.what = str("cannot read the experiment ", path),
                     .expected = "a TOML file",
                     .got = directory ? "a folder"
                            : exists  ? "a file that may not be read"
                                      : "no such file",
                     .hint = near.empty() || exists ? "" : str("did you mean ", (folder / near).string(), "?")});
  }
  std::string text;
  for (char part[1 << 14]; stream.read(part, sizeof part), stream.gcount() > 0;)
    text.append(part, static_cast<size_t>(stream.gcount()));
  if (stream.bad()) throw file_error(path, "the file cannot be read", {}, std::strerror(errno));
  return parse_toml(text, path, findings);
}

ConfigNode parse_toml_value(const std::string& text, size_t start, const ConfigPosition& place, Findings& findings) {
  constexpr std::string_view kPrefix = "v = ";
  std::string value = text.substr(start);
  Source source{.file = place.file, .lines = {text}, .first_line = place.line};
  source.column_shift = place.column - 1 - static_cast<int>(kPrefix.size());
  auto parsed = toml::parse(str(kPrefix, value));
  bool is_toml = parsed && parsed.table().size() == 1;
  bool opened = !value.empty() && std::string_view("\"'[{").find(value[0]) != std::string_view::npos;
  ConfigNode node;
  if (is_toml) {
    node = convert(*parsed.table().get("v"), source);
  } else if (opened) {
    findings.add(parsed ? Message{.what = "not valid TOML: more than one value", .config = place}
                        : syntax_mistake(source, parsed.error()));
    node.position = place;
    return node;
  } else {
    // ".5" and "1." are no numbers of TOML, but they are to everybody who types them.
    double number = 0;
    auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    bool is_number = error == std::errc() && end == value.data() + value.size() && value.find('.') != std::string::npos;
    node = is_number ? ConfigNode::of(number) : ConfigNode::of(value);
    node.position = place;
  }
  if (!opened) {
    node.unquoted = true;
    node.text = value;
  }
  return node;
}

}  // namespace thtrain
