// A real number of 3200 binary digits and an exponent that nothing here exceeds: MPFR's. 1 - tanh(1000) is not 0 in it.
#pragma once

#include <mpfr.h>

#include <utility>

namespace thtrain {

class Wide {
 public:
  static constexpr mpfr_prec_t kDigits = 3200;

  Wide(double value = 0) {
    mpfr_init2(number_, kDigits);
    mpfr_set_d(number_, value, MPFR_RNDN);
  }
  Wide(const Wide& other) {
    mpfr_init2(number_, kDigits);
    mpfr_set(number_, other.number_, MPFR_RNDN);
  }
  Wide& operator=(const Wide& other) {
    mpfr_set(number_, other.number_, MPFR_RNDN);
    return *this;
  }
  ~Wide() { mpfr_clear(number_); }

  double to_double() const { return mpfr_get_d(number_, MPFR_RNDN); }
  bool is_finite() const { return mpfr_number_p(number_); }
  bool is_nan() const { return mpfr_nan_p(number_); }
  bool is_inf() const { return mpfr_inf_p(number_); }
  int sign() const { return is_nan() ? 0 : mpfr_sgn(number_); }

  using Unary = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t);
  using Binary = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_srcptr, mpfr_rnd_t);
  Wide by(Unary f) const {
    Wide out;
    f(out.number_, number_, MPFR_RNDN);
    return out;
  }
  Wide by(Binary f, const Wide& other) const {
    Wide out;
    f(out.number_, number_, other.number_, MPFR_RNDN);
    return out;
  }

  friend Wide operator+(const Wide& a, const Wide& b) { return a.by(mpfr_add, b); }
  friend Wide operator-(const Wide& a, const Wide& b) { return a.by(mpfr_sub, b); }
  friend Wide operator*(const Wide& a, const Wide& b) { return a.by(mpfr_mul, b); }
  friend Wide operator/(const Wide& a, const Wide& b) { return a.by(mpfr_div, b); }
  friend bool operator<(const Wide& a, const Wide& b) { return mpfr_less_p(a.number_, b.number_); }
  friend bool operator==(const Wide& a, const Wide& b) { return mpfr_equal_p(a.number_, b.number_); }

 private:
  mpfr_t number_;
};

}  // namespace thtrain
