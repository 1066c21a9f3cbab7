// Convolutions by matrix products over patches (K. Chellapilla, S. Puri, P. Simard, "High Performance Convolutional
// Neural Networks for Document Processing", 2006): what the taps read for one position of the result is a column of
// a matrix [C K, positions].
//
//   forward                   y = w . patches(x)
//   gradient to the images    dx = the patches w^T . dy, each element added where it was read
//   gradient to the filters   dw = the sum over images of dy . patches(x)^T
//
// Filters of one tap with stride 1 and no padding have the image itself as patches.
#pragma once

#include "compiler/kernel/step_builder.h"
#include "compiler/ops/conv/convolution.h"

namespace thtrain {

/// The names of the candidates.
inline constexpr const char *kPatches = "patches", *kPatchesBySlabs = "patches by slabs";

/// How the library function walks.
struct PatchesWalk {
  int64_t positions;                     // of a result at a time
  int64_t walkers;                       // that walk at a time, each with a slab of patches of its own
  int64_t patch_elements, sum_elements;  // of workspace
};

/// Are patches the image itself?
bool is_patch_matrix(const Convolution& c);
/// Whole matrices of patches, one at a time; or by slabs that stay in a second cache, of several images.
PatchesWalk patches_walk(const Convolution& c, bool by_slabs);
/// Bytes of workspace that lower_patches takes at most.
int64_t patches_workspace(const Convolution& c, bool by_slabs);
/// Writes the step of any of the three passes.
void lower_patches(kernel::StepBuilder& builder, const Convolution& c, bool by_slabs);

}  // namespace thtrain
