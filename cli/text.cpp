#include "cli/text.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "cli/runs_table.h"
#include "compiler/base/escape.h"
#include "compiler/base/system_error.h"
#include "compiler/base/utf8.h"
#include "compiler/libraries/blas.h"
#include "config/config_node.h"

namespace thtrain {

std::string count_text(int64_t count) {
  std::string digits = std::to_string(count), out;
  size_t start = count < 0;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > start && (digits.size() - i) % 3 == 0) out += ',';
    out += digits[i];
  }
  return out;
}

std::string count_text(int64_t count, const std::string& noun) {
  return str(count_text(count), ' ', noun, count == 1 ? "" : "s");
}

static std::string fixed(double value, int decimals) {
  return json_fixed(value, decimals);
}

std::string error_text(double per_cent) {
  return str(fixed(per_cent, 6), " %");
}

std::string metric_text(const MetricName& metric, double value) {
  return metric.unit == "%" ? error_text(value) : loss_text(value);
}

std::string loss_text(double loss, int decimals) {
  if (std::abs(loss) < 1e7) return fixed(loss, decimals);
  char text[64];
  std::snprintf(text, sizeof text, "%.*e", decimals, loss);
  return text;
}

std::string seconds_text(double seconds) {
  if (seconds < 10) return str(fixed(seconds, 3), " s");
  if (seconds < 100) return str(fixed(seconds, 1), " s");
  const auto whole = std::llround(seconds);
  if (whole < 3600) return str(whole / 60, " min ", whole % 60, " s");
  return str(whole / 3600, " h ", whole % 3600 / 60, " min");
}

std::string table_text(const std::vector<std::vector<std::string>>& rows, const std::string& indent) {
  std::vector<int> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], character_count(row[i]));
  }
  std::string out;
  for (const auto& row : rows) {
    std::string line = indent;
    for (size_t i = 0; i < row.size(); ++i) {
      std::string space(static_cast<size_t>(widths[i] - character_count(row[i])), ' ');
      const size_t sign = row[i].starts_with('-');
      const bool is_number = sign < row[i].size() && std::isdigit(static_cast<unsigned char>(row[i][sign]));
      line += (i ? "  " : "") + (is_number ? space + row[i] : row[i] + space);
    }
    out += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
  }
  return out;
}

