#include "compiler/base/config.h"

#include <algorithm>
#include <cctype>
#include <cmath>

namespace thtrain {

using Value = FieldAccess::Value;
using Container = FieldAccess::Container;
using Kind = ConfigNode::Kind;

bool Range::contains(double value) const {
  return (low_excluded ? value > low : value >= low) && (high_excluded ? value < high : value <= high);
}

std::string Range::text() const {
  bool from = std::isfinite(low), to = std::isfinite(high);
  if (from && to && !low_excluded && !high_excluded) return str("from ", low, " to ", high);
  std::string out;
  if (from) out += str(low_excluded ? "above " : "at least ", low);
  if (to) out += str(from ? " and " : "", high_excluded ? "below " : "at most ", high);
  return out;
}

const FieldSpec* Schema::find(const std::string& name) const {
  auto found = std::find_if(fields.begin(), fields.end(), [&](const FieldSpec& field) { return field.name == name; });
  return found == fields.end() ? nullptr : &*found;
}

static std::string one_of_text(const std::vector<std::string>& names) {
  return str(names.size() > 1 ? "one of " : "",
             join(names, ", ", [](const std::string& n) { return str('"', n, '"'); }));
}

static std::vector<std::string> names_of(const std::vector<Alternative>& alternatives) {
  std::vector<std::string> names;
  for (const Alternative& alternative : alternatives) names.emplace_back(alternative.name);
  return names;
}

static std::string element_text(const FieldSpec& field) {
  std::string range = field.range.text();
  auto number = [&](std::string out) {
    if (!range.empty()) out += (range.starts_with("a") && !field.range.low_excluded ? ", " : " ") + range;
    return field.unit.empty() ? out : str(out, " (", field.unit, ")");
  };
  switch (field.access->value) {
    case Value::kBool:
      return "true or false";
    case Value::kInt:
      return number("an integer");
    case Value::kFloat:
      return number("a number");
    case Value::kString:
      return field.choices.empty() ? "a string" : one_of_text(field.choices);
      return "an integer or a string";
    case Value::kChoice:
      return one_of_text(field.choices);
    case Value::kTable:
      return "a table";
    case Value::kVariant:
      return str("a table with ", field.tag, " = ", one_of_text(names_of(field.access->alternatives)));
  }
  return "";
}

std::string expected_text(const FieldSpec& field) {
  std::string element = element_text(field);
  return field.access->container == Container::kList ? str("an array, each element ", element) : element;
}

namespace {

class Reader {
 public:
  Reader(const Schema& root, bool incomplete, Findings& findings)
      : root_(root), incomplete_(incomplete), findings_(findings) {}

  // `variant` is the field whose tag chose this schema; the tag itself has been read.
  void read_table(const Schema& schema, void* object, const ConfigNode& table, const std::string& path,
                  const FieldSpec* variant = nullptr) {
    size_t findings_before = findings_.size();
    Section& section = schema.section(object);
    section.path = path;
    section.position = table.position;
    for (const ConfigNode& entry : table.children) {
      if (variant && entry.key == variant->tag) continue;
      const FieldSpec* field = schema.find(entry.key);
      if (!field) {
        unknown_key(schema, entry, path, variant);
        continue;
      }
      section.given[entry.key] = entry.position;
      read_field(*field, field->member(object), entry, dotted(path, entry.key));
    }
    for (const FieldSpec& field : schema.fields)
      if (!table.find(field.name)) absent_field(field, field.member(object), table, dotted(path, field.name));
    if (schema.check && findings_.size() == findings_before && !incomplete_) schema.check(object, findings_);
  }

 private:
  static std::string dotted(const std::string& path, const std::string& key) {
    return path.empty() ? key : str(path, ".", key);
  }

  // "units: columns of W", from the line of help.
  static std::string help_hint(const FieldSpec& field) {
    if (field.help.empty()) return "";
    std::string help = field.help;
    help[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(help[0])));
    if (help.ends_with('.')) help.pop_back();
    return str(field.name, ": ", help);
  }

  static bool is_synonym(const FieldSpec& field, const std::string& key) {
    return std::count(field.synonyms.begin(), field.synonyms.end(), key) > 0;
  }

  void wrong(std::string what, std::string expected, const ConfigNode& node, std::string hint) {
    findings_.add({.what = std::move(what),
                   .expected = std::move(expected),
                   .got = description(node),
                   .config = node.position,
                   .hint = std::move(hint)});
  }

