// The C99 dialect: one element at a time, with libm alone. For every compiler of C whose `long` has 64 bits.
#pragma once

#include "compiler/kernel/c/statements.h"
#include "compiler/kernel/c/terms.h"

namespace thtrain::kernel::c {

const Dialect& dialect();

/// One element at a time, by C's operators and functions that have the names of libm's.
class ScalarDialect : public Statements {
 public:
  std::string type(const TermType& t, Helpers&) const override;
  std::string term(const TermNode& n, const std::vector<std::string>& a, Helpers& h) const override;
  std::string store(const Store& s, const StoreText& text, Helpers&) const override;
  std::string local_array(const LocalArray& s, Helpers& h) const override;
  // Of no use to results, and nothing that such a language can say.
  std::string prefetch(const PrefetchLine&, const TermText&) const override { return {}; }
  std::string fence() const override { return {}; }

 protected:
  /// The same bits as another dtype of the same size.
  virtual std::string bit_cast(const TermNode& n, const std::string& a, Helpers& h) const = 0;
  /// The function that computes it, by its name for doubles or, with the suffix, for floats.
  virtual std::string function_of(const TermNode& n) const;
};

}  // namespace thtrain::kernel::c
