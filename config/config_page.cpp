// What a declaration prints: the resolved configuration and the reference page.
#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "config/config.h"

namespace thtrain {

using Value = FieldAccess::Value;
using Container = FieldAccess::Container;

// ---- resolved configuration ----

// The kind's keys after the tag that names it; no keys where a list has an element of no kind.
static ConfigNode kind_node(const FieldSpec& field, const Selected& selected) {
  if (!selected.object) return {};
  ConfigNode table = resolved_config(selected.kind.schema(), selected.object);
  ConfigNode tag = ConfigNode::of(std::string(selected.kind.name));
  tag.key = field.tag;
  table.children.insert(table.children.begin(), std::move(tag));
  return table;
}

static ConfigNode element_node(const FieldSpec& field, void* element) {
  const FieldAccess& access = *field.access;
  if (access.value == Value::kTable) return resolved_config(access.schema(), element);
  if (access.value == Value::kKind) return kind_node(field, access.selected(element));
  ConfigNode node = access.node(element);
  for (size_t i = 0; i < field.choice_values.size(); ++i)
    if (node.kind == ConfigNode::Kind::kInt && node.integer == field.choice_values[i])
      return ConfigNode::of(field.choices[i]);
  return node;
}

// Is there nothing to print? A OneOf of a struct's defaults may have no kind yet.
static bool is_empty(const FieldSpec& field, void* member) {
  const FieldAccess& access = *field.access;
  if (access.container == Container::kOptional) return access.size(member) == 0;
  return access.container == Container::kOne && access.value == Value::kKind && !access.selected(member).object;
}

ConfigNode resolved_config(const Schema& schema, const void* object) {
  ConfigNode table;
  for (const FieldSpec& field : schema.fields) {
    const FieldAccess& access = *field.access;
    void* member = field.member(const_cast<void*>(object));
    auto element = [&](size_t i) { return const_cast<void*>(access.element(member, i)); };
    if (is_empty(field, member)) continue;
    if (field.inlined) {
      ConfigNode kind = kind_node(field, access.selected(member));
      for (ConfigNode& entry : kind.children) table.children.push_back(std::move(entry));
      continue;
    }
    ConfigNode node;
    if (access.container == Container::kList) {
      node.kind = ConfigNode::Kind::kArray;
      for (size_t i = 0; i < access.size(member); ++i) node.children.push_back(element_node(field, element(i)));
    } else {
      node = element_node(field, element(0));
    }
    node.key = field.name;
    table.children.push_back(std::move(node));
  }
  return table;
}

// ---- reference page ----

static std::string cell(const std::string& text) {
  std::string out;
  for (char c : text) out += c == '|' ? std::string("\\|") : std::string(1, c);
  return out;
}

static std::string default_text(const FieldSpec& field, const ConfigNode& defaults) {
  if (field.required) return "required";
  const ConfigNode* value = defaults.find(field.name);
  return value ? str('`', toml_value(*value), '`') : "none";
}

static std::string row_of(const FieldSpec& field, const ConfigNode& defaults) {
  return str("| `", field.name, "` | ", cell(expected_text(field)), " | ", cell(default_text(field, defaults)), " | ",
             cell(field.help), " |\n");
}

static std::string header_of(const FieldSpec& field, const std::string& path) {
  return field.access->container == Container::kList ? str("`[[", path, "]]`") : str("`[", path, "]`");
}

static bool is_table(const FieldSpec& field) {
  return field.access->value == Value::kTable || (field.access->value == Value::kKind && !field.inlined);
}

// A link to the heading with this text, as Markdown's renderers name it.
static std::string link_to(const std::string& text, const std::string& heading) {
  std::string name;
  for (char c : heading)
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-')
      name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    else if (c == ' ')
      name += '-';
  return str('[', text, "](#", name, ')');
}

// What is to be said of a member that is a table of several kinds, before each of them.
static std::string kinds_text(const FieldSpec& field, const ConfigNode& defaults) {
  const std::vector<Alternative>& kinds = field.access->alternatives;
  std::string out = str(field.help, " `", field.tag, "` is ", field.required ? "required, and " : "", "one of ",
                        join(kinds, ", ", [](const Alternative& a) { return str("`\"", a.name, "\"`"); }), ".");
  if (field.by_name) {
    const bool is_list = field.access->container == Container::kList;
    out += str(" The name alone, as in `", field.name, " = ", is_list ? "[\"" : "\"", kinds.front().name,
               is_list ? "\"]" : "\"", "`, gives its defaults.");
  }
  const ConfigNode* value = defaults.find(field.name);
  if (value && value->is_table()) out += str(" Not given: `", toml_value(*value->find(field.tag)), "`.");
  return out;
}

namespace {

// Keys that several kinds have: a row for each, as the first of these kinds has it.
struct Group {
  std::string heading;
  std::vector<std::pair<std::string, std::string>> rows;  // key, row

  const std::string* row(const std::string& key) const {
    for (const auto& [name, text] : rows)
      if (name == key) return &text;
    return nullptr;
  }
};

class Page {
 public:
  // Headings begin after an empty line; the page does not.
  std::string text() const { return out_.substr(1); }

  void write(const Schema& schema, const std::string& title, const std::string& path);

 private:
  // What a section says of a struct: a paragraph, and a row for each key that no group lists.
  struct Body {
    std::string text = {}, rows = {};
  };
  Body body_of(const Schema& schema) const;
  void write_body(const std::string& title, const Body& body);
  void write_kinds(const FieldSpec& field, const std::string& title, const std::string& path);
  void write_groups(const FieldSpec& field, const std::string& title);

