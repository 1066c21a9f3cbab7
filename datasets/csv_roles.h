// What the columns of a table are read for.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "datasets/csv.h"

namespace thtrain {

enum class CsvRole { kFeature, kLabel, kWeight, kSkipped };

struct CsvRoles {
  std::vector<CsvRole> of;           // of each column
  std::optional<size_t> label = {};  // the one column of labels, which may be text
  std::vector<size_t> several = {};  // columns of numbers to learn, in the order of y
  std::optional<size_t> weight = {};
  std::vector<bool> is_category = {};  // of each column: the options name it as one of categories
};

/// Of the table at `path`, whose columns have these names by its header, or are numbered; its first record is on line
/// `first_line`. UserError where the options name a column that there is not, or one twice.
CsvRoles csv_roles(const std::string& path, const std::vector<std::string>& names, bool has_header, int64_t first_line,
                   const CsvOptions& options);

}  // namespace thtrain
