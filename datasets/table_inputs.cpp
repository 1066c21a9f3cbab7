#include "datasets/table_inputs.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace thtrain {

using InputKind = TableInputs::Input::Kind;

// By the names: of each code of `own`, that of `kept`.
static std::vector<int64_t> codes_in(const std::vector<std::string>& own, const std::vector<std::string>& kept) {
  std::unordered_map<std::string, int64_t> codes;
  for (const std::string& name : kept) codes.emplace(name, std::ssize(codes));
  std::vector<int64_t> out;
  for (const std::string& name : own) {
    const auto found = codes.find(name);
    out.push_back(found == codes.end() ? -1 : found->second);
  }
  return out;
}

TableInputs::TableInputs(const Standardization& learned, int64_t columns, const Categories* own) {
  const Imputation& imputation = learned.imputation;
  const Categories& categories = learned.categories;
  const bool is_one_hot = categories.as == Categories::As::kOneHot;
  for (int64_t j = 0; j < columns; ++j) {
    Column column{.is_filled = !imputation.empty()};
    if (column.is_filled) column.fill = imputation.fill[static_cast<size_t>(j)];
    if (categories.has(j)) {
      const std::vector<std::string>& names = categories.of(j);
      column.kind = is_one_hot ? InputKind::kCategory : InputKind::kCode;
      column.categories = std::ssize(names);
      column.code_of = codes_in(own && own->has(j) ? own->of(j) : names, names);
    }
    for (int64_t c = 0; c < (column.kind == InputKind::kCategory ? column.categories : 1); ++c)
      inputs_.push_back({j, column.kind, c});
    columns_.push_back(std::move(column));
  }
  for (int64_t j : imputation.indicated) {
    if (columns_[static_cast<size_t>(j)].kind == InputKind::kCode) continue;  // its last code
    indicated_.push_back(j);
    inputs_.push_back({j, InputKind::kIndicator, 0});
  }
}

int64_t TableInputs::Column::code(double value) const {
  if (!(value >= 0 && value < static_cast<double>(code_of.size())) || value != std::floor(value)) return -1;
  return code_of[static_cast<size_t>(value)];
}

template <class T>
int64_t TableInputs::apply_as(const Tensor& rows, double scale, Tensor into) const {
  const double* from = rows.data<double>();
  T* to = into.data<T>();
  for (int64_t i = 0; i < rows.dim(0); ++i, from += columns()) {
    for (int64_t j = 0; j < columns(); ++j) {
      const Column& column = columns_[static_cast<size_t>(j)];
      const double value = from[j];
      const bool is_missing = column.is_filled && std::isnan(value);
      if (column.kind == InputKind::kNumber) {
        *to++ = static_cast<T>(is_missing ? column.fill : value * scale);
        continue;
      }
      const int64_t code = is_missing ? column.categories : column.code(value);
      if (code < 0) return i * columns() + j;
      if (column.kind == InputKind::kCode) {
        *to++ = static_cast<T>(code);
        continue;
      }
      std::fill_n(to, column.categories, T(0));
      if (!is_missing) to[code] = 1;
      to += column.categories;
    }
    for (int64_t j : indicated_) *to++ = std::isnan(from[j]) ? T(1) : T(0);
  }
  return -1;
}

int64_t TableInputs::apply(const Tensor& rows, double scale, Tensor into) const {
  TH_CHECK(
      rows.dtype() == DType::kFloat64 && rows.size() == rows.dim(0) * columns() && into.size() == rows.dim(0) * width(),
      rows.type_text(), " of a table into ", into.type_text());
  return into.dtype() == DType::kFloat32 ? apply_as<float>(rows, scale, into) : apply_as<double>(rows, scale, into);
}

std::vector<std::string> input_names(const TableInputs& inputs, const std::vector<std::string>& columns,
                                     const Categories& categories) {
  std::vector<std::string> out;
  for (const TableInputs::Input& input : inputs.inputs()) {
    const std::string& name = columns[static_cast<size_t>(input.column)];
    out.push_back(input.kind == InputKind::kCategory
                      ? str(name, '=', categories.of(input.column)[static_cast<size_t>(input.category)])
                  : input.kind == InputKind::kIndicator ? name + " missing"
                                                        : name);
  }
  return out;
}

}  // namespace thtrain
