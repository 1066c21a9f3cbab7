// A candidate for matrix products of float32, as a shared object of C++ or C. One command builds it:
//
//   g++ -std=c++20 -O3 -march=native -shared -fPIC -I SOURCE my_product.cpp -o my_product.so
#include "compiler/tuning/candidate_abi.h"

#include <cstring>

// Bytes of workspace for a key, or -1 where the candidate does not compute it.
static long workspace(const char* properties) {
  return std::strncmp(properties, "float32 ", 8) == 0 ? 0 : -1;
}

static float* at(const ThArray& x, long i, long j) {
  return static_cast<float*>(x.data) + i * x.strides[0] + j * x.strides[1];
}

// Rows of the result from begin to before end: out = alpha a b + beta out.
static void rows(void* data, long begin, long end) {
  const ThCandidateCall& call = *static_cast<const ThCandidateCall*>(data);
  const float alpha = static_cast<float>(call.alpha), beta = static_cast<float>(call.beta);
  const long columns = call.out.lengths[1];
  for (long i = begin; i < end; ++i) {
    for (long j = 0; j < columns; ++j) *at(call.out, i, j) = call.adds ? beta * *at(call.out, i, j) : 0;
    for (long k = 0; k < call.a.lengths[1]; ++k) {
      const float factor = alpha * *at(call.a, i, k);
      for (long j = 0; j < columns; ++j) *at(call.out, i, j) += factor * *at(call.b, k, j);
    }
  }
}

static int compute(const ThCandidateCall* call) {
  call->parallel_for(call, rows, const_cast<ThCandidateCall*>(call), call->out.lengths[0], 8);
  return 0;
}

TH_CANDIDATES {
  static const ThCandidate mine = {"matrix_product", "mine", "1", TH_REORDERED, 0, workspace, compute};
  list->add(list, &mine);
}
