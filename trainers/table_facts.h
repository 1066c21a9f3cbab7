// What a run remembers of the table that it was trained on, so that predict can read another one and name the classes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "datasets/dataset.h"

namespace thtrain {

struct TableFacts {
  std::vector<std::string> columns;     // of an example; none where the data is no table
  bool named = false;                   // by a header
  std::vector<std::string> classes;     // none where the labels are numbers
  std::optional<size_t> label_at = {};  // the label's column, from 0, where it is the only other one; runs of earlier
                                        // versions do not say it
  std::vector<size_t> others = {};      // columns of labels and weights, and skipped ones, from 0
  /// Of each column of an example, as Categories::names; the model's, which the file does not say.
  std::vector<std::vector<std::string>> categories = {};
  int64_t class_count = 0;  // the model's, too; 0: not known
  bool fills = false;       // missing values; the same
};

TableFacts table_facts(const Dataset& data);

/// As JSON. Atomic. UserError where it cannot be written.
void write_table_facts(const std::string& path, const TableFacts& facts);
/// UserError where it cannot be read, or was not written by write_table_facts.
TableFacts read_table_facts(const std::string& path);

}  // namespace thtrain
