// What a declaration prints: the resolved configuration and the reference page.
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

static void write_section(std::string& out, const Schema& schema, const std::string& title, const std::string& path);

static std::string header_of(const FieldSpec& field, const std::string& path) {
  return field.access->container == Container::kList ? str("`[[", path, "]]`") : str("`[", path, "]`");
}

// A section for each kind that has something to say.
static void write_kinds(std::string& out, const FieldSpec& field, const std::string& title, const std::string& path) {
  for (const Alternative& kind : field.access->alternatives)
    if (!field.inlined || !kind.schema().fields.empty() || !kind.schema().about.empty())
      write_section(out, kind.schema(), str(title, " with `", field.tag, " = \"", kind.name, "\"`"), path);
}

// What is to be said of a member that is a table of several kinds, before each of them.
static std::string kinds_text(const FieldSpec& field, const ConfigNode& defaults) {
  const std::vector<Alternative>& kinds = field.access->alternatives;
  std::string out = str(field.help, " `", field.tag, "` is ", field.required ? "required, and " : "", "one of ",
                        join(kinds, ", ", [](const Alternative& a) { return str("`\"", a.name, "\"`"); }), ".");
  if (field.by_name) {
    const bool is_list = field.access->container == FieldAccess::Container::kList;
    out += str(" The name alone, as in `", field.name, " = ", is_list ? "[\"" : "\"", kinds.front().name,
               is_list ? "\"]" : "\"", "`, gives its defaults.");
  }
  const ConfigNode* value = defaults.find(field.name);
  if (value && value->is_table()) out += str(" Not given: `", toml_value(*value->find(field.tag)), "`.");
  return out;
}

static void write_section(std::string& out, const Schema& schema, const std::string& title, const std::string& path) {
  out += str("\n## ", title, "\n");
  if (!schema.about.empty()) out += str("\n", schema.about, "\n");
  auto is_table = [](const FieldSpec& f) {
    return f.access->value == Value::kTable || (f.access->value == Value::kKind && !f.inlined);
  };
  ConfigNode defaults = resolved_config(schema, schema.defaults.get());
  bool any = false;
  for (const FieldSpec& field : schema.fields) {
    if (is_table(field)) continue;
    if (!any) out += "\n| key | value | default | meaning |\n| --- | --- | --- | --- |\n";
    any = true;
    out += str("| `", field.name, "` | ", cell(expected_text(field)), " | ", cell(default_text(field, defaults)), " | ",
               cell(field.help), " |\n");
  }
  for (const FieldSpec& field : schema.fields)
    if (field.inlined) write_kinds(out, field, title, path);
  for (const FieldSpec& field : schema.fields) {
    if (!is_table(field)) continue;
    std::string inner = path.empty() ? field.name : str(path, ".", field.name);
    std::string header = header_of(field, inner);
    if (field.access->value == Value::kTable) {
      write_section(out, field.access->schema(), header, inner);
      continue;
    }
    out += str("\n## ", header, "\n\n", kinds_text(field, defaults), "\n");
    write_kinds(out, field, header, inner);
  }
}

std::string reference_page(const Schema& schema) {
  std::string out;
  write_section(out, schema, "Top of the file", "");
  return out.substr(1);
}

}  // namespace thtrain
