#include "cli/runs_table.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "cli/text.h"
#include "compiler/base/escape.h"
#include "compiler/base/file.h"
#include "compiler/base/utf8.h"
#include "config/config_node.h"

namespace thtrain {

RunRow read_row(const std::string& folder) {
  try {
    return {.record = read_run(folder)};
  } catch (const UserError& error) {
    RunRow out{.error = error.messages().front().what};
    out.record.folder = folder;
    out.record.started = file_state(folder).modified_seconds;
    for (const std::string& before : {folder + ": ", folder + "/"})
      if (out.error.starts_with(before)) out.error = out.error.substr(before.size());
    return out;
  }
}

// Larger is better of both.
static double rank_of(const RunRecord& record) {
  constexpr double kNone = -std::numeric_limits<double>::infinity();
  return record.best ? record.metric.larger_is_better ? *record.best : -*record.best : kNone;
}

void sort_rows(std::vector<RunRow>& rows, const std::string& by) {
  auto before = [&](const RunRow& a, const RunRow& b) {
    const RunRecord &left = a.record, &right = b.record;
    if (by == "name") return left.folder < right.folder;
    if (a.error.empty() != b.error.empty()) return !a.error.empty();
    if (by == "time") return left.seconds < right.seconds;
    if (by == "best")
      return std::tuple(left.metric.name, rank_of(left)) < std::tuple(right.metric.name, rank_of(right));
    return left.started < right.started;
  };
  std::stable_sort(rows.begin(), rows.end(), before);
}

std::string first_characters(const std::string& text, int count) {
  return text.substr(0, byte_of_character(text, count));
}

static std::string last_characters(const std::string& text, int count) {
  return text.substr(first_characters(text, character_count(text) - count).size());
}

std::string cut_in_the_middle(const std::string& text, int width) {
  if (character_count(text) <= width) return text;
  const int kept = std::max(width - 3, 0), first = (kept + 1) / 2;
  return str(first_characters(text, first), std::string(static_cast<size_t>(std::min(width, 3)), '.'),
             last_characters(text, kept - first));
}

std::string fitting_table(std::vector<std::vector<std::string>> rows, const std::vector<size_t>& flexible, int width) {
  constexpr int kLeast = 8;
  std::vector<int> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], character_count(row[i]));
  }
  if (width > 0) {
    int all = 2 * (static_cast<int>(widths.size()) - 1);
    for (int w : widths) all += w;
    while (all > width) {
      size_t widest = flexible.front();
      for (size_t i : flexible)
        if (widths[i] > widths[widest]) widest = i;
      if (widths[widest] <= kLeast) break;
      --widths[widest], --all;
    }
    for (auto& row : rows)
      for (size_t i : flexible)
        if (i < row.size()) row[i] = cut_in_the_middle(row[i], widths[i]);
  }
  const std::string table = table_text(rows, "");
  if (width <= 0) return table;
  std::string out;
  for (size_t start = 0, end = 0; (end = table.find('\n', start)) != std::string::npos; start = end + 1)
    out += first_characters(table.substr(start, end - start), width) + "\n";
  return out;
}

static std::string value_text(const MetricName& metric, const std::optional<double>& value) {
  if (!value) return "-";
  return metric.unit == "%" ? json_fixed(*value, 6) : loss_text(*value);
}

// Has a column of its own, for the test value too: values of all metrics end at one column.
static std::string unit_text(const MetricName& metric, const std::optional<double>& value) {
  if (!value) return "";
  const std::string unit = metric.unit == "%" ? "%" : "";
  if (metric.name == "error") return unit;
  return str(unit, unit.empty() ? "" : " ", metric_label(metric.name));
}

static std::vector<std::string> cells_of(const RunRecord& record) {
  std::string end = record.phase.empty() ? text_of(record.end) : str(text_of(record.end), ", ", record.phase);
  if (!record.trouble.empty()) end += "; " + record.trouble;
  return {printable(record.folder),
          printable(record.config),
          value_text(record.metric, record.best),
          unit_text(record.metric, record.best),
          record.best ? std::to_string(record.best_epoch) : "-",
          std::to_string(record.epochs),
          value_text(record.metric, record.test),
          seconds_text(record.seconds),
          printable(end)};
}

std::vector<std::vector<std::string>> runs_rows(const std::vector<RunRow>& rows) {
  std::vector<std::vector<std::string>> out = {
      {"run", "config", "best", "", "epoch", "epochs", "test", "time", "ended"}};
  for (const RunRow& row : rows) {
    out.push_back(cells_of(row.record));
    if (!row.error.empty()) out.back() = {printable(row.record.folder)};
  }
  return out;
}

std::string runs_text(const std::vector<RunRow>& rows, int width) {
  std::string table = fitting_table(runs_rows(rows), {0, 1, 8}, width), out;
  size_t name_width = 0;
  for (size_t start = 0, i = 0, end = 0; (end = table.find('\n', start)) != std::string::npos; start = end + 1, ++i) {
    std::string line = table.substr(start, end - start);
    if (i == 0) name_width = static_cast<size_t>(character_count(line.substr(0, line.find("config"))));
    if (i > 0 && !rows[i - 1].error.empty()) {
      line.resize(line.size() + name_width - std::min(name_width, static_cast<size_t>(character_count(line))), ' ');
      line += "cannot be read: " + printable(rows[i - 1].error);
      if (width > 0) line = first_characters(line, width);
    }
    out += line + "\n";
  }
  return out;
}

std::string run_json(const RunRow& row) {
  const RunRecord& record = row.record;
  JsonObject out;
  out.add("run", record.folder);
  if (!row.error.empty()) return out.add("error", row.error).line();
  out.add("config", record.config).add("metric", record.metric.name).add("unit", record.metric.unit);
  if (!record.phase.empty()) out.add("phase", record.phase);
  auto add = [&](const char* key, const std::optional<double>& value) {
    if (value) out.add(key, *value);
  };
  add("best", record.best);
  if (record.best) out.add("best_epoch", record.best_epoch);
  out.add("epochs", record.epochs);
  add("test", record.test);
  add("train_loss", record.train_loss);
  out.add("seconds", record.seconds).add("started", utc_text(record.started));
  if (record.ended) out.add("ended", utc_text(*record.ended));
  out.add("how", text_of(record.end));
  if (!record.why.empty()) out.add("why", record.why);
  if (!record.trouble.empty()) out.add("trouble", record.trouble);
  return out.line();
}

}  // namespace thtrain
