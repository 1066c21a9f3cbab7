#include "compiler/ir/variables.h"

#include "compiler/base/escape.h"
#include "compiler/ir/lengths.h"

namespace thtrain {

// As many as NumPy's arrays have.
static constexpr size_t kMostAxes = 64;

static void require_lengths(const char* builder, const std::string& name, size_t axes, const Dims& lengths,
                            const std::source_location& where) {
  if (lengths.size() == axes) return;
  throw UserError({.what = str(builder, ": ", escaped(name), " is given another number of lengths than it has axes"),
                   .expected = str(axes, axes == 1 ? " length" : " lengths"),
                   .got = str("[", join(lengths, ", ", [](const Dim& length) { return readable(length.text()); }), "]"),
                   .node = Origin::here(where).text()});
}

Expr tensor(const std::string& name, const Dims& lengths, DType dtype, std::source_location where) {
  return make_input({.dtype = dtype, .dims = lengths}, name, where);
}

Expr tensor_of_rank(const std::string& name, size_t rank, DType dtype, std::source_location where) {
  if (rank > kMostAxes)
    throw UserError({.what = str("tensor_of_rank: ", escaped(name), " has too many axes"),
                     .expected = str("at most ", kMostAxes),
                     .got = str(rank),
                     .node = Origin::here(where).text()});
  // Two variables may have one name; their lengths must not: a serial number tells them apart.
  std::string serial = std::to_string(next_serial());
  Dims lengths;
  for (size_t axis = 0; axis < rank; ++axis)
    lengths.push_back(Dim::named(str(in_length_name(name), "~", serial, ".", axis)));
  return make_input({.dtype = dtype, .dims = std::move(lengths)}, name, where);
}

Expr scalar(const std::string& name, std::source_location where) {
  return tensor_of_rank(name, 0, floatX(), where);
}
Expr vector(const std::string& name, std::source_location where) {
  return tensor_of_rank(name, 1, floatX(), where);
}
Expr matrix(const std::string& name, std::source_location where) {
  return tensor_of_rank(name, 2, floatX(), where);
}
Expr tensor3(const std::string& name, std::source_location where) {
  return tensor_of_rank(name, 3, floatX(), where);
}
Expr tensor4(const std::string& name, std::source_location where) {
  return tensor_of_rank(name, 4, floatX(), where);
}
Expr matrix(const std::string& name, const Dims& lengths, std::source_location where) {
  require_lengths("matrix", name, 2, lengths, where);
  return tensor(name, lengths, floatX(), where);
}
Expr vector(const std::string& name, const Dims& lengths, std::source_location where) {
  require_lengths("vector", name, 1, lengths, where);
  return tensor(name, lengths, floatX(), where);
}
Expr iscalar(const std::string& name, std::source_location where) {
  return tensor_of_rank(name, 0, DType::kInt64, where);
}
Expr ivector(const std::string& name, std::source_location where) {
  return tensor_of_rank(name, 1, DType::kInt64, where);
}
Expr imatrix(const std::string& name, std::source_location where) {
  return tensor_of_rank(name, 2, DType::kInt64, where);
}

}  // namespace thtrain
