// The list of all records. A new one is added here, in scalar_table.h and, with its builder, in elemwise.h.
#include "compiler/ops/elemwise/scalar_table.h"

namespace thtrain {

const std::vector<const ScalarOp*>& scalar_ops() {
  static const std::vector<const ScalarOp*> records = [] {
    std::vector<const ScalarOp*> out;
    for (const Op* op : elementwise_ops()) out.push_back(op->scalar);
    return out;
  }();
  return records;
}

const std::vector<const Op*>& elementwise_ops() {
  static const std::vector<const Op*> ops{
      &add_op(), &sub_op(), &mul_op(), &true_div_op(), &neg_op(), &sqr_op(), &sqrt_op(), &reciprocal_op(), &abs_op(),
      &sign_op(),
      &floor_div_op(), &mod_op(), &divmod_op(),
      &floor_op(), &ceil_op(), &trunc_op(), &round_op(),
      &exp_op(), &exp2_op(), &expm1_op(), &log_op(), &log2_op(), &log10_op(), &log1p_op(), &pow_op(),
      &sin_op(), &cos_op(), &tan_op(), &arcsin_op(), &arccos_op(), &arctan_op(), &arctan2_op(),
      &sinh_op(), &cosh_op(), &tanh_op(), &arcsinh_op(), &arccosh_op(), &arctanh_op(), &sigmoid_op(), &softplus_op(),
      &erf_op(), &erfc_op(),
      &maximum_op(), &minimum_op(), &clip_op(),
      &lt_op(), &le_op(), &gt_op(), &ge_op(), &eq_op(), &neq_op(), &isnan_op(), &isinf_op(),
      &logical_and_op(), &logical_or_op(), &logical_not_op(), &bitwise_and_op(), &bitwise_or_op(), &bitwise_xor_op(),
      &bitwise_not_op(),
      &real_op(), &imag_op(), &conj_op(),
      &switch_op(), &cast_op(),
  };
  return ops;
}

}  // namespace thtrain
