#include "compiler/ops/order/sort_keys.h"

namespace thtrain {

using kernel::Term;

static DType unsigned_of(size_t bytes) {
  return bytes == 1 ? DType::kUInt8 : bytes == 2 ? DType::kUInt16 : bytes == 4 ? DType::kUInt32 : DType::kUInt64;
}

static DType signed_of(DType dtype) {
  return dtype == DType::kUInt8    ? DType::kInt8
         : dtype == DType::kUInt16 ? DType::kInt16
         : dtype == DType::kUInt32 ? DType::kInt32
                                   : DType::kInt64;
}

SortKeys::SortKeys(DType element, bool descending)
    : element_(is_bool(element) ? DType::kUInt8 : element),
      dtype_(unsigned_of(size_of(element_))),
      descending_(descending) {}

Term SortKeys::sign_bit() const {
  return kernel::shift_left(kernel::constant_int(dtype_, 1), Term(bits() - 1));
}

// All bits where the sign bit is set, else none.
Term SortKeys::sign_in_all_bits(const Term& bits) const {
  const DType same_size = signed_of(dtype_);
  return kernel::bit_cast(kernel::shift_right(kernel::bit_cast(bits, same_size), Term(this->bits() - 1)), dtype_);
}

// The sign bit of a positive number is set, and all bits of a negative one are inverted. A choice by the sign would be
// a branch that is guessed wrong.
Term SortKeys::of(const Term& x) const {
  Term key = kernel::bit_cast(x, dtype_);
  if (is_signed_int(element_)) key = key ^ sign_bit();
  if (is_float(element_)) {
    const Term inverted = key ^ (sign_in_all_bits(key) | sign_bit());
    key = kernel::select(x == Term(0), sign_bit(), kernel::select(x == x, inverted, ~kernel::constant_int(dtype_, 0)));
  }
  return descending_ ? ~key : key;
}

Term SortKeys::element_of(const Term& given) const {
  Term key = descending_ ? ~given : given;
  if (is_signed_int(element_)) key = key ^ sign_bit();
  if (is_float(element_)) key = key ^ (~sign_in_all_bits(key) | sign_bit());
  return kernel::bit_cast(key, element_);
}

Term SortKeys::is_negative_zero(const Term& x) const {
  return kernel::bit_cast(x, dtype_) == sign_bit();
}

}  // namespace thtrain
