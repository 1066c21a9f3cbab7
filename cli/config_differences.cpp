#include "cli/config_differences.h"

#include <algorithm>
#include <charconv>
#include <sstream>

#include "trainers/config_edits.h"

namespace thtrain {

namespace {

using Container = FieldAccess::Container;
using Value = FieldAccess::Value;

constexpr const char* kNone = "-";

std::string inner_path(const std::string& path, const std::string& name) {
  return path.empty() ? name : str(path, '.', name);
}

bool are_equal(const FieldAccess& access, const void* a, const void* b) {
  const size_t size = access.size(a);
  if (size != access.size(b)) return false;
  for (size_t i = 0; i < size; ++i)
    if (toml_value(access.node(access.element(a, i))) != toml_value(access.node(access.element(b, i)))) return false;
  return true;
}

/// Finds the fields of an object that have the value of its schema's defaults.
class DefaultFinder {
 public:
  explicit DefaultFinder(std::set<std::string>& found) : found_(found) {}

  void find(const Schema& schema, const void* object, const std::string& path) {
    for (const FieldSpec& field : schema.fields) {
      const void* member = field.member(object);
      const void* fallback = field.member(schema.defaults);
      const bool is_nested = field.access->value == Value::kTable || field.access->value == Value::kKind;
      if (is_nested)
        find_nested(field, member, fallback, path);
      else if (are_equal(*field.access, member, fallback))
        found_.insert(inner_path(path, field.name));
    }
  }

 private:
  void find_nested(const FieldSpec& field, const void* member, const void* fallback, const std::string& path) {
    const FieldAccess& access = *field.access;
    const std::string name = inner_path(path, field.name);
    const bool is_list = access.container == Container::kList;
    const size_t size = access.size(member);
    if (is_list && size == 0 && access.size(fallback) == 0) found_.insert(name);
    for (size_t i = 0; i < size; ++i) {
      void* element = const_cast<void*>(access.element(member, i));
      const std::string inner = field.inlined ? path : is_list ? str(name, '.', i) : name;
      if (access.value == Value::kTable) {
        find(access.schema(), element, inner);
        continue;
      }
      const Selected selected = access.selected(element);
      if (!selected.object) continue;
      if (access.container == Container::kOne) {
        const Selected usual = access.selected(const_cast<void*>(access.element(fallback, 0)));
        if (usual.object && usual.kind.name == selected.kind.name) found_.insert(inner_path(inner, field.tag));
      }
      find(selected.kind.schema(), selected.object, inner);
    }
  }

