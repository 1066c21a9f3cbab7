// Products of tiles' transforms, and the transforms.
#include "compiler/base/ceil_div.h"
#include "compiler/cpu/conv/conv_cycles.h"

namespace thtrain {

using kernel::Target;

double expected_winograd_cycles(const Convolution& c, int64_t tile, const Target& target) {
  constexpr double kOfProducts = 1.15;  // against those of full tiles alone
  const double load = target.rates.load / 100.0, multiply_add = target.rates.multiply_add / 100.0,
               of_transforms = 14 * load,  // a vector of one product's data, filters or results
      of_sums = 80 * load;                 // a vector of the gradient to one product's filters
  const int64_t lanes = target.lanes_of(c.dtype), products = (tile + 2) * (tile + 2);
  // Positions of the gradient to the images are its elements.
  auto positions = [&](const ConvAxis& axis) { return c.pass == ConvPass::kInputGradient ? axis.in : axis.out; };
  const int64_t tiles = c.n * ceil_div(positions(c.axes[1]), tile) * ceil_div(positions(c.axes[2]), tile);
  const bool is_weights = c.pass == ConvPass::kWeightGradient;
  const int64_t columns = is_weights || c.pass == ConvPass::kForward ? c.f : c.c, depth = c.c + c.f - columns,
                vectors = ceil_div(columns, lanes);
  auto of = [](int64_t count, double cycles) { return static_cast<double>(count) * cycles; };
  return of(products * tiles * depth * vectors, kOfProducts * multiply_add) +
         of(products * tiles * (ceil_div(c.c, lanes) + ceil_div(c.f, lanes)), of_transforms) +
         of(products * depth * vectors, is_weights ? of_sums : of_transforms);
}

}  // namespace thtrain
