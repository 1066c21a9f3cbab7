#include "config/config.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "compiler/base/nearest_name.h"
#include "config/near_value.h"

namespace thtrain {

using Value = FieldAccess::Value;
using Container = FieldAccess::Container;
using NodeKind = ConfigNode::Kind;

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
      return number("an integer") + (field.choices.empty() ? "" : str(", or ", one_of_text(field.choices)));
    case Value::kFloat:
      return number("a number");
    case Value::kString:
      return field.choices.empty() ? "a string" : one_of_text(field.choices);
      return "an integer or a string";
    case Value::kChoice:
      return one_of_text(field.choices);
    case Value::kTable:
      return "a table";
    case Value::kKind: {
      std::string names = one_of_text(names_of(field.access->alternatives));
      if (field.inlined) return names;
      return field.by_name ? str(names, ", or a table with ", field.tag, " = one of these")
                           : str("a table with ", field.tag, " = ", names);
    }
  }
  return "";
}

std::string expected_text(const FieldSpec& field) {
  std::string element = element_text(field);
  if (field.one_or_list) return str(element, ", or an array of these");
  return field.access->container == Container::kList ? str("an array, each element ", element) : element;
}

namespace {

// A struct whose keys are in a table: the table's own, or a kind of one of its inlined members.
struct Part {
  const Schema* schema;
  void* object;
};
using Parts = std::vector<Part>;

class Reader {
 public:
  Reader(const Schema& root, bool incomplete, Findings& findings)
      : root_(root), incomplete_(incomplete), findings_(findings) {}