  std::set<std::string>& found_;
};

std::vector<std::string> parts_of(const std::string& key) {
  std::vector<std::string> out;
  std::istringstream parts(key);
  for (std::string part; std::getline(parts, part, '.');) out.push_back(part);
  return out;
}

bool is_number(const std::string& part) {
  return !part.empty() && part.find_first_not_of("0123456789") == std::string::npos;
}

struct ByParts {
  bool operator()(const std::string& a, const std::string& b) const {
    const std::vector<std::string> left = parts_of(a), right = parts_of(b);
    return std::lexicographical_compare(left.begin(), left.end(), right.begin(), right.end(),
                                        [](const std::string& x, const std::string& y) {
                                          if (is_number(x) && is_number(y) && x.size() != y.size())
                                            return x.size() < y.size();
                                          return x < y;
                                        });
  }
};

// "model.layers.2" of "model.layers.2.units", the element of a list that the key is in; "" where it is in none. A phase
// is a whole experiment.
std::string element_of(const std::string& key) {
  const std::vector<std::string> parts = parts_of(key);
  const size_t first = parts.size() > 2 && parts[0] == "phase" ? 2 : 0;
  std::string out;
  for (size_t i = 0; i + 1 < parts.size(); ++i) {
    out = inner_path(out, parts[i]);
    if (i >= first && is_number(parts[i])) return out;
  }
  return "";
}

std::set<std::string, ByParts> keys_of(const std::vector<ComparedConfig>& configs) {
  std::set<std::string, ByParts> out;
  for (const ComparedConfig& config : configs)
    for (const auto& [key, value] : config.values) out.insert(key);
  return out;
}

std::vector<std::string> row_of(const std::string& key, const std::vector<ComparedConfig>& configs) {
  std::vector<std::string> out = {key};
  for (const ComparedConfig& config : configs) {
    const auto found = config.values.find(key);
    out.push_back(found == config.values.end() ? kNone : found->second);
  }
  return out;
}

bool differs(const std::vector<std::string>& row) {
  return std::any_of(row.begin() + 2, row.end(), [&](const std::string& value) { return value != row[1]; });
}

// "phase.1." of a key of a phase; "" of others.
std::string phase_prefix(const std::string& key) {
  const std::vector<std::string> parts = parts_of(key);
  return parts.size() > 2 && parts[0] == "phase" && is_number(parts[1]) ? str("phase.", parts[1], '.') : "";
}

// The values of each phase, by their keys without the phase; an element of a list of tables is one value.
std::map<std::string, std::map<std::string, std::string>> values_of_phases(const ComparedConfig& config) {
  std::map<std::string, std::map<std::string, std::string>> out;
  for (const auto& [key, value] : config.values)
    if (const std::string phase = phase_prefix(key); !phase.empty()) {
      const std::string inner = key.substr(phase.size()), element = element_of(inner);
      if (element.empty())
        out[phase][inner] = value;
      else
        out[phase][element] += str(inner, " = ", value, '\n');
    }
  return out;
}

// What all phases of an experiment have in common, in every one of them, is said once, as of an experiment without
// phases.
std::vector<ComparedConfig> with_common_phases(std::vector<ComparedConfig> configs) {
  std::set<std::string> own;        // keys and elements in which some experiment's phases differ
  std::set<std::string> different;  // keys that have different values there, which are told even of defaults
  for (const ComparedConfig& config : configs) {
    const auto phases = values_of_phases(config);
    for (const auto& [phase, values] : phases)
      for (const auto& [key, value] : values)
        for (const auto& [other, others] : phases)
          if (const auto found = others.find(key); found == others.end() || found->second != value) {
            own.insert(key);
            if (found != others.end()) different.insert(key);
          }
  }
  for (ComparedConfig& config : configs) {
    ComparedConfig out;
    for (const auto& [key, value] : config.values) {
      const std::string phase = phase_prefix(key);
      std::string inner = key.substr(phase.size());
      const std::string element = element_of(inner);
      if (phase.empty() || own.contains(element.empty() ? inner : element)) inner = key;
      out.values[inner] = value;
      if (config.defaults.contains(key) && (phase.empty() || !different.contains(key.substr(phase.size()))))
        out.defaults.insert(inner);
    }
    config = std::move(out);
  }
  return configs;
}

// "dense1" of {type = "dense"}: what a layer is called that has no name.
bool is_automatic_name(const std::string& name, const std::string& type) {
  if (name.size() < 2 || type.size() < 2) return false;
  const std::string inner = name.substr(1, name.size() - 2), begin = type.substr(1, type.size() - 2);
  return inner == begin || (inner.starts_with(begin) && is_number(inner.substr(begin.size())));
}

// "{type = "dense", name = "hidden", units = 20}", or none.
std::string element_text(const ComparedConfig& config, const std::string& element) {
  const std::string begin = element + '.';
  std::vector<std::string> entries;
  for (auto at = config.values.lower_bound(begin); at != config.values.end() && at->first.starts_with(begin); ++at) {
    const std::string name = at->first.substr(begin.size());
    if (name != "type" && config.defaults.contains(at->first)) continue;
    const auto type = config.values.find(begin + "type");
    if (name == "name" && type != config.values.end() && is_automatic_name(at->second, type->second)) continue;
    entries.push_back(str(name, " = ", at->second));
  }
  for (const char* first : {"name = ", "type = "})  // these lead
    std::stable_partition(entries.begin(), entries.end(),
                          [&](const std::string& entry) { return entry.starts_with(first); });
  return entries.empty() ? kNone : str('{', join(entries, ", "), '}');
}

// Is it in all of them, and of one type?
bool is_of_one_type(const std::string& element, const std::vector<ComparedConfig>& configs) {
  const std::string begin = element + '.';
  for (const ComparedConfig& config : configs) {
    const auto found = config.values.lower_bound(begin);
    if (found == config.values.end() || !found->first.starts_with(begin)) return false;
  }
  return !differs(row_of(begin + "type", configs));
}

// Does a row say something that is more than the defaults of a table that the others do not have?
bool tells_something(const std::string& key, const std::vector<ComparedConfig>& configs) {
  bool all_have_it = true, has_other = false;
  std::set<std::string> values;
  for (const ComparedConfig& config : configs) {
    const auto found = config.values.find(key);
    if (found == config.values.end()) {
      all_have_it = false;
      continue;
    }
    values.insert(found->second);
    has_other |= !config.defaults.contains(key);
  }
  return all_have_it || has_other || values.size() > 1;
}

}  // namespace

ComparedConfig compared_config(const Experiment& experiment) {
  ComparedConfig out{config_values(resolved_toml(experiment)), {}};
  DefaultFinder finder(out.defaults);
  const Schema& schema = schema_of<Experiment>();
  finder.find(schema, &experiment, "");
  for (size_t i = 0; i < experiment.phases.size(); ++i) finder.find(schema, &experiment.phases[i], str("phase.", i));
  return out;
}

std::vector<std::vector<std::string>> all_differences(const std::vector<ComparedConfig>& configs) {
  std::vector<std::vector<std::string>> out;
  for (const std::string& key : keys_of(configs))
    if (std::vector<std::string> row = row_of(key, configs); differs(row)) out.push_back(std::move(row));
  return out;
}

std::vector<std::vector<std::string>> short_differences(const std::vector<ComparedConfig>& given) {
  const std::vector<ComparedConfig> configs = with_common_phases(given);
  std::vector<std::vector<std::string>> out;
  std::string last;  // the element whose row is there
  for (const std::string& key : keys_of(configs)) {
    const std::string element = element_of(key);
    if (!element.empty() && (element == last || !is_of_one_type(element, configs))) {
      if (element == last) continue;
      last = element;
      out.push_back({element});
      for (const ComparedConfig& config : configs) out.back().push_back(element_text(config, element));
      continue;
    }
    std::vector<std::string> row = row_of(key, configs);
    if (differs(row) && tells_something(key, configs)) out.push_back(std::move(row));
  }
  return out;
}

}  // namespace thtrain
