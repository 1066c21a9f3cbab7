// What a declaration prints: the resolved configuration and the reference page.
#include "compiler/base/config.h"

namespace thtrain {

using Value = FieldAccess::Value;
using Container = FieldAccess::Container;

// ---- resolved configuration ----

static ConfigNode element_node(const FieldSpec& field, const void* element) {
  const FieldAccess& access = *field.access;
  if (access.value == Value::kTable) return resolved_config(access.schema(), element);
  if (access.value == Value::kVariant) {
    auto [alternative, object] = access.selected(element);
    ConfigNode table = resolved_config(access.alternatives[alternative].schema(), object);
    ConfigNode tag = ConfigNode::of(std::string(access.alternatives[alternative].name));
    tag.key = field.tag;
    table.children.insert(table.children.begin(), std::move(tag));
    return table;
  }
  ConfigNode node = access.node(element);
  for (size_t i = 0; i < field.choice_values.size(); ++i)
    if (node.kind == ConfigNode::Kind::kInt && node.integer == field.choice_values[i])
      return ConfigNode::of(field.choices[i]);
  return node;
}

ConfigNode resolved_config(const Schema& schema, const void* object) {
  ConfigNode table;
  for (const FieldSpec& field : schema.fields) {
    const FieldAccess& access = *field.access;
    const void* member = field.member(const_cast<void*>(object));
    size_t size = access.size(member);
    if (access.container == Container::kOptional && size == 0) continue;
    ConfigNode node;
    if (access.container == Container::kList) {
      node.kind = ConfigNode::Kind::kArray;
      for (size_t i = 0; i < size; ++i) node.children.push_back(element_node(field, access.element(member, i)));
    } else {
      node = element_node(field, access.element(member, 0));
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

static void write_section(std::string& out, const Schema& schema, const std::string& title, const std::string& path) {
  out += str("\n## ", title, "\n");
  if (!schema.about.empty()) out += str("\n", schema.about, "\n");
  auto is_table = [](const FieldSpec& f) {
    return f.access->value == Value::kTable || f.access->value == Value::kVariant;
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
  for (const FieldSpec& field : schema.fields) {
    if (!is_table(field)) continue;
    std::string inner = path.empty() ? field.name : str(path, ".", field.name);
    std::string header =
        field.access->container == Container::kList ? str("`[[", inner, "]]`") : str("`[", inner, "]`");
    if (field.access->value == Value::kTable) {
      write_section(out, field.access->schema(), header, inner);
      continue;
    }
    out += str("\n## ", header, "\n\n", field.help, " `", field.tag, "` is ", field.required ? "required, and " : "",
               "one of ",
               join(field.access->alternatives, ", ", [](const Alternative& a) { return str("`\"", a.name, "\"`"); }),
               ".\n");
    for (const Alternative& alternative : field.access->alternatives)
      write_section(out, alternative.schema(), str(header, " with `", field.tag, " = \"", alternative.name, "\"`"),
                    inner);
  }
}

std::string reference_page(const Schema& schema) {
  std::string out;
  write_section(out, schema, "Top of the file", "");
  return out.substr(1);
}

}  // namespace thtrain
