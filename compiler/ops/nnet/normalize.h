// What normalizations are made of: the moments of a value over axes, and the value with mean 0 and variance 1.
#pragma once

#include <vector>

#include "compiler/ir/node.h"

namespace thtrain {

/// Over axes of x, which stay with length 1: the mean, sum((x - mean)^2), and 1 / sqrt(variance + epsilon) where the
/// variance is that sum divided by the number of elements.
struct Moments {
  Expr mean, squares, inverse_deviation;
};

/// `axes`: sorted, from 0.
Moments moments_of(const Expr& x, const std::vector<int64_t>& axes, double epsilon);

/// (x - mean) inverse_deviation, where both are the moments of x over `axes`: the derivative with respect to x is that
/// of the whole, by its closed form, which needs two sums. With scale and shift, which have the moments' lengths:
/// scale (x - mean) inverse_deviation + shift.
Expr normalized(const Expr& x, const Moments& moments, const std::vector<int64_t>& axes);
Expr normalized(const Expr& x, const Moments& moments, const std::vector<int64_t>& axes, const Expr& scale,
                const Expr& shift);

/// A length as a scalar of a floating dtype.
Expr count_as(DType dtype, const Dim& count);

const Op& normalize_op();

}  // namespace thtrain
