#include "cli/toml_keys.h"

#include <algorithm>

namespace thtrain {

using TableKind = TomlTable::Kind;

void require_new(const TomlTable& table, const std::vector<TomlKey>& keys) {
  const TomlTable* at = &table;
  for (size_t i = 0; i < keys.size(); ++i) {
    const auto found = at->children.find(keys[i].name);
    if (found == at->children.end()) return;
    at = &found->second;
    const bool is_last = i + 1 == keys.size();
    if (is_last || (at->kind != TableKind::kDotted && at->kind != TableKind::kImplicit))
      throw RepeatedTomlKey{keys, i + 1, *at, !is_last};
  }
}

TomlTable& add_value(TomlTable& table, const std::vector<TomlKey>& keys) {
  TomlTable* at = &table;
  for (const TomlKey& key : keys) {
    const auto [found, is_new] = at->children.try_emplace(key.name);
    at = &found->second;
    if (is_new) at->kind = TableKind::kDotted, at->key = key.begin;
  }
  return *at;
}

// May a header still name it, after headers of tables in it?
static bool can_be_opened(const TomlTable& table) {
  return table.kind == TableKind::kImplicit &&
         std::all_of(table.children.begin(), table.children.end(), [](const auto& child) {
           return child.second.kind != TableKind::kValue && child.second.kind != TableKind::kDotted;
         });
}

TomlTable& open_table(TomlTable& root, const std::vector<TomlKey>& keys, bool is_array) {
  TomlTable* at = &root;
  for (size_t i = 0; i + 1 < keys.size(); ++i) {
    const auto [found, is_new] = at->children.try_emplace(keys[i].name);
    at = &found->second;
    if (is_new) at->kind = TableKind::kImplicit, at->key = keys[i].begin;
    if (at->kind == TableKind::kInline) throw ClosedTomlTable{};
    if (at->kind == TableKind::kValue) throw RepeatedTomlKey{keys, i + 1, *at, true};
  }
  const auto [found, is_new] = at->children.try_emplace(keys.back().name);
  TomlTable& out = found->second;
  if (is_new)
    out.key = keys.back().begin;
  else if (is_array ? out.kind != TableKind::kTables : !can_be_opened(out))
    throw RepeatedTomlKey{keys, keys.size(), out, true};
  out.kind = is_array ? TableKind::kTables : TableKind::kHeader;
  if (is_array) {
    ++out.elements;
    out.children.clear();
  }
  return out;
}

}  // namespace thtrain
