#include "compiler/runtime/sparse_values.h"

#include "compiler/base/error.h"
#include "compiler/ops/shape/length_list.h"

namespace thtrain {
namespace {

[[noreturn]] void refuse(const std::source_location& where, std::string what, std::string expected) {
  fail_build(where, str("sparse matrix: ", what), std::move(expected));
}

// SharedSparse's constructor: nothing is made of a value that is no matrix.
const SparseTensor& checked(const SparseTensor& value, const std::source_location& where) {
  value.check(where);
  return value;
}

Shared with_any_length(const Tensor& value, const std::string& name, const std::string& length,
                       const std::source_location& where) {
  return Shared::of_lengths({Dim::named(length)}, value, name, where);
}

std::string shape_text(const SparseTensor& x) {
  return str(name_of(x.data.dtype()), "[", x.rows, ", ", x.columns, "] in ",
             x.format == SparseFormat::kCsr ? "CSR" : "CSC", " with indices of ", name_of(x.indices.dtype()));
}

}  // namespace

SparseTensor SparseTensor::from_dense(const Tensor& dense, SparseFormat format, std::source_location where) {
  if (dense.rank() != 2) refuse(where, "the dense value is no matrix", "two axes");
  const Tensor x = dense.contiguous();
  const bool is_csr = format == SparseFormat::kCsr;
  const int64_t rows = x.dim(0), columns = x.dim(1), major = is_csr ? rows : columns, minor = is_csr ? columns : rows;
  std::vector<int32_t> indices, indptr{0};
  std::vector<int64_t> places;
  visit(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0; i < major; ++i) {
      for (int64_t j = 0; j < minor; ++j) {
        const int64_t place = is_csr ? i * columns + j : j * columns + i;
        if (x.data<T>()[place] == T(0)) continue;
        indices.push_back(static_cast<int32_t>(j));
        places.push_back(place);
      }
      indptr.push_back(static_cast<int32_t>(indices.size()));
    }
  });
  const auto stored = static_cast<int64_t>(indices.size());
  SparseTensor out{.format = format,
                   .data = Tensor::empty(x.dtype(), {stored}),
                   .indices = Tensor::of<int32_t>(indices, {stored}),
                   .indptr = Tensor::of<int32_t>(indptr, {major + 1}),
                   .rows = rows,
                   .columns = columns};
  visit(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for (size_t e = 0; e < places.size(); ++e) out.data.data<T>()[e] = x.data<T>()[places[e]];
  });
  return out;
}

Tensor SparseTensor::dense(std::source_location where) const {
  check(where);
  Tensor out = Tensor::zeros(data.dtype(), {rows, columns});
  const Tensor elements = data.contiguous();
  const int64_t major = format == SparseFormat::kCsr ? rows : columns;
  visit(data.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0; i < major; ++i)
      for (int64_t e = indptr.as_int(i); e < indptr.as_int(i + 1); ++e) {
        const int64_t j = indices.as_int(e);
        out.data<T>()[format == SparseFormat::kCsr ? i * columns + j : j * columns + i] = elements.data<T>()[e];
      }
  });
  return out;
}

void SparseTensor::check(std::source_location where) const {
  if (const std::optional<Fault> found = fault()) refuse(where, found->what, found->expected);
}

std::optional<SparseTensor::Fault> SparseTensor::fault() const {
  const bool is_csr = format == SparseFormat::kCsr;
  const int64_t major = is_csr ? rows : columns, minor = is_csr ? columns : rows;
  const char* slice = is_csr ? "row " : "column ";
  const auto is_index = [](DType dtype) { return dtype == DType::kInt32 || dtype == DType::kInt64; };
  if (data.rank() != 1 || indices.rank() != 1 || indptr.rank() != 1 || !is_index(indices.dtype()) ||
      indices.dtype() != indptr.dtype())
    return Fault{"its parts are no vectors, or indices have no dtype of indices", "int32 or int64, both the same"};
  if (indices.size() != data.size())
    return Fault{str(data.size(), " elements and ", indices.size(), " indices"), "as many"};
  if (rows < 0 || columns < 0 || indptr.size() - 1 != major)
    return Fault{str("indptr has ", indptr.size(), " elements"),
                 str("one more than the ", major, is_csr ? " rows" : " columns")};
  if (indptr.as_int(0) != 0 || indptr.as_int(major) != data.size())
    return Fault{str("indptr begins with ", indptr.as_int(0), " and ends with ", indptr.as_int(major)),
                 str("from 0 to the number of elements, ", data.size())};
  for (int64_t i = 0; i < major; ++i) {
    const int64_t begin = indptr.as_int(i), end = indptr.as_int(i + 1);
    if (end < begin || end > data.size())
      return Fault{str("indptr is ", begin, " at ", slice, i, ", and ", end, " after it"),
                   str("numbers that do not fall, up to ", data.size())};
    for (int64_t e = begin, before = -1; e < end; ++e) {
      const int64_t j = indices.as_int(e);
      if (j < 0 || j >= minor)
        return Fault{str(slice, i, " has an element with the index ", j), str("at least 0 and less than ", minor)};
      if (j <= before)
        return Fault{str("in ", slice, i, " the index ", j, " follows ", before), "ascending indices, each once"};
      before = j;
    }
  }
  return {};
}

InputParts::InputParts(const Sparse& a, std::source_location where) {
  for (const Expr& part : SparseOperand(a, where).value().parts()) inputs.emplace_back(part, std::nullopt, where);
}
InputParts::InputParts(const Expr& x, std::source_location where) : inputs{In(x, std::nullopt, where)} {}

std::vector<In> inputs_of(std::initializer_list<InputParts> values) {
  std::vector<In> out;
  for (const InputParts& value : values) out.insert(out.end(), value.inputs.begin(), value.inputs.end());
  return out;
}

std::vector<Tensor> arguments_of(std::initializer_list<ArgumentParts> values) {
  std::vector<Tensor> out;
  for (const ArgumentParts& value : values) out.insert(out.end(), value.arguments.begin(), value.arguments.end());
  return out;
}

SharedSparse::SharedSparse(const SparseTensor& value, const std::string& name, std::source_location where)
    : data_(with_any_length(checked(value, where).data, name.empty() ? "" : name + ".data", name + "_stored", where)),
      indices_(with_any_length(value.indices, name.empty() ? "" : name + ".indices", name + "_stored", where)),
      indptr_(value.indptr, name.empty() ? "" : name + ".indptr", false, where),
      expr_{value.format, data_.expr(), indices_.expr(), indptr_.expr(), value.rows, value.columns} {}

SparseTensor SharedSparse::get_value() const {
  return {.format = expr_.format,
          .data = data_.get_value(),
          .indices = indices_.get_value(),
          .indptr = indptr_.get_value(),
          .rows = expr_.rows.value(),
          .columns = expr_.columns.value()};
}

void SharedSparse::set_value(const SparseTensor& value, std::source_location where) const {
  const SparseTensor old = get_value();
  value.check(where);
  if (shape_text(value) != shape_text(old))
    refuse(where, str("the new value is ", shape_text(value)), str("as the variable, ", shape_text(old)));
  data_.set_value(value.data);
  indices_.set_value(value.indices);
  indptr_.set_value(value.indptr);
}

}  // namespace thtrain