  std::string out_;
  std::map<std::string, Group> groups_;           // by name
  std::map<const Schema*, std::string> written_;  // the heading of a list of kinds, by the first of them
};

}  // namespace

Page::Body Page::body_of(const Schema& schema) const {
  Body out{.text = schema.about};
  const ConfigNode defaults = resolved_config(schema, schema.defaults);
  std::vector<std::string> shared;
  for (const FieldSpec& field : schema.fields) {
    if (is_table(field)) continue;
    const std::string row = row_of(field, defaults);
    const auto group = groups_.find(field.group);
    const std::string* listed = group == groups_.end() ? nullptr : group->second.row(field.name);
    if (!listed || *listed != row) out.rows += row;
    if (listed && std::find(shared.begin(), shared.end(), field.group) == shared.end()) shared.push_back(field.group);
  }
  if (shared.empty()) return out;
  auto linked = [&](const std::string& name) {
    const Group& group = groups_.at(name);
    std::string link = link_to(name, group.heading);
    for (const auto& [key, row] : group.rows)
      if (!schema.find(key)) link += str(" without `", key, '`');
    return link;
  };
  out.text += str(out.text.empty() ? "" : " ", "Shared keys: ", join(shared, ", ", linked), '.');
  return out;
}

void Page::write_body(const std::string& title, const Body& body) {
  out_ += str("\n## ", title, '\n');
  if (!body.text.empty()) out_ += str(body.text, '\n');
  if (!body.text.empty() && !body.rows.empty()) out_ += '\n';
  if (!body.rows.empty()) out_ += str("| key | value | default | meaning |\n| --- | --- | --- | --- |\n", body.rows);
}

// The groups that two or more of the kinds share.
void Page::write_groups(const FieldSpec& field, const std::string& title) {
  std::vector<std::string> order;
  std::map<std::string, int> users;
  for (const Alternative& kind : field.access->alternatives) {
    std::set<std::string> used;
    for (const FieldSpec& key : kind.schema().fields)
      if (!key.group.empty() && used.insert(key.group).second && ++users[key.group] == 1) order.push_back(key.group);
  }
  for (const std::string& name : order) {
    if (users[name] < 2) continue;
    Group& group = groups_[name];
    group.heading = str(title, ": ", name);
    for (const Alternative& kind : field.access->alternatives) {
      const Schema& schema = kind.schema();
      const ConfigNode defaults = resolved_config(schema, schema.defaults);
      for (const FieldSpec& key : schema.fields)
        if (key.group == name && !group.row(key.name)) group.rows.emplace_back(key.name, row_of(key, defaults));
    }
    write_body(group.heading, {.rows = join(group.rows, "", [](const auto& row) { return row.second; })});
  }
}

// Is there one key of its own, and nothing inside of it?
static bool has_one_row(const Schema& schema, const std::string& rows) {
  return std::count(rows.begin(), rows.end(), '\n') == 1 &&
         std::none_of(schema.fields.begin(), schema.fields.end(),
                      [](const FieldSpec& field) { return is_table(field) || field.inlined; });
}

// The groups of keys, a line for each kind with one key of its own or none, and a section for each other kind.
void Page::write_kinds(const FieldSpec& field, const std::string& title, const std::string& path) {
  const std::vector<Alternative>& kinds = field.access->alternatives;
  const auto [list, is_new] = written_.emplace(&kinds.front().schema(), title);
  if (!is_new) {
    out_ += str("\nThe kinds and their keys are those of ", link_to(list->second, list->second), ".\n");
    return;
  }
  write_groups(field, title);
  std::string lines;
  for (const Alternative& kind : kinds)
    if (const Body body = body_of(kind.schema()); body.rows.empty() && !body.text.empty())
      lines += str("- `", kind.name, "`: ", body.text, '\n');
  if (!lines.empty()) out_ += str("\n## ", title, ": kinds without other keys\n", lines);
  std::string with_one_key;
  for (const Alternative& kind : kinds)
    if (const Body body = body_of(kind.schema()); has_one_row(kind.schema(), body.rows))
      with_one_key += str("| `", kind.name, '`', body.text.empty() ? "" : ": ", body.text, ' ', body.rows);
  if (!with_one_key.empty())
    out_ += str("\n## ", title, ": kinds with one other key\n| kind | key | value | default | meaning |\n",
                "| --- | --- | --- | --- | --- |\n", with_one_key);
  for (const Alternative& kind : kinds) {
    if (const Body body = body_of(kind.schema()); body.rows.empty() || has_one_row(kind.schema(), body.rows)) continue;
    write(kind.schema(), str(title, " with `", field.tag, " = \"", kind.name, "\"`"), path);
  }
}

void Page::write(const Schema& schema, const std::string& title, const std::string& path) {
  write_body(title, body_of(schema));
  for (const FieldSpec& field : schema.fields)
    if (field.inlined) write_kinds(field, title, path);
  const ConfigNode defaults = resolved_config(schema, schema.defaults);
  for (const FieldSpec& field : schema.fields) {
    if (!is_table(field)) continue;
    const std::string inner = path.empty() ? field.name : str(path, ".", field.name);
    const std::string header = header_of(field, inner);
    if (field.access->value == Value::kTable) {
      write(field.access->schema(), header, inner);
      continue;
    }
    write_body(header, {.text = kinds_text(field, defaults)});
    write_kinds(field, header, inner);
  }
}

std::string reference_page(const Schema& schema) {
  Page page;
  page.write(schema, "Top of the file", "");
  return page.text();
}

}  // namespace thtrain
