#include "cli/overrides.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "cli/toml_config.h"
#include "cli/toml_nesting.h"
#include "compiler/base/utf8.h"

namespace thtrain {

namespace {

constexpr const char* kForm = "write section.key=value, as in trainer.learning_rate=0.1";

/// One override, and where its parts are.
struct Override {
  const std::string& text;
  int line;

  ConfigPosition position(size_t start, size_t length) const {
    std::string_view view = text;
    ConfigPosition out;
    out.file = kCommandLine;
    out.line = line;
    out.column = character_count(view.substr(0, start)) + 1;
    out.length = std::max(1, character_count(view.substr(start, length)));
    out.source_line = text;
    return out;
  }
};

bool is_bare_key(const std::string& key) {
  return !key.empty() && std::all_of(key.begin(), key.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-';
  });
}

// What the first `length` bytes name, made where there is nothing yet; null after a finding.
ConfigNode* find_position(ConfigNode& root, const Override& given, size_t length, Findings& findings) {
  ConfigNode* node = &root;
  std::string path;
  const auto begin = given.text.begin();
  const auto dots = std::count(begin, begin + static_cast<std::ptrdiff_t>(length), '.');
  const bool is_too_deep = static_cast<size_t>(dots) >= kMaxLevels;
  for (size_t levels = 1, start = 0; is_too_deep; ++levels, start = given.text.find('.', start) + 1) {
    if (levels <= kMaxLevels) continue;
    findings.add({.what = kTooDeep, .expected = kAllowedDepth, .config = given.position(start, 1)});
    return nullptr;
  }
  for (size_t start = std::min(given.text.find_first_not_of(" \t"), length); start <= length;) {
    size_t end = std::min(given.text.find('.', start), length);
    std::string key = given.text.substr(start, end - start);
    ConfigPosition position = given.position(start, end - start);
    auto refuse = [&](std::string what, std::string hint) {
      findings.add({.what = std::move(what), .config = position, .hint = std::move(hint)});
      return nullptr;
    };
    if (!is_bare_key(key)) return refuse(str('"', key, "\" is not a key"), kForm);
    if (node->is_array()) {
      size_t index = 0, size = node->children.size();
      auto [stop, error] = std::from_chars(key.data(), key.data() + key.size(), index);
      if (stop != key.data() + key.size() || error != std::errc() || index >= size) {
        std::string elements =
            size == 0 ? "it is empty" : str("its elements are ", path, ".0 to ", path, ".", size - 1);
        // Where a part of the file could not be read, the element may be there.
        return root.incomplete ? nullptr : refuse(str(path, " has no element ", key), elements);
      }
      node = &node->children[index];
    } else if (node->is_table()) {
      ConfigNode* entry = node->find(key);
      if (!entry) {
        ConfigNode fresh;
        fresh.position = fresh.key_position = position;
        fresh.key = key;
        entry = &node->children.emplace_back(std::move(fresh));
      }
      node = entry;
      node->key_position = end == length ? position : node->key_position;
    } else {
      return refuse(str(path, " is not a table"), str("it is ", description(*node)));
    }
    path += str(path.empty() ? "" : ".", key);
    start = end + 1;
  }
  return node;
}

}  // namespace

void apply_overrides(ConfigNode& root, const std::vector<std::string>& overrides, Findings& findings) {
  for (size_t i = 0; i < overrides.size(); ++i) {
    const std::string& text = overrides[i];
    Override given{text, static_cast<int>(i) + 1};
    size_t equals = std::min(text.find('='), text.size());
    size_t value_start = text.find_first_not_of(" \t", equals + 1);
    if (equals == text.size() || value_start == std::string::npos) {
      findings.add({.what = str('"', text, "\" has no ", equals == text.size() ? "=" : "value behind the ="),
                    .config = given.position(0, text.size()),
                    .hint = kForm});
      continue;
    }
    size_t key_length = equals;
    while (key_length > 0 && std::isspace(static_cast<unsigned char>(text[key_length - 1]))) --key_length;
    size_t findings_before = findings.size();
    ConfigNode value = parse_toml_value(text, value_start, given.position(value_start, text.size()), findings);
    const bool has_value = findings.size() == findings_before || value.kind == ConfigNode::Kind::kString;
    ConfigNode unread;  // a value that cannot be read leaves no table of its key
    if (!has_value) unread = root;
    ConfigNode* position = find_position(has_value ? root : unread, given, key_length, findings);
    if (!position || !has_value) continue;
    value.key = position->key;
    value.key_position = position->key_position;
    *position = std::move(value);
  }
}

}  // namespace thtrain
