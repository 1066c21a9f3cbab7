#include "config/config_node.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <tuple>

#include "compiler/base/utf8.h"

namespace thtrain {

ConfigNode ConfigNode::of(bool value) {
  return {.kind = ConfigNode::Kind::kBool, .boolean = value};
}
ConfigNode ConfigNode::of(int64_t value) {
  return {.kind = ConfigNode::Kind::kInt, .integer = value};
}
ConfigNode ConfigNode::of(double value) {
  return {.kind = ConfigNode::Kind::kFloat, .number = value};
}
ConfigNode ConfigNode::of(std::string value) {
  return {.kind = ConfigNode::Kind::kString, .text = std::move(value)};
}

const ConfigNode* ConfigNode::find(std::string_view name) const {
  if (kind != ConfigNode::Kind::kTable) return nullptr;
  auto found =
      std::find_if(children.begin(), children.end(), [&](const ConfigNode& child) { return child.key == name; });
  return found == children.end() ? nullptr : &*found;
}
ConfigNode* ConfigNode::find(std::string_view name) {
  return const_cast<ConfigNode*>(static_cast<const ConfigNode*>(this)->find(name));
}

// ---- text ----

static std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\r':
        out += "\\r";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
          const char* digits = "0123456789ABCDEF";
          out += str("\\u00", digits[static_cast<unsigned char>(c) >> 4], digits[c & 15]);
        } else {
          out += c;
        }
    }
  }
  return out + '"';
}

static std::string float_text(double value) {
  std::string text = number_text(value);
  return text.find_first_not_of("-0123456789") == std::string::npos ? text + ".0"
                                                                    : text;  // "1" would read as an integer
}

static std::string key_text(const std::string& key) {
  bool bare = !key.empty() && std::all_of(key.begin(), key.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-';
  });
  return bare ? key : quoted(key);
}

std::string toml_value(const ConfigNode& node) {
  switch (node.kind) {
    case ConfigNode::Kind::kBool:
      return node.boolean ? "true" : "false";
    case ConfigNode::Kind::kInt:
      return std::to_string(node.integer);
    case ConfigNode::Kind::kFloat:
      return float_text(node.number);
    case ConfigNode::Kind::kString:
      return quoted(node.text);
    case ConfigNode::Kind::kDate:
      return node.text;
    case ConfigNode::Kind::kArray:
      return str("[", join(node.children, ", ", toml_value), "]");
    case ConfigNode::Kind::kTable:
      break;
  }
  return str("{",
             join(node.children, ", ",
                  [](const ConfigNode& child) { return str(key_text(child.key), " = ", toml_value(child)); }),
             "}");
}

std::string description(const ConfigNode& node) {
  switch (node.kind) {
    case ConfigNode::Kind::kString: {
      // Long text is cut at 60 bytes, but never inside a UTF-8 character.
      const size_t end = whole_characters(node.text, 60);
      return str("a string, ", quoted(node.text.substr(0, end)), end < node.text.size() ? "..." : "");
    }
    case ConfigNode::Kind::kDate:
      return str("a date, ", node.text);
    case ConfigNode::Kind::kArray:
      return str("an array of ", node.children.size());
    case ConfigNode::Kind::kTable:
      return "a table";
    default:
      return toml_value(node);
  }
}

static bool is_array_of_tables(const ConfigNode& node) {
  return node.is_array() && !node.children.empty() &&
         std::all_of(node.children.begin(), node.children.end(), [](const ConfigNode& c) { return c.is_table(); });
}

static void write_table(std::string& out, const ConfigNode& table, const std::string& path) {
  for (const ConfigNode& child : table.children)
    if (!child.is_table() && !is_array_of_tables(child))
      out += str(key_text(child.key), " = ", toml_value(child), "\n");
  auto header = [&](const std::string& text) { out += str(out.empty() ? "" : "\n", text, "\n"); };
  for (const ConfigNode& child : table.children) {
    std::string inner = path.empty() ? key_text(child.key) : str(path, ".", key_text(child.key));
    if (child.is_table()) {
      header(str("[", inner, "]"));
      write_table(out, child, inner);
    } else if (is_array_of_tables(child)) {
      for (const ConfigNode& element : child.children) {
        header(str("[[", inner, "]]"));
        write_table(out, element, inner);
      }
    }
  }
}

std::string toml_text(const ConfigNode& table) {
  std::string out;
  write_table(out, table, "");
  return out;
}

// ---- findings ----

std::vector<Message> Findings::sorted() const {
  auto rank = [](const Message& m) {
    return std::make_tuple(m.config.file == kCommandLine, std::cref(m.config.file), m.config.line, m.config.column);
  };
  std::vector<Message> out = messages_;
  std::stable_sort(out.begin(), out.end(), [&](const Message& a, const Message& b) { return rank(a) < rank(b); });
  return out;
}

void Findings::raise() const {
  if (!messages_.empty()) throw UserError(sorted());
}

}  // namespace thtrain
