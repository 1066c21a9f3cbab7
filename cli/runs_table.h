// Runs as a table for people and as JSON: `thtrain runs` and `thtrain compare`.
#pragma once

#include <string>
#include <vector>

#include "trainers/run_record.h"

namespace thtrain {

/// A run folder, and what read_run() says of it.
struct RunRow {
  RunRecord record = {};   // of a folder that cannot be read: where it is, and when it was last changed
  std::string error = {};  // what is wrong with it; empty: nothing
};
/// Takes an error of read_run() into the row.
RunRow read_row(const std::string& folder);

/// "time": by the seconds of training; "name": by the folder; "best": by the names of the metrics, and then the worst
/// first and what has no value before it; "": by when they began. What cannot be read comes first, but by names.
void sort_rows(std::vector<RunRow>& rows, const std::string& by);

/// The titles and a row of cells for each run: its folder, its experiment, its result.
std::vector<std::vector<std::string>> runs_rows(const std::vector<RunRow>& rows);
/// The title and a line for each run, aligned. A `width` above 0: names are cut where a line would have more
/// characters.
std::string runs_text(const std::vector<RunRow>& rows, int width = 0);
/// {"run": "runs/mlp-1", "config": "mlp", ...}, or {"run": ..., "error": ...}
std::string run_json(const RunRow& row);

/// The first characters of a text, which may have several bytes; all where there are no more than `count`.
std::string first_characters(const std::string& text, int count);
/// The first and last characters of a text, "runs/mlp...-12", where it has more than `width`.
std::string cut_in_the_middle(const std::string& text, int width);
/// table_text() of `rows` without indentation, the texts of the columns `flexible` cut until a line has at most `width`
/// characters or they have 8; lines that are longer then are cut. `width` 0: as they are.
std::string fitting_table(std::vector<std::vector<std::string>> rows, const std::vector<size_t>& flexible, int width);

}  // namespace thtrain
