#include "compiler/ir/variables.h"

#include "compiler/ir/lengths.h"

namespace thtrain {

Expr tensor(const std::string& name, const Dims& lengths, DType dtype, std::source_location where) {
  return make_input({.dtype = dtype, .dims = lengths}, name, where);
}

Expr tensor_of_rank(const std::string& name, size_t rank, DType dtype, std::source_location where) {
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
  TH_CHECK(lengths.size() == 2, "a matrix has two lengths");
  return tensor(name, lengths, floatX(), where);
}
Expr vector(const std::string& name, const Dims& lengths, std::source_location where) {
  TH_CHECK(lengths.size() == 1, "a vector has one length");
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
