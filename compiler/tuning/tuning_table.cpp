#include "compiler/tuning/tuning_table.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <sstream>

#include "compiler/base/escape.h"
#include "compiler/base/str.h"

namespace thtrain {
namespace {

constexpr std::string_view kLoad = " load ", kRefused = "refused ";

bool is_number(double value) {
  return std::isfinite(value) && value > 0;
}

// "tile 6x4x392 [3] 3.5e-05", "tile 6x4x392 [3] 3.5e-05 load 7.5"
std::optional<Measured> measured_of(std::string_view text) {
  const size_t open = text.find(" ["), close = text.find("] ");
  if (open == std::string_view::npos || close == std::string_view::npos || open == 0 || close < open + 2)
    return std::nullopt;
  Measured out{std::string(text.substr(0, open)), std::string(text.substr(open + 2, close - open - 2))};
  const char *begin = text.data() + close + 2, *end = text.data() + text.size();
  const auto [last, error] = std::from_chars(begin, end, out.seconds);
  if (error != std::errc() || !is_number(out.seconds)) return std::nullopt;
  if (last == end) return out;
  const std::string_view rest(last, static_cast<size_t>(end - last));
  if (!rest.starts_with(kLoad)) return std::nullopt;
  const auto [last_of_load, trouble] = std::from_chars(last + kLoad.size(), end, out.load);
  if (trouble != std::errc() || last_of_load != end || !is_number(out.load)) return std::nullopt;
  return out;
}

std::string time_text(double seconds) {
  char number[32];
  return {number, std::to_chars(number, number + sizeof number, seconds, std::chars_format::scientific, 3).ptr};
}

std::string load_text(double load) {
  char number[32];
  return {number, std::to_chars(number, number + sizeof number, load, std::chars_format::general, 3).ptr};
}

std::string text_of(const Measured& m) {
  return str(m.candidate, " [", m.version, "] ", time_text(m.seconds),
             m.load > 0 ? str(kLoad, load_text(m.load)) : std::string());
}

// "mine [1 of my.so 0123456789ab user_candidate 1] it wrote behind its result"
std::optional<Refused> refused_of_text(std::string_view text) {
  const size_t open = text.find(" ["), close = text.find("] ");
  if (open == std::string_view::npos || close == std::string_view::npos || open == 0 || close < open + 2 ||
      close + 2 == text.size())
    return std::nullopt;
  return Refused{std::string(text.substr(0, open)), std::string(text.substr(open + 2, close - open - 2)),
                 std::string(text.substr(close + 2))};
}

// As its text says it, so that a table is what is read back.
double rounded(const std::string& text) {
  double out = 0;
  std::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}

std::optional<std::vector<Measured>> list_of(std::string_view text) {
  constexpr std::string_view kBetween = "; ";
  std::vector<Measured> out;
  while (true) {
    const size_t at = text.find(kBetween);
    const std::optional<Measured> next = measured_of(text.substr(0, at));
    if (!next) return std::nullopt;
    out.push_back(*next);
    if (at == std::string_view::npos) return out;
    text.remove_prefix(at + kBetween.size());
  }
}

}  // namespace

const std::vector<Measured>& TuningTable::of(const std::string& key) const {
  static const std::vector<Measured> none;
  const auto at = measured_.find(key);
  return at == measured_.end() ? none : at->second;
}

void TuningTable::add(const std::string& key, Measured measured) {
  measured.seconds = rounded(time_text(measured.seconds));
  measured.load = rounded(load_text(measured.load));
  std::vector<Measured>& all = measured_[key];
  std::erase_if(all, [&](const Measured& m) { return m.candidate == measured.candidate; });
  if (const auto at = refused_.find(key); at != refused_.end()) {
    std::erase_if(at->second, [&](const Refused& r) { return r.candidate == measured.candidate; });
    if (at->second.empty()) refused_.erase(at);
  }
  const auto slower =
      std::find_if(all.begin(), all.end(), [&](const Measured& m) { return m.seconds > measured.seconds; });
  all.insert(slower, measured);
}

void TuningTable::refuse(const std::string& key, Refused refused) {
  refused.reason = printable(refused.reason);  // on one line
  if (const auto at = measured_.find(key); at != measured_.end()) {
    std::erase_if(at->second, [&](const Measured& m) { return m.candidate == refused.candidate; });
    if (at->second.empty()) measured_.erase(at);
  }
  std::vector<Refused>& all = refused_[key];
  std::erase_if(all, [&](const Refused& r) { return r.candidate == refused.candidate; });
  all.push_back(std::move(refused));
}

const std::vector<Refused>& TuningTable::refused_of(const std::string& key) const {
  static const std::vector<Refused> none;
  const auto at = refused_.find(key);
  return at == refused_.end() ? none : at->second;
}

void TuningTable::merge(const TuningTable& table) {
  for (const auto& [key, all] : table.measured_)
    for (const Measured& measured : all) add(key, measured);
  for (const auto& [key, all] : table.refused_)
    for (const Refused& refused : all) refuse(key, refused);
  for (const std::string& line : table.unknown_)
    if (std::find(unknown_.begin(), unknown_.end(), line) == unknown_.end()) unknown_.push_back(line);
}

std::string TuningTable::text(const std::string& head) const {
  std::string out = str("# ", head, "\n");
  for (const auto& [key, all] : measured_)
    out += str(key, " = ", join(all, "; ", [](const Measured& m) { return text_of(m); }), "\n");
  for (const auto& [key, all] : refused_)
    for (const Refused& r : all) out += str(kRefused, key, " = ", r.candidate, " [", r.version, "] ", r.reason, "\n");
  for (const std::string& line : unknown_) out += line + "\n";
  return out;
}

TuningTable TuningTable::parse(std::string_view text) {
  TuningTable out;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.front() == '#') continue;
    const size_t at = line.find(" = ");
    if (line.starts_with(kRefused) && at != std::string::npos && at > kRefused.size())
      if (std::optional<Refused> refused = refused_of_text(std::string_view(line).substr(at + 3))) {
        out.refuse(line.substr(kRefused.size(), at - kRefused.size()), std::move(*refused));
        continue;
      }
    const auto all = at == std::string::npos || at == 0 ? std::nullopt : list_of(std::string_view(line).substr(at + 3));
    if (!all) {
      out.unknown_.push_back(line);
      continue;
    }
    for (const Measured& measured : *all) out.add(line.substr(0, at), measured);
  }
  return out;
}

}  // namespace thtrain
