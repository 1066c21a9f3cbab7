#include "trainers/table_facts.h"

#include <charconv>

#include "datasets/file.h"
#include "trainers/json.h"

namespace thtrain {

TableFacts table_facts(const Dataset& data) {
  return {data.columns, data.columns_named, data.class_names, data.label_at};
}

void write_table_facts(const std::string& path, const TableFacts& facts) {
  JsonObject out;
  out.add("columns", facts.columns).add("named", facts.named).add("classes", facts.classes);
  if (facts.label_at) out.add("label_at", static_cast<int64_t>(*facts.label_at));
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
  const std::string& label = values["label_at"];
  size_t at = 0;
  auto [end, error] = std::from_chars(label.data(), label.data() + label.size(), at);
  if (!label.empty() && error == std::errc() && end == label.data() + label.size()) out.label_at = at;
  return out;
}

}  // namespace thtrain
