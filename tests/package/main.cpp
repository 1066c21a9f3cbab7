// Doubles a vector through a compiled function; ends with 0 where the result is right.
#include <cstdio>

#include "compiler/api.h"

int main() {
  using namespace thtrain;
  Expr x = vector("x");
  Function f = function({x}, {2 * x});
  auto out = f({Tensor::vector({1.0, 2.0})});
  std::printf("%s\n", out[0].text().c_str());
  return out[0].as_double(0) == 2.0 && out[0].as_double(1) == 4.0 ? 0 : 1;
}