  void read_field(const FieldSpec& field, void* member, const ConfigNode& node, const std::string& path) {
    const FieldAccess& access = *field.access;
    if (access.container != Container::kList) {
      read_element(field, node, path, [&] { return access.append(member); });
      return;
    }
    if (!node.is_array()) {
      wrong(str(path, " is not an array"), expected_text(field), node,
            node.is_table() ? str("write [[", path, "]], with two brackets, before each element") : help_hint(field));
      return;
    }
    if (field.required && node.children.empty())
      wrong(str(path, " is empty"), "at least one element", node, help_hint(field));
    access.clear(member);
    for (size_t i = 0; i < node.children.size(); ++i)
      read_element(field, node.children[i], str(path, ".", i), [&] { return access.append(member); });
  }

  template <class Place>
  void read_element(const FieldSpec& field, const ConfigNode& node, const std::string& path, Place place) {
    const FieldAccess& access = *field.access;
    if (access.value == Value::kTable || access.value == Value::kVariant) {
      if (!node.is_table()) {
        bool doubled = node.is_array() && node.children.size() == 1 && node.children[0].is_table();
        wrong(str(path, " is not a table"),
              access.value == Value::kTable ? str("a table, [", path, "]") : element_text(field), node,
              doubled ? str("write [", path, "], with single brackets") : help_hint(field));
      } else if (access.value == Value::kTable) {
        read_table(access.schema(), place(), node, path);
      } else {
        read_variant(field, place(), node, path);
      }
    } else if (std::optional<ConfigNode> value = checked(field, node, path)) {
      access.assign(place(), *value);
    }
  }

  void read_variant(const FieldSpec& field, void* element, const ConfigNode& table, const std::string& path) {
    std::vector<std::string> names = names_of(field.access->alternatives);
    const ConfigNode* tag = table.find(field.tag);
    std::string tag_path = dotted(path, field.tag);
    if (!tag) {
      if (!incomplete_)
        findings_.add({.what = str(tag_path, " is missing"), .expected = one_of_text(names), .config = table.position});
      return;
    }
    FieldSpec spec{.name = field.tag, .choices = names, .access = &access_of<std::string>()};
    std::optional<ConfigNode> value = checked(spec, *tag, tag_path);
    if (!value) return;
    auto index = static_cast<size_t>(std::find(names.begin(), names.end(), value->text) - names.begin());
    void* object = field.access->select(element, index);
    const Schema& schema = field.access->alternatives[index].schema();
    schema.section(object).given[field.tag] = tag->position;
    read_table(schema, object, table, path, &field);
  }

  // The scalar as its field takes it, or nothing after a finding.
  std::optional<ConfigNode> checked(const FieldSpec& field, const ConfigNode& given, const std::string& path) {
    const FieldAccess& access = *field.access;
    ConfigNode node = given;
    if (node.unquoted && (access.value == Value::kString || access.value == Value::kChoice)) node.kind = Kind::kString;
    bool is_number = node.kind == Kind::kInt || node.kind == Kind::kFloat;
    bool fits = node.kind == Kind::kString;
    if (access.value == Value::kBool) fits = node.kind == Kind::kBool;
    if (access.value == Value::kInt) fits = node.kind == Kind::kInt;
    if (access.value == Value::kFloat) fits = is_number;
    if (!fits) {
      wrong(str(path, " has the wrong type"), element_text(field), node, type_hint(field, node));
      return {};
    }
    if (node.kind == Kind::kInt && access.value == Value::kInt &&
        (node.integer < access.lowest || node.integer > access.highest)) {
      wrong(str(path, " is out of range"), str("an integer from ", access.lowest, " to ", access.highest), node,
            help_hint(field));
      return {};
    }
    if (is_number) {
      double number = node.kind == Kind::kInt ? static_cast<double>(node.integer) : node.number;
      if (!field.range.contains(number) || !std::isfinite(number)) {
        std::string expected = element_text(field);
        if (!std::isfinite(number)) expected.replace(0, 8, "a finite number");
        wrong(str(path, " is out of range"), expected, node, help_hint(field));
        return {};
      }
    }
    if (node.kind == Kind::kString && !field.choices.empty()) {
      auto found = std::find(field.choices.begin(), field.choices.end(), node.text);
      if (found == field.choices.end()) {
        std::string near = nearest_name(node.text, field.choices);
        findings_.add({.what = str(path, " has an unknown value"),
                       .expected = element_text(field),
                       .got = toml_value(node),
                       .config = node.position,
                       .hint = near.empty() ? help_hint(field) : str("did you mean \"", near, "\"?")});
        return {};
      }
      if (!field.choice_values.empty())
        node.integer = field.choice_values[static_cast<size_t>(found - field.choices.begin())];
    }
    return node;
  }

