// The elementwise ops one by one, for rules that name them; scalar_ops() lists their records in this order.
#pragma once

#include "compiler/ops/elemwise/scalar_op.h"

namespace thtrain {

/// All of them, in the order of this file.
const std::vector<const Op*>& elementwise_ops();

// arithmetic.cpp
const Op& add_op();
const Op& sub_op();
const Op& mul_op();
const Op& true_div_op();
const Op& neg_op();
const Op& sqr_op();
const Op& sqrt_op();
const Op& reciprocal_op();
const Op& abs_op();
const Op& sign_op();

// division.cpp
const Op& floor_div_op();
const Op& mod_op();
const Op& divmod_op();

// rounding.cpp
const Op& floor_op();
const Op& ceil_op();
const Op& trunc_op();
const Op& round_op();

// exponential.cpp
const Op& exp_op();
const Op& exp2_op();
const Op& expm1_op();
const Op& log_op();
const Op& log2_op();
const Op& log10_op();
const Op& log1p_op();
const Op& pow_op();

// trigonometric.cpp
const Op& sin_op();
const Op& cos_op();
const Op& tan_op();
const Op& arcsin_op();
const Op& arccos_op();
const Op& arctan_op();
const Op& arctan2_op();

// hyperbolic.cpp
const Op& sinh_op();
const Op& cosh_op();
const Op& tanh_op();
const Op& arcsinh_op();
const Op& arccosh_op();
const Op& arctanh_op();

// special.cpp
const Op& sigmoid_op();
const Op& softplus_op();
const Op& erf_op();
const Op& erfc_op();

// extrema.cpp
const Op& maximum_op();
const Op& minimum_op();
const Op& clip_op();

// comparison.cpp
const Op& lt_op();
const Op& le_op();
const Op& gt_op();
const Op& ge_op();
const Op& eq_op();
const Op& neq_op();
const Op& isnan_op();
const Op& isinf_op();

// logic.cpp
const Op& logical_and_op();
const Op& logical_or_op();
const Op& logical_not_op();
const Op& bitwise_and_op();
const Op& bitwise_or_op();
const Op& bitwise_xor_op();
const Op& bitwise_not_op();

// complex.cpp
const Op& real_op();
const Op& imag_op();
const Op& conj_op();

// selection.cpp
const Op& switch_op();
const Op& cast_op();

}  // namespace thtrain