  // `kind` is the field whose tag chose this schema; the tag itself has been read.
  void read_table(const Schema& schema, void* object, const ConfigNode& table, const std::string& path,
                  const FieldSpec* kind = nullptr) {
    size_t findings_before = findings_.size();
    std::vector<const FieldSpec*> unchosen;
    Parts parts = parts_of({&schema, object}, table, path, unchosen);
    for (const ConfigNode& entry : table.children) {
      if (kind && entry.key == kind->tag) continue;
      bool is_known = read_entry(parts, entry, path);
      // Which keys are right is not known where the kind is not.
      for (const FieldSpec* field : unchosen) is_known = is_known || !kinds_with(*field, entry.key).empty();
      if (!is_known) unknown_key(parts, entry, path, kind);
    }
    for (const Part& part : parts)
      for (const FieldSpec& field : part.schema->fields)
        if (!table.find(field.name)) absent_field(field, field.member(part.object), table, dotted(path, field.name));
    if (findings_.size() != findings_before || incomplete_) return;
    for (size_t i = parts.size(); i-- > 0;)
      for (const auto& check : parts[i].schema->checks) check(parts[i].object, findings_);
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

  // The struct and the kinds of its inlined members; `unchosen` gets the members of which no kind is known.
  Parts parts_of(Part first, const ConfigNode& table, const std::string& path,
                 std::vector<const FieldSpec*>& unchosen) {
    Parts parts = {first};
    for (size_t i = 0; i < parts.size(); ++i) {
      const Part part = parts[i];
      Section& section = part.schema->section(part.object);
      section.path = path;
      section.position = table.position;
      for (const FieldSpec& field : part.schema->fields) {
        if (!field.inlined) continue;
        void* member = field.member(part.object);
        const ConfigNode* tag = table.find(field.name);
        std::optional<size_t> index = tag ? kind_index(field, *tag, dotted(path, field.name)) : std::nullopt;
        if (index) field.access->select(member, *index);
        Selected selected = field.access->selected(member);
        if (!selected.object || (tag && !index)) {
          unchosen.push_back(&field);
          continue;
        }
        parts.push_back({&selected.kind.schema(), selected.object});
        if (tag) parts.back().schema->section(selected.object).given[field.name] = tag->position;
      }
    }
    return parts;
  }

  // False where no part has this key. The table's own struct knows the locations of all keys.
  bool read_entry(const Parts& parts, const ConfigNode& entry, const std::string& path) {
    bool is_known = false;
    for (const Part& part : parts) {
      const FieldSpec* field = part.schema->find(entry.key);
      if (!field) continue;
      TH_CHECK(!is_known, "the key ", dotted(path, entry.key), " is declared twice");
      is_known = true;
      for (const Part& owner : {parts.front(), part})
        owner.schema->section(owner.object).given[entry.key] = entry.position;
      if (!field->inlined) read_field(*field, field->member(part.object), entry, dotted(path, entry.key));
    }
    return is_known;
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
    if (field.one_or_list && !node.is_array()) {
      read_element(field, node, path, [&] {
        access.clear(member);
        return access.append(member);
      });
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

  template <class Location>
  void read_element(const FieldSpec& field, const ConfigNode& node, const std::string& path, Location location) {
    const FieldAccess& access = *field.access;
    if (access.value == Value::kTable || access.value == Value::kKind) {
      const bool is_name = field.by_name && (node.kind == NodeKind::kString || node.unquoted);
      if (!node.is_table() && !is_name) {
        bool doubled = node.is_array() && node.children.size() == 1 && node.children[0].is_table();
        wrong(str(path, field.by_name ? " has the wrong type" : " is not a table"),
              access.value == Value::kTable ? str("a table, [", path, "]") : element_text(field), node,
              doubled ? str("write [", path, "], with single brackets") : help_hint(field));
      } else if (access.value == Value::kTable) {
        read_table(access.schema(), location(), node, path);
      } else {
        read_kind(field, location(), node, path);
      }
    } else if (std::optional<ConfigNode> value = checked(field, node, path)) {
      access.assign(location(), *value);
    }
  }

  // A table that names its kind, or the name alone.
  void read_kind(const FieldSpec& field, void* element, const ConfigNode& node, const std::string& path) {
    const ConfigNode* tag = node.is_table() ? node.find(field.tag) : &node;
    std::string tag_path = node.is_table() ? dotted(path, field.tag) : path;
    if (!tag) {
      if (!incomplete_)
        findings_.add({.what = str(tag_path, " is missing"),
                       .expected = one_of_text(names_of(field.access->alternatives)),
                       .config = node.position});
      return;
    }
    std::optional<size_t> index = kind_index(field, *tag, tag_path);
    if (!index) return;
    void* object = field.access->select(element, *index);
    const Schema& schema = field.access->alternatives[*index].schema();
    schema.section(object).given[field.tag] = tag->position;
    const ConfigNode defaults{.position = node.position};
    read_table(schema, object, node.is_table() ? node : defaults, path, &field);
  }

  // The kind that a tag names, or nothing after a finding.
  std::optional<size_t> kind_index(const FieldSpec& field, const ConfigNode& tag, const std::string& path) {
    std::vector<std::string> names = names_of(field.access->alternatives);
    FieldSpec spec{.name = field.tag, .choices = names, .access = &access_of<std::string>()};
    if (field.inlined) spec.help = field.help;
    std::optional<ConfigNode> value = checked(spec, tag, path);
    if (!value) return {};
    return static_cast<size_t>(std::find(names.begin(), names.end(), value->text) - names.begin());
  }

  // The scalar as its field takes it, or nothing after a finding.
  std::optional<ConfigNode> checked(const FieldSpec& field, const ConfigNode& given, const std::string& path) {
    const FieldAccess& access = *field.access;
    ConfigNode node = given;
    if (node.unquoted && (access.value == Value::kString || access.value == Value::kChoice))
      node.kind = NodeKind::kString;
    bool is_number = node.kind == NodeKind::kInt || node.kind == NodeKind::kFloat;
    bool fits = node.kind == NodeKind::kString;
    const bool is_word = fits && !field.choices.empty();
    if (access.value == Value::kBool) fits = node.kind == NodeKind::kBool;
    if (access.value == Value::kInt) fits = node.kind == NodeKind::kInt || is_word;
    if (access.value == Value::kFloat) fits = is_number;
    if (!fits) {
      wrong(str(path, " has the wrong type"), element_text(field), node, type_hint(field, node));
      return {};
    }
    if (node.kind == NodeKind::kInt && access.value == Value::kInt &&
        (node.integer < access.lowest || node.integer > access.highest)) {
      wrong(str(path, " is out of range"), str("an integer from ", access.lowest, " to ", access.highest), node,
            help_hint(field));
      return {};
    }
    if (is_number) {
      double number = node.kind == NodeKind::kInt ? static_cast<double>(node.integer) : node.number;
      if (!field.range.contains(number) || !std::isfinite(number)) {
        std::string expected = element_text(field);
        if (!std::isfinite(number)) expected.replace(0, 8, "a finite number");
        wrong(str(path, " is out of range"), expected, node, help_hint(field));
        return {};
      }
    }
    if (node.kind == NodeKind::kString && !field.choices.empty()) {
      auto found = std::find(field.choices.begin(), field.choices.end(), node.text);
      if (found == field.choices.end()) {
        std::string near = near_value(node.text, field.choices);
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
    if (wanted == Value::kInt && node.kind == NodeKind::kFloat && node.number == std::floor(node.number) &&
        std::fabs(node.number) < 1e15)
      return str("write ", static_cast<int64_t>(node.number));
    if (wanted == Value::kBool && node.kind == NodeKind::kString) {
      std::string lower = node.text;
      for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      for (const char* yes : {"true", "yes", "on"})
        if (lower == yes) return str("write true", without_quotes);
      for (const char* no : {"false", "no", "off"})
        if (lower == no) return str("write false", without_quotes);
    }
    bool number = wanted == Value::kInt || wanted == Value::kFloat;
    if (number && node.kind == NodeKind::kString && !node.unquoted && !node.text.empty() &&
        node.text.find_first_not_of("0123456789+-.eE") == std::string::npos)
      return str("write ", node.text, without_quotes);
    if (!number && wanted != Value::kBool && !node.is_array() && !node.is_table())
      return str("write it in quotes: \"", toml_value(node), "\"");
    return help_hint(field);
  }

  void unknown_key(const Parts& parts, const ConfigNode& entry, const std::string& path, const FieldSpec* kind) {
    findings_.add({.what = str("unknown key ", dotted(path, entry.key)),
                   .config = entry.key_position,
                   .hint = unknown_key_hint(parts, entry.key, path, kind)});
  }

  std::string unknown_key_hint(const Parts& parts, const std::string& key, const std::string& path,
                               const FieldSpec* kind) const {
    std::vector<std::string> names;
    std::vector<const FieldSpec*> chosen_by;  // the fields whose tags chose what is here
    for (const Part& part : parts)
      for (const FieldSpec& field : part.schema->fields) {
        if (is_synonym(field, key)) return str("did you mean ", field.name, "?");
        names.push_back(field.name);
        if (field.inlined) chosen_by.push_back(&field);
      }
    if (kind) {
      chosen_by.push_back(kind);
      names.push_back(kind->tag);
    }
    for (const Part& part : parts)
      if (auto absent = part.schema->absent.find(key); absent != part.schema->absent.end()) return absent->second;
    for (const FieldSpec* field : chosen_by)
      if (std::string kinds = kinds_with(*field, key); !kinds.empty()) return str(key, " is a key of ", kinds);
    std::string home = home_of(root_, key, "", "the top of the file, before the first [section]");
    std::string near = nearest_name(key, names);
    if (!home.empty()) return home;
    if (!near.empty()) return str("did you mean ", near, "?");
    if (names.empty()) return str(path, " has no keys");
    return str("the keys here are ", join(names, ", "));
  }

  // `source = "mnist" or "digits"`: the kinds that have a key of this name.
  static std::string kinds_with(const FieldSpec& field, const std::string& key) {
    std::vector<std::string> kinds;
    for (const Alternative& kind : field.access->alternatives)
      if (kind.schema().find(key)) kinds.push_back(str('"', kind.name, '"'));
    return kinds.empty() ? "" : str(field.tag, " = ", join(kinds, " or "));
  }

  static bool is_key_of_all(const FieldSpec& field, const std::string& key) {
    const std::vector<Alternative>& kinds = field.access->alternatives;
    return std::all_of(kinds.begin(), kinds.end(), [&](const Alternative& k) { return k.schema().find(key); });
  }

  // Where else in the file a key of this name would be right. `where` is how the page calls this table.
  static std::string home_of(const Schema& schema, const std::string& key, const std::string& path,
                             const std::string& where) {
    for (const FieldSpec& field : schema.fields) {
      if (field.name == key) return str(key, " is a key of ", where);
      if (is_synonym(field, key)) return str("did you mean ", field.name, "? It is a key of ", where);
      std::string inner = field.inlined ? path : dotted(path, field.name);
      std::string header = field.access->container == Container::kList ? str("[[", inner, "]]") : str("[", inner, "]");
      if (field.inlined) header = where;
      std::string home;
      if (field.access->value == Value::kTable) home = home_of(field.access->schema(), key, inner, header);
      if (field.tag == key) home = str(key, " is a key of ", header);
      std::string kinds = kinds_with(field, key);
      if (!kinds.empty()) home = str(key, " is a key of ", header, " with ", kinds);
      if (field.inlined && is_key_of_all(field, key)) home = str(key, " is a key of ", header);
      for (const Alternative& kind : field.access->alternatives)
        if (home.empty()) home = home_of(kind.schema(), key, inner, header);
      if (!home.empty()) return home;
    }
    return "";
  }

  void absent_field(const FieldSpec& field, void* member, const ConfigNode& table, const std::string& path) {
    const FieldAccess& access = *field.access;
    const bool is_one = access.container == Container::kOne;
    if (field.required) {
      if (!incomplete_)
        findings_.add({.what = str(path, " is missing"),
                       .expected = expected_text(field),
                       .config = table.position,
                       .hint = help_hint(field)});
    } else if (access.value == Value::kTable && is_one) {
      // The required fields of a section are missing where the whole section is.
      ConfigNode empty{.position = table.position};
      read_table(access.schema(), access.append(member), empty, path);
    } else if (access.value == Value::kKind && is_one && !field.inlined) {
      ConfigNode empty{.position = table.position};
      if (Selected selected = access.selected(member); selected.object)
        read_table(selected.kind.schema(), selected.object, empty, path, &field);
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
