#include "compiler/cpu/conv/patches.h"

#include <algorithm>

#include "compiler/cpu/conv/conv_functions.h"
#include "compiler/cpu/conv/library_step.h"
#include "compiler/cpu/conv/tiles.h"

namespace thtrain {
namespace {

using kernel::PointerTo;

constexpr int64_t kPatchSlabBytes = 512 << 10;  // of patches, half of a second cache of 1 MiB
constexpr int64_t kLeastPositions = 256;        // fewer make slow products
constexpr int64_t kUnit = 16;                   // the widest vectors of BLAS kernels
constexpr int64_t kMostWalkers = 16;
constexpr int64_t kPatchSumsBytes = 4 << 20;  // of gradients to the filters that are added in the end

}  // namespace

bool is_patch_matrix(const Convolution& c) {
  return std::all_of(c.axes.begin(), c.axes.end(), [](const ConvAxis& axis) {
    return axis.kernel == 1 && axis.stride == 1 && axis.before == 0 && axis.out == axis.in;
  });
}

PatchesWalk patches_walk(const Convolution& c, bool by_slabs) {
  const int64_t rows = c.channels() * c.taps(), size = static_cast<int64_t>(size_of(c.dtype));
  PatchesWalk out{.positions = c.positions(), .walkers = 1, .patch_elements = 0, .sum_elements = 0};
  if (by_slabs) {
    const int64_t part = even_part(c.positions(), std::max(kPatchSlabBytes / (rows * size), kLeastPositions));
    out.positions = std::min(c.positions(), ceil_div(part, kUnit) * kUnit);
    const int64_t slabs = ceil_div(c.positions(), out.positions);
    if (c.pass == ConvPass::kWeightGradient)
      out.walkers = std::clamp<int64_t>(kPatchSumsBytes / (c.filter_elements() * size), 1, c.n);
    else
      out.walkers = c.n * c.groups * (c.pass == ConvPass::kForward ? slabs : 1);
    out.walkers = std::min(out.walkers, kMostWalkers);
  }
  if (!is_patch_matrix(c)) out.patch_elements = out.walkers * rows * out.positions;
  if (c.pass == ConvPass::kWeightGradient) out.sum_elements = (out.walkers - 1) * c.filter_elements();
  return out;
}

int64_t patches_workspace(const Convolution& c, bool by_slabs) {
  const PatchesWalk walk = patches_walk(c, by_slabs);
  return row_major_bytes(c) + (walk.patch_elements + walk.sum_elements) * static_cast<int64_t>(size_of(c.dtype));
}

void lower_patches(kernel::StepBuilder& b, const Convolution& c, bool by_slabs) {
  const PatchesWalk walk = patches_walk(c, by_slabs);
  const std::array<kernel::Operand, 2> inputs = row_major_inputs(b, c);
  LibraryArguments arguments = conv_arguments(c);
  arguments.emplace_back(Dim(walk.positions));
  arguments.emplace_back(Dim(walk.walkers));
  for (const kernel::Operand& input : inputs) arguments.emplace_back(PointerTo{input.index});
  const int out = b.output().index;
  arguments.emplace_back(PointerTo{out});
  // What needs no workspace gets a pointer that is not looked at.
  for (int64_t elements : {walk.patch_elements, walk.sum_elements})
    arguments.emplace_back(PointerTo{elements > 0 ? b.workspace(c.dtype, elements).index : out});
  b.call_library({conv_patches_function(c.dtype), std::move(arguments)});
}

}  // namespace thtrain
