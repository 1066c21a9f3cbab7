#include "trainers/first_weights.h"

#include <algorithm>
#include <filesystem>

#include "compiler/base/escape.h"
#include "datasets/csv_text.h"
#include "trainers/build_model.h"
#include "trainers/data_state.h"
#include "trainers/load_data.h"
#include "trainers/table_facts.h"

namespace thtrain {

namespace fs = std::filesystem;

namespace {

/// What the weights and the data say of the inputs, where they are of tables.
class InputComparison {
 public:
  InputComparison(const Standardization& kept, const TableFacts& facts, const Dataset& data, const std::string& path,
                  const ConfigPosition& where)
      : kept_(kept),
        own_(data.standardization ? *data.standardization : Standardization()),
        facts_(facts),
        data_(data),
        path_(path),
        where_(where) {}

  void check() const {
    if (data_.columns.empty()) return;
    if (facts_.columns.empty() && !kept_.is_of_table()) return;  // weights of another program
    check_columns();
    for (size_t j = 0; j < data_.columns.size(); ++j) check_categories(static_cast<int64_t>(j));
    if (kept_.imputation.indicated != own_.imputation.indicated) refuse(missing_text(kept_), missing_text(own_));
    const std::vector<std::string>&kept = facts_.classes, &own = data_.class_names;
    if (kept != own && std::is_permutation(kept.begin(), kept.end(), own.begin(), own.end()))
      refuse(str("the classes in the order ", list_text(kept)), list_text(own));
  }

 private:
  [[noreturn]] void refuse(const std::string& expected, const std::string& got) const {
    throw UserError({.what = str(path_, ": the weights are of a table with other inputs"),
                     .expected = expected,
                     .got = str(got, " in ", data_.train.x_array().origin),
                     .config = where_,
                     .hint = "columns, categories, columns with missing values and the order of classes are those of "
                             "the weights' run"});
  }

  void check_columns() const {
    const std::vector<std::string>&kept = facts_.columns, &own = data_.columns;
    const size_t most = std::max({kept.size(), kept_.categories.names.size(), kept_.imputation.fill.size()});
    if (!kept.empty() && facts_.named && data_.columns_named && kept != own)
      refuse(columns_text(kept), columns_text(own));
    if (most != own.size()) refuse(str(most, most == 1 ? " column" : " columns"), std::to_string(own.size()));
  }

  static std::string columns_text(const std::vector<std::string>& columns) {
    return excerpt(str(columns.size() == 1 ? "the column " : "the columns ", join(columns, ", ")), 200);
  }

  std::string name_of(int64_t column) const { return excerpt(data_.columns[static_cast<size_t>(column)], 40); }

  // "3 categories in column "city", code 0 for "Lima""
  std::string categories_text(const Categories& categories, int64_t column, size_t code) const {
    const std::string in = str(" in column \"", name_of(column), '"');
    if (!categories.has(column)) return "numbers" + in;
    const std::vector<std::string>& names = categories.of(column);
    return str(names.size(), names.size() == 1 ? " category" : " categories", in,
               code < names.size() ? str(", code ", code, " for \"", excerpt(names[code], 40), '"') : "");
  }

  void check_categories(int64_t column) const {
    const bool has_kept = kept_.categories.has(column), has_own = own_.categories.has(column);
    if (!has_kept && !has_own) return;
    size_t code = 0;
    if (has_kept && has_own) {
      const std::vector<std::string>&kept = kept_.categories.of(column), &own = own_.categories.of(column);
      if (kept == own) return;
      code = static_cast<size_t>(std::mismatch(kept.begin(), kept.end(), own.begin(), own.end()).first - kept.begin());
    }
    refuse(categories_text(kept_.categories, column, code), categories_text(own_.categories, column, code));
  }

  std::string missing_text(const Standardization& of) const {
    const std::vector<int64_t>& columns = of.imputation.indicated;
    if (columns.empty()) return "no missing values";
    return excerpt(str("missing values in ", join(columns, ", ", [&](int64_t j) { return name_of(j); })), 200);
  }

  const Standardization& kept_;
  const Standardization own_;
  const TableFacts& facts_;
  const Dataset& data_;
  const std::string& path_;
  const ConfigPosition& where_;
};

}  // namespace

// Of the last phase, whose weights are in best.npz.
static TableFacts facts_next_to(const std::string& weights) {
  const fs::path path = weights, table = path.parent_path() / "table.json";
  std::error_code ignored;
  return path.filename() == "best.npz" && fs::exists(table, ignored) ? read_table_facts(table.string()) : TableFacts();
}

void load_first_weights(Model& model, const Experiment& experiment, const Dataset& data,
                        const std::string& config_folder) {
  if (!experiment.model.weights) return;
  const std::string path = *with_absolute_paths(experiment, config_folder).model.weights;
  const ConfigPosition& where = experiment.model.at("weights");
  std::map<std::string, Tensor> arrays = read_weights(path, where);
  const auto kept = take_standardization(arrays, path);  // else the new run's data has its own
  InputComparison(kept ? *kept : Standardization(), facts_next_to(path), data, path, where).check();
  model.load(arrays, path, where);
}

}  // namespace thtrain
