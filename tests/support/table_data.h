// A table for training and one for tests, as the source of data "csv" reads them.
#pragma once

#include <string>
#include <vector>

#include "datasets/load.h"
#include "datasets/sources/csv.h"
#include "tests/support/dtypes.h"

namespace thtrain {

/// The options of `config` for t.csv and test.csv of a folder.
inline DatasetOptions table_options(CsvConfig config, const std::string& folder) {
  config.train = "t.csv";
  config.test = "test.csv";
  DatasetOptions out;
  config.fill(out);
  out.name = "csv";
  out.config_folder = folder;
  out.files = {{"train", {"t.csv"}}, {"test", {"test.csv"}}};
  return out;
}

/// The inputs of all examples.
inline std::vector<double> numbers_of(const Split& split) {
  const Batch batch = split.all(DType::kFloat64);
  return {batch.x.data<double>(), batch.x.data<double>() + batch.x.size()};
}

}  // namespace thtrain
