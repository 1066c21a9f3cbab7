// Unsigned integers in the order of elements.
#pragma once

#include "compiler/kernel/term.h"

namespace thtrain {

/// Keys of the elements of a dtype (bool, integers, floats; bools as the bytes that they are stored as). Of floats, NaN
/// has the largest key and -0 the key of 0.
class SortKeys {
 public:
  SortKeys(DType element, bool descending);

  DType element() const { return element_; }
  DType dtype() const { return dtype_; }
  int64_t bits() const { return 8 * static_cast<int64_t>(size_of(dtype_)); }

  kernel::Term of(const kernel::Term& x) const;
  /// The element of a key; of floats NaN is the quiet one without a sign.
  kernel::Term element_of(const kernel::Term& key) const;
  kernel::Term is_negative_zero(const kernel::Term& x) const;

 private:
  kernel::Term sign_bit() const;
  kernel::Term sign_in_all_bits(const kernel::Term& bits) const;

  DType element_, dtype_;
  bool descending_;
};

}  // namespace thtrain
