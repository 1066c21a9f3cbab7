#include "datasets/csv_roles.h"

#include <algorithm>

#include "datasets/csv_text.h"

namespace thtrain {

namespace {

class RoleFinder {
 public:
  RoleFinder(const std::string& path, const std::vector<std::string>& names, bool has_header, int64_t first_line,
             const CsvOptions& options)
      : path_(path), names_(names), has_header_(has_header), first_line_(first_line), options_(options) {}

  CsvRoles find() {
    out_.of.assign(names_.size(), CsvRole::kFeature);
    out_.is_category.assign(names_.size(), false);
    for (const std::string& name : options_.skip)
      take(named(name, "columns to skip", options_.skip_where), CsvRole::kSkipped, options_.skip_where);
    if (!options_.weight.empty()) {
      out_.weight = named(options_.weight, "weights", options_.weight_where);
      take(*out_.weight, CsvRole::kWeight, options_.weight_where);
    }
    if (options_.has_label) find_labels();
    for (const std::string& name : options_.category_columns) {
      const size_t column = named(name, "categories", options_.category_where);
      if (out_.of[column] != CsvRole::kFeature || out_.is_category[column])
        fail_twice(column, options_.category_where, kOnce);
      out_.is_category[column] = true;
    }
    for (size_t i : options_.skipped)
      if (i < names_.size() && out_.of[i] == CsvRole::kFeature) out_.of[i] = CsvRole::kSkipped;
    return std::move(out_);
  }

 private:
  static constexpr const char* kOnce =
      "each column once: for labels, for weights, as one of categories or to be skipped";

  void find_labels() {
    if (options_.labels.empty() && options_.label_count == 0) {
      out_.label = label();
      take(*out_.label, CsvRole::kLabel, options_.label_where);
      return;
    }
    for (const std::string& name : options_.labels) out_.several.push_back(named(name, "labels", options_.label_where));
    if (options_.label_count > names_.size())
      throw UserError({.what = str(path_, ": there are not so many columns for the labels"),
                       .expected = str("at most ", names_.size(), ", as line ", first_line_, " has"),
                       .got = str(options_.label_count),
                       .config = options_.label_where});
    for (size_t i = names_.size() - options_.label_count; options_.label_count > 0 && i < names_.size(); ++i)
      out_.several.push_back(i);
    for (size_t i : out_.several) take(i, CsvRole::kLabel, options_.label_where);
  }

  void take(size_t column, CsvRole role, const ConfigPosition& where) {
    const CsvRole before = out_.of[column];
    if (before != CsvRole::kFeature)
      fail_twice(column, where,
                 role != CsvRole::kLabel      ? kOnce
                 : before == CsvRole::kWeight ? "another column for the labels than for the weights"
                 : before == CsvRole::kLabel  ? "each column of labels once"
                                              : kOnce);
    out_.of[column] = role;
  }

  [[noreturn]] void fail_twice(size_t column, const ConfigPosition& where, const char* expected) const {
    throw UserError({.what = str(path_, ": column \"", names_[column], "\" is named twice"),
                     .expected = expected,
                     .config = where});
  }

  /// A column by its name in the header, or by its number in a table without one.
  size_t named(const std::string& name, const char* what, const ConfigPosition& where) const {
    auto count = std::count(names_.begin(), names_.end(), name);
    if (count == 1) return static_cast<size_t>(std::find(names_.begin(), names_.end(), name) - names_.begin());
    throw UserError(
        {.what = str(path_, count == 0 ? ": there is no column \"" : str(": there are ", count, " columns \""), name,
                     count == 0 ? "\" for the " : "\"", count == 0 ? what : ""),
         .expected =
             has_header_ ? str("one of ", list_text(names_)) : str("a column's number, from 1 to ", names_.size()),
         .got = has_header_ ? "" : "a table whose first line is no header",
         .config = where,
         .hint = has_header_ ? "" : "data.header = true takes the names of the columns from the first line"});
  }

  size_t label() const {
    const std::string& label = options_.label;
    auto count = has_header_ ? std::count(names_.begin(), names_.end(), label) : 0;
    if (count == 1) return static_cast<size_t>(std::find(names_.begin(), names_.end(), label) - names_.begin());
    if (label == "first" || label == "last") return label == "first" ? 0 : names_.size() - 1;
    if (!has_header_ && options_.label_at && *options_.label_at < names_.size()) return *options_.label_at;
    Message message{.what = str(path_, ": there is no column \"", label, "\" for the labels"),
                    .expected = "first or last",
                    .config = options_.label_where};
    if (count > 1) message.what = str(path_, ": there are ", count, " columns \"", label, '"');
    if (has_header_)
      message.expected += str(", or one of ", list_text(names_));
    else
      message.got = "a table whose first line is no header";
    if (!has_header_) message.hint = "data.header = true takes the names of the columns from the first line";
    throw UserError(message);
  }

  const std::string& path_;
  const std::vector<std::string>& names_;
  bool has_header_;
  int64_t first_line_;
  const CsvOptions& options_;
  CsvRoles out_;
};

}  // namespace

CsvRoles csv_roles(const std::string& path, const std::vector<std::string>& names, bool has_header, int64_t first_line,
                   const CsvOptions& options) {
  return RoleFinder(path, names, has_header, first_line, options).find();
}

}  // namespace thtrain
