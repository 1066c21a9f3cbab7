// JSON as metrics.jsonl, run.json and `--json` need it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace thtrain {

/// "\"a \\\"b\\\"\"": a text as a JSON string; bytes that are no UTF-8 become U+FFFD.
std::string json_string(std::string_view text);
/// The shortest text that reads back as the same number; null for infinities and NaN, which JSON has not.
std::string json_number(double value);
/// With that many digits after the point: errors in per cent have six.
std::string json_fixed(double value, int decimals);

/// One object, its entries in the order in which they are added.
class JsonObject {
 public:
  JsonObject& add(std::string_view key, std::string_view value) { return add_raw(key, json_string(value)); }
  JsonObject& add(std::string_view key, const char* value) { return add(key, std::string_view(value)); }
  JsonObject& add(std::string_view key, double value) { return add_raw(key, json_number(value)); }
  JsonObject& add(std::string_view key, int64_t value) { return add_raw(key, std::to_string(value)); }
  JsonObject& add(std::string_view key, int value) { return add(key, static_cast<int64_t>(value)); }
  JsonObject& add(std::string_view key, bool value) { return add_raw(key, value ? "true" : "false"); }
  JsonObject& add(std::string_view key, const std::vector<std::string>& values);
  /// An error in per cent, or nothing.
  JsonObject& add_error(std::string_view key, const std::optional<double>& value);
  /// `json` is JSON already.
  JsonObject& add_raw(std::string_view key, std::string_view json);

  bool empty() const { return entries_.empty(); }
  std::string line() const;   // {"a": 1, "b": "x"}
  std::string lines() const;  // an entry on each line, with a line end at the end

 private:
  std::vector<std::string> entries_;
};

/// Every value of a JSON text under its path, "pins.threads" or "command_line.0", as text: strings without their
/// quotes, other values as they are written. UserError, which names `source`, where it is no JSON as RFC 8259 has it
/// (strings are UTF-8, and a \u of a surrogate is half of a pair),
/// or larger than such a text is: more than 64 MiB, keys of more than 4096 bytes within each other, 64 levels.
std::map<std::string, std::string> read_json(std::string_view text, const std::string& source);

}  // namespace thtrain
