#include "trainers/table_facts.h"

#include <charconv>

#include "compiler/base/file.h"
#include "reports/json.h"

namespace thtrain {

TableFacts table_facts(const Dataset& data) {
  return {data.columns, data.columns_named, data.class_names, data.label_at, data.other_columns};
}

void write_table_facts(const std::string& path, const TableFacts& facts) {
  JsonObject out;
  out.add("columns", facts.columns).add("named", facts.named).add("classes", facts.classes);
  if (facts.label_at) out.add("label_at", static_cast<int64_t>(*facts.label_at));
  if (facts.others.size() > 1) {
    std::vector<std::string> others;
    for (size_t i : facts.others) others.push_back(std::to_string(i));
    out.add("others", others);
  }
  AtomicFile file(path);
  file.write(out.lines());
  file.commit();
}

TableFacts read_table_facts(const std::string& path) {
  std::map<std::string, std::string> values = read_json(read_file(path), path);
  auto list = [&](const std::string& name) {
    std::vector<std::string> out;
    for (auto found = values.find(name + ".0"); found != values.end(); found = values.find(str(name, '.', out.size())))
      out.push_back(found->second);
    return out;
  };
  TableFacts out{list("columns"), values["named"] == "true", list("classes")};
  auto number = [](const std::string& text) -> std::optional<size_t> {
    size_t at = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), at);
    if (text.empty() || error != std::errc() || end != text.data() + text.size()) return {};
    return at;
  };
  out.label_at = number(values["label_at"]);
  for (const std::string& text : list("others"))
    if (std::optional<size_t> at = number(text)) out.others.push_back(*at);
  if (out.others.empty() && out.label_at) out.others = {*out.label_at};
  return out;
}

}  // namespace thtrain
