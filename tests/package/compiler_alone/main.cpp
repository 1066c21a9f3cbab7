// Scales a vector through a compiled function; ends with 0 where the result is right.
#include <thtrain/compiler/api.h>
#include <thtrain/thtrain.h>

#include <cstdio>

#include "compiler/api.h"
#include "nn/model.h"

int main() {
  using namespace thtrain;
  Expr x = vector("x");
  Expr y = x;
  y *= kStrangersApi;
  Function f = function({x}, {y});
  auto out = f({Tensor::vector({1.0, 2.0})});
  std::printf("%s\n", out[0].text().c_str());
  return out[0].as_double(0) == 2.0 && out[0].as_double(kStrangersModel) == 4.0 ? 0 : 1;
}
