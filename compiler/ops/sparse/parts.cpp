#include "compiler/ops/sparse/parts.h"

#include <algorithm>

#include "compiler/ops/registry.h"

namespace thtrain {

using kernel::LoopMark;
using kernel::Term;

static constexpr const char* kRowExpected = "numbers that begin with 0, do not fall, and end with {limit}";

static std::string text_of_row(const Node& node, const std::string& value) {
  return str(name_in_errors(*node.op, node.props), ": indptr is no list of rows at row ", value);
}
static std::string text_of_index(const Node& node, const std::string& value) {
  return str(name_in_errors(*node.op, node.props), ": the index of a stored element is ", value);
}

void require_parts(const TypeArgs& args, int data, size_t at) {
  const Type &indices = args.type(at), &indptr = args.type(at + 1);
  args.require(indices.rank() == 1 && indptr.rank() == 1, "indices and indptr are no vectors");
  args.require(indices.dtype == indptr.dtype && (indices.dtype == DType::kInt32 || indices.dtype == DType::kInt64),
               "indices and indptr have no dtype of indices", "int32 or int64, both the same");
  args.require(!indptr.dims[0].is(0), "indptr has no element", "one more than there are rows");
  if (data < 0) return;
  const Type& type = args.type(static_cast<size_t>(data));
  args.require(type.rank() == 1, "the stored elements are no vector");
  args.require_equal(type.dims[0], indices.dims[0], "there are not as many stored elements as indices");
}

Expr constant_indices(const std::vector<int64_t>& numbers, DType dtype) {
  return make_constant(Tensor::of<int64_t>(numbers, {static_cast<int64_t>(numbers.size())}).cast(dtype));
}

Dim rows_of(const Type& indptr) {
  return indptr.dims[0] - Dim(1);
}

const Dim& columns_of(const Props& props) {
  return props.get<Dims>("columns")[0];
}

void require_rows(kernel::StepBuilder& b, const kernel::Operand& indptr, const Dim& stored) {
  const Term rows = b.length(rows_of(indptr.type)), all = b.length(stored);
  b.require(rows > Term(0) || all == Term(0), {text_of_row(b.node(), "{value}"), kRowExpected, b.node().origin}, 0,
            all);
}

StoredRow stored_row(kernel::StepBuilder& b, const kernel::Operand& indptr, const Term& row, const Dim& stored) {
  const Term begin = b.code().let("first", kernel::cast(b.load(indptr, row), DType::kInt64)),
             end = b.code().let("end_of_row", kernel::cast(b.load(indptr, row + Term(1)), DType::kInt64));
  const Term all = b.length(stored), last = b.length(rows_of(indptr.type)) - Term(1);
  b.require(begin >= Term(0) && begin <= end && end <= all && (row > Term(0) || begin == Term(0)) &&
                (row < last || end == all),
            {text_of_row(b.node(), "{value}"), kRowExpected, b.node().origin}, row, all);
  return {begin, end};
}

// One comparison: as an unsigned number a negative index is a large one.
Term stored_index(kernel::StepBuilder& b, const kernel::Operand& indices, const Term& element, const Dim& limit) {
  const Term index = b.code().let("j", kernel::cast(b.load(indices, element), DType::kInt64)), end = b.length(limit);
  b.require(kernel::bit_cast(index, DType::kUInt64) < kernel::bit_cast(end, DType::kUInt64),
            {text_of_index(b.node(), "{value}"), "at least 0 and less than {limit}", b.node().origin}, index, end);
  return index;
}

std::vector<Term> stored_indices(kernel::StepBuilder& b, const kernel::Operand& indices, const Term& element, int count,
                                 const Dim& limit) {
  if (count == 1) return {stored_index(b, indices, element, limit)};
  const Term end = b.length(limit);
  std::vector<Term> out;
  Term all_inside, first_outside;
  for (int k = 0; k < count; ++k)
    out.push_back(b.code().let("j", kernel::cast(b.load(indices, element + Term(k)), DType::kInt64)));
  for (auto index = out.rbegin(); index != out.rend(); ++index) {
    const Term inside = kernel::bit_cast(*index, DType::kUInt64) < kernel::bit_cast(end, DType::kUInt64);
    all_inside = all_inside ? inside && all_inside : inside;
    first_outside = first_outside ? kernel::select(inside, first_outside, *index) : *index;
  }
  b.require(all_inside, {text_of_index(b.node(), "{value}"), "at least 0 and less than {limit}", b.node().origin},
            first_outside, end);
  return out;
}

kernel::Term first_row_from(kernel::StepBuilder& b, const kernel::Operand& indptr, const std::string& name,
                            const Term& where) {
  kernel::Code& code = b.code();
  const Term found = code.var(name, 0), left = code.var("left", b.length(rows_of(indptr.type)));
  code.while_(left > Term(0), [&] {
    const Term half = code.let("half", left / Term(2));
    code.if_(
        kernel::cast(b.load(indptr, found + half), DType::kInt64) + found + half < where,
        [&] {
          code.assign(found, found + half + Term(1));
          code.assign(left, left - half - Term(1));
        },
        [&] { code.assign(left, half); });
  });
  return found;
}

int64_t work_of_element(const Dim& n) {
  return 2 * (n.is_known() ? std::max<int64_t>(n.value(), 8) : 16);
}

// Row after row one comparison is enough: where the last one ends this one begins.
static void each_row(kernel::StepBuilder& b, const kernel::Operand& indptr, const Dim& stored, const Term& first,
                     const Term& last, const RowBody& body) {
  kernel::Code& code = b.code();
  const Term all = b.length(stored), rows = b.length(rows_of(indptr.type));
  const auto as_unsigned = [](const Term& number) { return kernel::bit_cast(number, DType::kUInt64); };
  const auto load_end = [&](const Term& row) { return kernel::cast(b.load(indptr, row), DType::kInt64); };
  const auto require = [&](const Term& condition, const Term& row) {
    b.require(condition, {text_of_row(b.node(), "{value}"), kRowExpected, b.node().origin}, row, all);
  };
  const Term before = code.var("before", load_end(first));
  require(as_unsigned(before) <= as_unsigned(all) && (first > Term(0) || before == Term(0)), first);
  code.loop("i", first, last, 1, LoopMark::kSequential, [&](const Term& i) {
    const Term end = code.let("end_of_row", load_end(i + Term(1)));
    require(as_unsigned(end - before) <= as_unsigned(all - before), i);
    body(i, {before, end});
    code.assign(before, end);
  });
  require(last < rows || before == all, rows - Term(1));
}

// On a device a thread takes a row. On a processor the range is that of the stored elements and the rows: a row belongs
// to the part in which it begins, so that parts are even and no row is split.
void finish_rows(kernel::StepBuilder& b, const kernel::Operand& indptr, const Dim& stored, int64_t work,
                 const std::string& name, const std::string& comment, const RowBody& body) {
  const Dim rows = rows_of(indptr.type);
  kernel::Code& code = b.code();
  require_rows(b, indptr, stored);
  if (b.target().is_device()) {
    const Term end = b.length(rows);
    code.loop("i", b.begin(), kernel::select(b.end() < end, b.end(), end), 1, LoopMark::kSequential,
              [&](const Term& i) { body(i, stored_row(b, indptr, i, stored)); });
    return b.finish_kernel(name, comment, max(rows, 1), 1);
  }
  const Term count = b.length(rows), all = count + b.length(stored);
  const Term first = code.let(
      "first_row", kernel::select(b.begin() == Term(0), Term(0), first_row_from(b, indptr, "from", b.begin())));
  const Term last =
      code.let("last_row", kernel::select(b.end() == all, count, first_row_from(b, indptr, "to", b.end())));
  each_row(b, indptr, stored, first, last, body);
  b.finish_kernel(name, comment, rows + stored, std::max<int64_t>(1, b.target().grain_of_products() / work));
}

void each_csr_row(const ReferenceArgs& args, const Tensor& indptr, int64_t stored,
                  const std::function<void(int64_t row, const CsrRow& elements)>& body) {
  const auto refuse = [&](int64_t row) {
    throw UserError({.what = text_of_row(args.node, std::to_string(row)),
                     .expected = str("numbers that begin with 0, do not fall, and end with ", stored),
                     .node = args.node.origin.text(),
                     .config = args.node.origin.config()});
  };
  const int64_t rows = indptr.size() - 1;
  if (rows == 0 && stored > 0) refuse(0);
  for (int64_t i = 0; i < rows; ++i) {
    const CsrRow row{indptr.as_int(i), indptr.as_int(i + 1)};
    if (row.begin < 0 || row.begin > row.end || row.end > stored || (i == 0 && row.begin != 0) ||
        (i + 1 == rows && row.end != stored))
      refuse(i);
    body(i, row);
  }
}

int64_t csr_index(const ReferenceArgs& args, const Tensor& indices, int64_t element, int64_t limit) {
  const int64_t out = indices.as_int(element);
  if (out < 0 || out >= limit)
    throw UserError({.what = text_of_index(args.node, std::to_string(out)),
                     .expected = str("at least 0 and less than ", limit),
                     .node = args.node.origin.text(),
                     .config = args.node.origin.config()});
  return out;
}

}  // namespace thtrain