  static std::string type_hint(const FieldSpec& field, const ConfigNode& node) {
    Value wanted = field.access->value;
    const char* without_quotes = node.unquoted ? "" : " without quotes";
    if (wanted == Value::kInt && node.kind == Kind::kFloat && node.number == std::floor(node.number) &&
        std::fabs(node.number) < 1e15)
      return str("write ", static_cast<int64_t>(node.number));
    if (wanted == Value::kBool && node.kind == Kind::kString) {
      std::string lower = node.text;
      for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      for (const char* yes : {"true", "yes", "on"})
        if (lower == yes) return str("write true", without_quotes);
      for (const char* no : {"false", "no", "off"})
        if (lower == no) return str("write false", without_quotes);
    }
    bool number = wanted == Value::kInt || wanted == Value::kFloat;
    if (number && node.kind == Kind::kString && !node.unquoted && !node.text.empty() &&
        node.text.find_first_not_of("0123456789+-.eE") == std::string::npos)
      return str("write ", node.text, without_quotes);
    if (!number && wanted != Value::kBool && !node.is_array() && !node.is_table())
      return str("write it in quotes: \"", toml_value(node), "\"");
    return help_hint(field);
  }

  void unknown_key(const Schema& schema, const ConfigNode& entry, const std::string& path, const FieldSpec* variant) {
    findings_.add({.what = str("unknown key ", dotted(path, entry.key)),
                   .config = entry.key_position,
                   .hint = unknown_key_hint(schema, entry.key, path, variant)});
  }

  std::string unknown_key_hint(const Schema& schema, const std::string& key, const std::string& path,
                               const FieldSpec* variant) const {
    std::vector<std::string> names;
    for (const FieldSpec& field : schema.fields) {
      if (is_synonym(field, key)) return str("did you mean ", field.name, "?");
      names.push_back(field.name);
    }
    if (variant) {
      std::string kinds = kinds_with(*variant, key);
      if (!kinds.empty()) return str(key, " is a key of ", kinds);
      names.push_back(variant->tag);
    }
    std::string home = home_of(root_, key, "", "the top of the file, before the first [section]");
    std::string near = nearest_name(key, names);
    if (auto absent = schema.absent.find(key); absent != schema.absent.end()) return absent->second;
    if (!home.empty()) return home;
    if (!near.empty()) return str("did you mean ", near, "?");
    if (names.empty()) return str(path, " has no keys");
    return str("the keys here are ", join(names, ", "));
  }

  // `source = "mnist" or "digits"`: the kinds of a variant that have a key of this name.
  static std::string kinds_with(const FieldSpec& variant, const std::string& key) {
    std::vector<std::string> kinds;
    for (const Alternative& kind : variant.access->alternatives)
      if (kind.schema().find(key)) kinds.push_back(str('"', kind.name, '"'));
    return kinds.empty() ? "" : str(variant.tag, " = ", join(kinds, " or "));
  }

  // Where else in the file a key of this name would be right. `where` is how the page calls this table.
  static std::string home_of(const Schema& schema, const std::string& key, const std::string& path,
                             const std::string& where) {
    for (const FieldSpec& field : schema.fields) {
      if (field.name == key) return str(key, " is a key of ", where);
      if (is_synonym(field, key)) return str("did you mean ", field.name, "? It is a key of ", where);
      std::string inner = dotted(path, field.name);
      std::string header = field.access->container == Container::kList ? str("[[", inner, "]]") : str("[", inner, "]");
      std::string home;
      if (field.access->value == Value::kTable) home = home_of(field.access->schema(), key, inner, header);
      if (field.tag == key) home = str(key, " is a key of ", header);
      std::string kinds = kinds_with(field, key);
      if (!kinds.empty()) home = str(key, " is a key of ", header, " with ", kinds);
      for (const Alternative& kind : field.access->alternatives)
        if (home.empty()) home = home_of(kind.schema(), key, inner, header);
      if (!home.empty()) return home;
    }
    return "";
  }

  void absent_field(const FieldSpec& field, void* member, const ConfigNode& table, const std::string& path) {
    const FieldAccess& access = *field.access;
    if (field.required) {
      if (!incomplete_)
        findings_.add({.what = str(path, " is missing"),
                       .expected = expected_text(field),
                       .config = table.position,
                       .hint = help_hint(field)});
    } else if (access.value == Value::kTable && access.container == Container::kOne) {
      // The required fields of a section are missing where the whole section is.
      ConfigNode empty{.position = table.position};
      read_table(access.schema(), access.append(member), empty, path);
    }
  }

  const Schema& root_;
  bool incomplete_;
  Findings& findings_;
};

}  // namespace

void read_config(const Schema& schema, void* object, const ConfigNode& root, Findings& findings) {
  Reader(schema, root.incomplete, findings).read_table(schema, object, root, "");
}

}  // namespace thtrain
