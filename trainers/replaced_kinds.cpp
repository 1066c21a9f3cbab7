#include "trainers/replaced_kinds.h"

#include <algorithm>
#include <array>

#include "trainers/experiment.h"

namespace thtrain {

// What the kind of `field` is called where the table does not say it.
static std::string_view standard_kind(const Schema& schema, const FieldSpec& field) {
  return field.access->selected(field.member(const_cast<void*>(schema.defaults))).kind.name;
}

// Keys that many kinds have, whose values fit one of them: the scale of a rate is the optimizer's, and a file has the
// format of its source.
static bool is_of_one_kind(const std::string& key) {
  constexpr std::array<std::string_view, 11> kKeys = {"learning_rate", "file",          "train",        "valid",
                                                      "test",          "train_labels",  "valid_labels", "test_labels",
                                                      "train_weights", "valid_weights", "test_weights"};
  return std::find(kKeys.begin(), kKeys.end(), key) != kKeys.end();
}

std::set<std::string> keys_of_replaced_kinds(const FieldSpec& section, const ConfigNode& table,
                                             const ConfigNode& replacing) {
  std::set<std::string> out;
  auto add = [&](const FieldSpec& field, const std::string& tag, std::string_view standard) {
    const ConfigNode *then = table.find(tag), *now = replacing.find(tag);
    const std::string_view old = then ? std::string_view(then->text) : standard;
    if (!now || now->text == old) return;
    const Schema* then_has = nullptr;
    const Schema* now_has = nullptr;
    for (const Alternative& kind : field.access->alternatives) {
      if (kind.name == old) then_has = &kind.schema();
      if (kind.name == now->text) now_has = &kind.schema();
    }
    if (!then_has) return;
    for (const FieldSpec& key : then_has->fields)
      if (!now_has || !now_has->find(key.name) || is_of_one_kind(key.name)) out.insert(key.name);
  };
  if (section.access->value == FieldAccess::Value::kKind) {
    add(section, section.tag, "");
    return out;
  }
  const Schema& schema = section.access->schema();
  for (const FieldSpec& field : schema.fields)
    if (field.inlined) add(field, field.name, standard_kind(schema, field));
  return out;
}

// But for those that `stays` tells, of a section and an entry of it.
template <class Stays>
static void drop_from(const ConfigNode& before, ConfigNode& now, Stays stays) {
  for (const char* name : {"data", "model", "loss", "trainer"}) {
    const ConfigNode* then = before.find(name);
    ConfigNode* table = now.find(name);
    if (!then || !table || !then->is_table() || !table->is_table()) continue;
    const std::set<std::string> gone = keys_of_replaced_kinds(*schema_of<Experiment>().find(name), *then, *table);
    std::erase_if(table->children,
                  [&](const ConfigNode& entry) { return gone.contains(entry.key) && !stays(name, entry); });
  }
}

static bool is_typed(const char* /*section*/, const ConfigNode& entry) {
  return entry.key_position.file == kCommandLine;
}

void drop_replaced_kinds(const ConfigNode& before, ConfigNode& now) {
  drop_from(before, now, is_typed);
  if (!has_phases(before) || !has_phases(now)) return;
  const ConfigNode& phases = *before.find("phase");
  ConfigNode& edited = *now.find("phase");
  for (size_t i = 0; i < phases.children.size() && i < edited.children.size(); ++i)
    drop_from(phases.children[i], edited.children[i], is_typed);
}

void drop_replaced_kinds(const ConfigNode& before, const ConfigNode& over, ConfigNode& now) {
  drop_from(before, now, [&](const char* section, const ConfigNode& entry) {
    const ConfigNode* table = over.find(section);
    return table && table->find(entry.key);
  });
}

}  // namespace thtrain
