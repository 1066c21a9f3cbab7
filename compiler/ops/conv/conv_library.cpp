// The candidates of the three convolutions that call libraries.
#include "compiler/ops/candidates.h"
#include "compiler/ops/conv/conv_functions.h"
#include "compiler/ops/conv/library_step.h"
#include "compiler/ops/conv/patches.h"

namespace thtrain {
namespace {

using kernel::ChoiceKey;
using kernel::PointerTo;
using kernel::StepBuilder;
using kernel::Target;

// A new number where the runtime's function became another.
constexpr const char* kPatchesVersion = "1";
constexpr const char* kOneDnnVersion = "1";

std::vector<Candidate> offer_patches(const ChoiceKey& key, const Target&) {
  const Convolution c = *convolution_of(key);
  auto candidate = [&](const char* name, bool by_slabs) {
    return Candidate{.name = name,
                     .version = kPatchesVersion,
                     .workspace_bytes = patches_workspace(c, by_slabs),
                     .functions = {conv_patches_function(c.dtype).name},
                     .lower = [c, by_slabs](StepBuilder& builder) { lower_patches(builder, c, by_slabs); }};
  };
  return {candidate("patches", false), candidate("patches by slabs", true)};
}

void lower_onednn(StepBuilder& b, const Convolution& c) {
  LibraryArguments arguments = conv_arguments(c);
  for (const kernel::Operand& input : row_major_inputs(b, c)) arguments.emplace_back(PointerTo{input.index});
  arguments.emplace_back(PointerTo{b.output().index});
  b.call_library({conv_onednn_function(), std::move(arguments)});
}

std::vector<Candidate> offer_onednn(const ChoiceKey& key, const Target&) {
  const Convolution c = *convolution_of(key);
  if (c.dtype != DType::kFloat32) return {};
  return {{.name = "oneDNN",
           .version = kOneDnnVersion,
           .workspace_bytes = row_major_bytes(c),
           .functions = {conv_onednn_function().name},
           .lower = [c](StepBuilder& builder) { lower_onednn(builder, c); }}};
}

}  // namespace

#define TH_CONV_PASS(pass, patches, onednn) \
  CandidateSource patches() {               \
    return {name_of(pass), offer_patches};  \
  }                                         \
  CandidateSource onednn() {                \
    return {name_of(pass), offer_onednn};   \
  }
TH_CONV_PASS(ConvPass::kForward, patches_forward, onednn_forward)
TH_CONV_PASS(ConvPass::kInputGradient, patches_input_gradients, onednn_input_gradients)
TH_CONV_PASS(ConvPass::kWeightGradient, patches_weight_gradients, onednn_weight_gradients)
#undef TH_CONV_PASS

}  // namespace thtrain
