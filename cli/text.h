// How the command line writes numbers, tables and what was built.
#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "datasets/dataset.h"
#include "reports/json.h"
#include "trainers/trainer.h"

namespace thtrain {

/// 1234567 -> "1,234,567"
std::string count_text(int64_t count);
/// "1 kernel", "2 kernels"
std::string count_text(int64_t count, const std::string& noun);
/// "7.500000 %"
std::string error_text(double per_cent);
/// A value of a metric: "7.500000 %", "0.412345"
std::string metric_text(const MetricName& metric, double value);
/// With so many decimals; from 1e7 on with an exponent: "0.412345", "1.500000e+300".
std::string loss_text(double loss, int decimals);
/// "0.031 s", "12.3 s", "3 min 12 s"
std::string seconds_text(double seconds);

/// Rows of cells, the columns aligned and two spaces apart; numbers (cells that start with a digit, or with a
/// minus and a digit) to the right.
std::string table_text(const std::vector<std::vector<std::string>>& rows, const std::string& indent = "  ");
/// The text in quotes where it needs them (RFC 4180) or has one of the characters `also`.
std::string csv_cell(const std::string& text, std::string_view also = "");
/// A line for each fact: its name, and what it is.
std::string facts_text(const std::vector<std::pair<std::string, std::string>>& facts);

/// "10 classes", "3 values", "10 labels", "no targets"
std::string targets_text(const Dataset& data);
/// Layers, parameters, memory, compiling: some lines. `targets` replaces the classes where there are
/// none.
std::string summary_text(const ModelSummary& model, const std::string& targets = "");
/// "400 training, 200 validation, 0 test in full minibatches of 100; the others are left out
/// (trainer.full_batches_only)"; empty where all examples are used.
std::string used_text(const ModelSummary& model);
/// Adds the same to `out`.
void add_summary(JsonObject& out, const ModelSummary& model);

/// Whether `file` is a terminal on which lines may be written anew; not where TERM is "dumb".
bool is_terminal(std::FILE* file);
/// Characters in a line of the terminal that `file` is; 80 where it does not say.
int terminal_width(std::FILE* file);

/// Thrown where nobody reads standard output any more, as after `thtrain info | head -1`: the program ends quietly.
struct BrokenPipe {};

/// A stream ("standard output") could not be written to, by errno.
Message output_error(const std::string& stream, int error_number);
/// Writes `text` to standard output; control characters but line ends and tabs become escapes. UserError where that
/// cannot be done, BrokenPipe where the reader has gone.
void print_text(const std::string& text);

/// Evaluation::confusion as JSON: an array of a row for each class.
std::string confusion_json(const Tensor& matrix);
/// The same as a table for people; empty where there are more than 30 classes. `names` of the classes, cut to 16
/// characters; empty: their numbers. `of_steps`: its title says that it counts steps.
std::string confusion_text(const Tensor& matrix, const std::vector<std::string>& names, bool of_steps = false);

}  // namespace thtrain
