// The builders that are made of several ops.
#include "tests/fuzz/garbage_calls.h"

namespace thtrain {

#define TH_CALL(name) calls.push_back(garbage_call(#name, &name))

void add_array_builders(std::vector<GarbageCall>& calls) {
  TH_CALL(fft);
  TH_CALL(ifft);
  TH_CALL(rfft);
  TH_CALL(irfft);
  TH_CALL(fftn);
  TH_CALL(ifftn);
  TH_CALL(rfftn);
  TH_CALL(irfftn);
  TH_CALL(fft2);
  TH_CALL(ifft2);
  TH_CALL(rfft2);
  TH_CALL(irfft2);
  TH_CALL(fftshift);
  TH_CALL(ifftshift);
  TH_CALL(fftfreq);
  TH_CALL(rfftfreq);
  TH_CALL(dct);
  TH_CALL(idct);
  TH_CALL(identity_like);
  TH_CALL(tri);
  TH_CALL(tril);
  TH_CALL(triu);
  TH_CALL(diag);
  calls.push_back(garbage_call("diagonal", [](const Operand& x, int64_t offset, int64_t axis1, int64_t axis2) {
    return diagonal(x, offset, axis1, axis2);
  }));
  TH_CALL(fill_diagonal);
  TH_CALL(bartlett);
  TH_CALL(ogrid);
  TH_CALL(mgrid);
  TH_CALL(swapaxes);
  using Axes = const std::vector<int64_t>&;
  calls.push_back(garbage_call(
      "moveaxis", [](const Operand& x, Axes source, Axes destination) { return moveaxis(x, source, destination); }));
  calls.push_back(garbage_call("moveaxis", [](const Operand& x, int64_t source, int64_t destination) {
    return moveaxis(x, source, destination);
  }));
  TH_CALL(shape_padleft);
  TH_CALL(shape_padright);
  TH_CALL(atleast_nd);
  TH_CALL(flip);
  TH_CALL(roll);
  TH_CALL(tile);
  TH_CALL(repeat_elements);
  using Operands = const std::vector<Operand>&;
  calls.push_back(garbage_call("hstack", [](Operands values) { return hstack(values); }));
  calls.push_back(garbage_call("vstack", [](Operands values) { return vstack(values); }));
  TH_CALL(ceil_intdiv);
  TH_CALL(round_half_away);
  TH_CALL(deg2rad);
  TH_CALL(rad2deg);
  TH_CALL(isclose);
  TH_CALL(allclose);
  TH_CALL(inopenrange);
  TH_CALL(inclosedrange);
  TH_CALL(logical_xor);
  calls.push_back(garbage_call("operator&", [](const Operand& a, const Expr& b) { return a & b; }));
  calls.push_back(garbage_call("operator|", [](const Operand& a, const Expr& b) { return a | b; }));
  calls.push_back(garbage_call("operator^", [](const Operand& a, const Expr& b) { return a ^ b; }));
  calls.push_back(garbage_call("operator~", [](const Expr& x) { return ~x; }));
  TH_CALL(max_and_argmax);
  TH_CALL(ptp);
  TH_CALL(norm);
  TH_CALL(cov);
  TH_CALL(compress);
  TH_CALL(permute_row_elements);
  TH_CALL(inverse_permutation);
  TH_CALL(choose);
  TH_CALL(unravel_index);
  TH_CALL(ravel_multi_index);
}

}  // namespace thtrain
