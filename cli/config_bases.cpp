#include "cli/config_bases.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <unordered_map>
#include <vector>

#include "cli/toml_config.h"
#include "compiler/base/file.h"
#include "trainers/replaced_kinds.h"

namespace thtrain {

namespace {

constexpr const char* kBase = "_base_";

// Tables merge; what else is there replaces. Linear in the number of keys.
void merge(ConfigNode& under, ConfigNode over) {
  std::unordered_map<std::string, size_t> indices;
  for (size_t i = 0; i < under.children.size(); ++i) indices.emplace(under.children[i].key, i);
  for (ConfigNode& entry : over.children) {
    const auto [index, is_new] = indices.emplace(entry.key, under.children.size());
    if (is_new) {
      under.children.push_back(std::move(entry));
      continue;
    }
    ConfigNode& there = under.children[index->second];
    if (there.is_table() && entry.is_table()) {
      there.position = entry.position;
      there.key_position = entry.key_position;
      merge(there, std::move(entry));
    } else {
      there = std::move(entry);
    }
  }
}

class BaseReader {
 public:
  explicit BaseReader(Findings& findings) : findings_(findings) {}

  ConfigNode read(const std::string& path) {
    chain_.push_back(path);
    const size_t findings_before = findings_.size();
    ConfigNode own = read_toml_file(path, findings_), out;
    out.position = own.position;
    const ConfigNode* named = own.find(kBase);
    bool is_first = true;
    const std::vector<ConfigNode> bases = named ? bases_in(*named) : std::vector<ConfigNode>();
    out.incomplete = findings_.size() > findings_before;
    for (const ConfigNode& base : bases) {
      ConfigNode read = read_base(base, path);
      out.incomplete |= read.incomplete;
      if (is_first)
        out.children = std::move(read.children);
      else
        put_over(out, std::move(read));
      is_first = false;
    }
    out.incomplete |= own.incomplete;
    std::erase_if(own.children, [](const ConfigNode& entry) { return entry.key == kBase; });
    put_over(out, std::move(own));
    chain_.pop_back();
    return out;
  }

 private:
  static void put_over(ConfigNode& under, ConfigNode over) {
    const ConfigNode before = under, replacing = over;
    merge(under, std::move(over));
    drop_replaced_kinds(before, replacing, under);
  }

  // Each of them a string; none after a finding.
  std::vector<ConfigNode> bases_in(const ConfigNode& named) {
    const std::vector<ConfigNode> out = named.is_array() ? named.children : std::vector<ConfigNode>{named};
    for (const ConfigNode& base : out) {
      const bool is_path = base.kind == ConfigNode::Kind::kString && !base.text.empty();
      if (is_path && base.text.find('\0') != std::string::npos) return {};  // which reading it said
      if (is_path) continue;
      findings_.add({.what = "_base_ names a file that this one goes over",
                     .expected = "the path of a TOML file, or an array of them",
                     .got = description(base),
                     .config = base.position});
      return {};
    }
    return out;
  }

  // Without children after a finding.
  ConfigNode read_base(const ConfigNode& base, const std::string& from) {
    constexpr size_t kMostFiles = 100;
    const std::string path = (std::filesystem::path(from).parent_path() / base.text).lexically_normal().string();
    ConfigNode none;
    none.incomplete = true;
    auto refuse = [&](Message message) {
      message.config = base.position;
      findings_.add(std::move(message));
      return none;
    };
    for (size_t i = 0; i < chain_.size(); ++i) {
      if (!is_same_file(chain_[i], path)) continue;
      std::vector<std::string> circle(chain_.begin() + static_cast<std::ptrdiff_t>(i), chain_.end());
      circle.push_back(chain_[i]);
      return refuse({.what = "the bases go in a circle",
                     .expected = "a base that does not lead back to this file",
                     .got = join(circle, " -> ")});
    }
    if (++files_ > kMostFiles)
      return refuse(
          {.what = "there are too many bases", .expected = str("at most ", kMostFiles, " files in all"), .got = path});
    std::error_code ignored;
    const std::filesystem::file_status status = std::filesystem::status(path, ignored);
    if (std::filesystem::is_other(status))  // whose end may never come
      return refuse({.what = str("cannot read the base ", path),
                     .expected = "a TOML file",
                     .got = std::filesystem::is_fifo(status) ? "a pipe" : "a device or socket"});
    const size_t depth = chain_.size();
    try {
      return read(path);
    } catch (const UserError& error) {  // of a file that cannot be read
      chain_.resize(depth);
      Message message = error.messages().front();
      const std::string usual = "cannot read the experiment ";
      if (message.what.starts_with(usual))
        message.what = str("cannot read the base ", message.what.substr(usual.size()));
      return refuse(std::move(message));
    }
  }

  Findings& findings_;
  std::vector<std::string> chain_;  // the files that lead to the one that is being read
  size_t files_ = 0;
};

}  // namespace

ConfigNode read_config(const std::string& path, Findings& findings) {
  return BaseReader(findings).read(path);
}

}  // namespace thtrain
