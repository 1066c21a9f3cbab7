// Cases of functions: each makes functions of its own, by the references and natively, and gives numbers.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "compiler/api.h"
#include "tests/compiler/suites/suite.h"

namespace thtrain {

using Numbers = std::vector<double>;

struct FunctionCase {
  std::string name;
  Numbers (*run)(Mode);
  Numbers expected;
};

/// The elements of all tensors, one after the other.
inline Numbers elements(const std::vector<Tensor>& tensors) {
  Numbers out;
  for (const Tensor& tensor : tensors)
    for (int64_t i = 0; i < tensor.size(); ++i) out.push_back(tensor.contiguous().as_double(i));
  return out;
}

inline Tensor vector_of(std::initializer_list<double> values) {
  return Tensor::vector(values);
}

using ByName = std::map<std::string, Tensor>;

/// 1 where it is a UserError.
template <class F>
Tensor is_refused(const F& f) {
  try {
    f();
    return number(0);
  } catch (const UserError&) {
    return number(1);
  }
}

inline Tensor sum_of(const Tensor& values) {
  double out = 0;
  for (int64_t i = 0; i < values.size(); ++i) out += values.as_double(i);
  return number(out);
}

inline void expect_cases(const std::vector<FunctionCase>& cases) {
  for (const FunctionCase& one : cases)
    for (const Mode mode : {Mode::kReference, Mode::kNative}) {
      SCOPED_TRACE(str(one.name, mode == Mode::kNative ? ", native" : ", reference"));
      EXPECT_EQ(one.run(mode), one.expected);
    }
}

}  // namespace thtrain
