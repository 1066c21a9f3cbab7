// Tables of numbers in text files (datasets/csv.h) as a source.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "datasets/csv.h"
#include "datasets/data_config.h"

namespace thtrain {

/// The tables files["train"], which is required, files["valid"] and files["test"]. Classes, columns and categories are
/// those of the training file: UserError for others.
ReadSource csv_reader(CsvOptions csv = {}, Categories::As as = Categories::As::kOneHot);

struct CsvConfig : FileConfig {
  static constexpr std::string_view kName = "csv";
  std::string train;
  std::optional<std::string> valid, test;
  std::string label_column = "last";       // "first", "last", or its name in the header
  std::vector<std::string> label_columns;  // instead, several: names in the header, or numbers from 1
  int64_t label_count = 0;                 // instead, the last columns
  std::optional<std::string> weight_column;
  std::optional<bool> header;  // found out where not given
  CsvOptions::Delimiter delimiter = CsvOptions::Delimiter::kAuto;
  enum class Decimal : char { kPoint = '.', kComma = ',' };
  Decimal decimal = Decimal::kPoint;
  Imputation::By impute = Imputation::By::kNone;
  Categories::As categories = Categories::As::kOneHot;
  std::vector<std::string> category_columns, skip_columns;  // names in the header, or numbers from 1
  bool has_valid() const override { return valid.has_value(); }
  bool has_test() const override { return test.has_value(); }
  std::vector<DataFile> files() override;
  void fill(DatasetOptions& out) const override;
  static void describe(Fields<CsvConfig>& f);
};

/// How the experiment says that a CSV file is to be read.
CsvOptions csv_options(const CsvConfig& config);

}  // namespace thtrain