std::string csv_cell(const std::string& text, std::string_view also) {
  if (text.find_first_of(",\"\r\n") == std::string::npos && text.find_first_of(also) == std::string::npos) return text;
  std::string out = "\"";
  for (char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + '"';
}

std::string facts_text(const std::vector<std::pair<std::string, std::string>>& facts) {
  size_t width = 0;
  for (const auto& [name, value] : facts) width = std::max(width, name.size());
  std::string out;
  for (const auto& [name, value] : facts)
    out += str("  ", name, std::string(width + 2 - name.size(), ' '), value, '\n');
  return out;
}

std::string targets_text(const Dataset& data) {
  const int64_t width = element_count(data.train.step_target_shape());
  const char* by_step = data.train.has_step_targets() ? " by step" : "";
  switch (data.targets()) {
    case Targets::kNone:
      return "no targets";
    case Targets::kClasses:
      return str(count_text(data.classes()), data.classes() == 1 ? " class" : " classes", by_step);
    case Targets::kLabelSequences:
      return str("label sequences of ", count_text(data.classes()), data.classes() == 1 ? " class" : " classes");
    case Targets::kValues:
      return count_text(width, "value") + by_step;
    case Targets::kLabels:
      return count_text(width, "label") + by_step;
  }
  return "";
}

std::string used_text(const ModelSummary& model) {
  if (model.train_used == model.train_examples && model.valid_used == model.valid_examples &&
      model.test_used == model.test_examples)
    return "";
  return str(count_text(model.train_used), " training, ", count_text(model.valid_used), " validation, ",
             count_text(model.test_used), " test in full minibatches of ", count_text(model.batch_size),
             "; the others are left out (trainer.full_batches_only)");
}

std::string summary_text(const ModelSummary& model, const std::string& targets) {
  std::vector<std::vector<std::string>> rows = {{"input", "", model.input}};
  for (const LayerSummary& layer : model.layers)
    rows.push_back(
        {layer.name, layer.type, layer.output, layer.parameters ? count_text(layer.parameters, "parameter") : ""});
  auto bytes = [](int64_t count) { return bytes_text(static_cast<double>(count)); };
  std::string temporaries = model.arena_bytes < 0
                                ? "known only at each call"
                                : str(bytes(model.arena_bytes), ", of which ", bytes(model.arena_lower_bound),
                                      " are in use at the worst step");
  std::vector<std::pair<std::string, std::string>> facts = {
      {"examples", str(count_text(model.train_examples), " training, ", count_text(model.valid_examples),
                       " validation, ", count_text(model.test_examples), " test; ", count_text(model.batches),
                       model.batches == 1 ? " minibatch" : " minibatches", " an epoch")},
      {"classes", std::to_string(model.classes)},  // or the targets
      {"parameters", str(count_text(model.parameters), ", ", bytes(model.parameter_bytes))},
      {"optimizer", bytes(model.optimizer_bytes)},
      {"data", model.data_bytes ? bytes(model.data_bytes) : "read while training"},
      {"temporaries", temporaries},
      {"compiling", model.is_compiling ? "in the background; training runs in reference mode until it is done"
                                       : str(count_text(model.kernels_compiled, "kernel"), " compiled, ",
                                             seconds_text(model.seconds_compile))},
      {"threads", std::to_string(model.threads)}};
  if (model.classes == 0 && targets.empty())
    facts.erase(facts.begin() + 1);
  else if (model.classes == 0)
    facts[1] = {"targets", targets};
  if (std::string used = used_text(model); !used.empty()) facts.insert(facts.begin() + 1, {"used", used});
  if (std::string forced = forced_kernels_text(); !forced.empty()) facts.emplace_back("BLAS", forced);
  if (!model.reference_steps.empty()) facts.emplace_back("reference mode", join(model.reference_steps, ", "));
  return table_text(rows) + facts_text(facts);
}

void add_summary(JsonObject& out, const ModelSummary& model) {
  auto layer_json = [](const LayerSummary& layer) {
    return JsonObject()
        .add("name", layer.name)
        .add("type", layer.type)
        .add("output", layer.output)
        .add("parameters", layer.parameters)
        .line();
  };
  out.add("input", model.input)
      .add_raw("layers", str('[', join(model.layers, ", ", layer_json), ']'))
      .add("classes", model.classes)
      .add("parameters", model.parameters)
      .add("parameter_bytes", model.parameter_bytes)
      .add("optimizer_bytes", model.optimizer_bytes)
      .add("data_bytes", model.data_bytes)
      .add("arena_bytes", model.arena_bytes)
      .add("arena_lower_bound", model.arena_lower_bound)
      .add("train_examples", model.train_examples)
      .add("valid_examples", model.valid_examples)
      .add("test_examples", model.test_examples)
      .add("train_used", model.train_used)
      .add("valid_used", model.valid_used)
      .add("test_used", model.test_used)
      .add("batches", model.batches)
      .add("kernels_compiled", model.kernels_compiled)
      .add("seconds_compile", model.seconds_compile)
      .add("reference_steps", model.reference_steps)
      .add("threads", model.threads);
}

bool is_terminal(std::FILE* file) {
  const char* kind = std::getenv("TERM");
  return ::isatty(::fileno(file)) && (!kind || std::strcmp(kind, "dumb") != 0);
}

int terminal_width(std::FILE* file) {
  winsize size{};
  return ::ioctl(::fileno(file), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

Message output_error(const std::string& stream, int error_number) {
  const bool is_full = error_number == ENOSPC || error_number == EDQUOT || error_number == EFBIG;
  return {.what = str(stream, " cannot be written"),
          .expected = is_full ? "a file or device with room" : "a file, pipe or terminal that takes text",
          .got = system_error_text(error_number),
          .hint = is_full ? "make room, or send the output elsewhere" : ""};
}

void print_text(const std::string& text) {
  std::string shown = printable(text, "\n\t");
  if (std::fwrite(shown.data(), 1, shown.size(), stdout) == shown.size() && std::fflush(stdout) == 0) return;
  if (errno == EPIPE) throw BrokenPipe();
  throw UserError(output_error("standard output", errno));
}

// A number of examples, or a sum of their weights.
static std::string count_or_sum(double value) {
  return value == std::floor(value) && value < 1e15 ? std::to_string(static_cast<int64_t>(value)) : json_number(value);
}

std::string confusion_json(const Tensor& matrix) {
  std::vector<std::string> rows;
  for (int64_t i = 0; i < matrix.dim(0); ++i) {
    std::vector<std::string> row;
    for (int64_t j = 0; j < matrix.dim(1); ++j) row.push_back(count_or_sum(matrix.as_double(i * matrix.dim(1) + j)));
    rows.push_back(str('[', join(row, ", "), ']'));
  }
  return str('[', join(rows, ", "), ']');
}

// Spaces before each text of a row's column, or behind it, that make all as wide as the widest.
static std::string padded(const std::string& text, int width, bool before) {
  const std::string space(static_cast<size_t>(std::max(0, width - character_count(text))), ' ');
  return before ? space + text : text + space;
}

std::string confusion_text(const Tensor& matrix, const std::vector<std::string>& names, bool of_steps) {
  constexpr int64_t kMost = 30;
  constexpr int kLongestName = 16;
  if (matrix.dim(0) > kMost) return "";
  std::vector<std::vector<std::string>> rows = {{"class"}};
  for (int64_t i = 0; i < matrix.dim(0); ++i) {
    const auto at = static_cast<size_t>(i);
    const std::string name =
        at < names.size() ? cut_in_the_middle(printable(names[at]), kLongestName) : std::to_string(i);
    rows[0].push_back(name);
    rows.push_back({name});
    for (int64_t j = 0; j < matrix.dim(1); ++j)
      rows.back().push_back(count_or_sum(matrix.as_double(i * matrix.dim(1) + j)));
  }
  // Names of columns to the right, above their numbers, and those of rows to the left, also where they begin with a
  // digit.
  for (size_t j = 0; j < rows[0].size() && !names.empty(); ++j) {
    int width = 0;
    for (const auto& row : rows) width = std::max(width, character_count(row[j]));
    for (auto& row : rows) row[j] = padded(row[j], width, j > 0);
  }
  return str(of_steps ? "steps taken for\n" : "taken for\n", table_text(rows, "  "));
}

}  // namespace thtrain
