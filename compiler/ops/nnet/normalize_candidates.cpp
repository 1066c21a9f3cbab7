#include "compiler/ops/nnet/normalize_candidates.h"

#include <algorithm>

#include "compiler/kernel/schedule/schedule.h"
#include "compiler/ops/device_candidates.h"
#include "compiler/ops/key_reader.h"
#include "compiler/ops/nnet/normalize.h"
#include "compiler/ops/shape/copy_loops.h"

namespace thtrain {
namespace {

using kernel::ChoiceKey;
using kernel::PointerTo;
using kernel::StepBuilder;
using kernel::Target;
using kernel::Term;

constexpr const char *kNormalize = "normalize", *kOwnNormalize = "own", *kCudnnNormalize = "cuDNN";

// Channels are the middle one of three axes.
struct NormalizeKey {
  DType dtype = DType::kFloat32;
  int64_t outer = 1, channels = 1, inner = 1;
  size_t along = 0;  // of the node's axes, which the text does not say

  int64_t elements() const { return outer * channels * inner; }
};

// "float32 2x3x20"
std::string text_of(const NormalizeKey& k) {
  return str(name_of(k.dtype), " ", k.outer, "x", k.channels, "x", k.inner);
}

std::optional<NormalizeKey> read_normalize_key(const std::string& text) {
  NormalizeKey out;
  KeyReader reader(text);
  if (reader.take("float64"))
    out.dtype = DType::kFloat64;
  else if (!reader.take("float32"))
    return std::nullopt;
  if (!reader.take(" ") || !reader.numbers({&out.outer, &out.channels, &out.inner}, 1, INT32_MAX)) return std::nullopt;
  return reader.is_at_end() ? std::optional(out) : std::nullopt;
}

// Of known lengths, none of them 0, over all axes but one, with scale and shift.
std::optional<NormalizeKey> key_of_normalize(const Node& node) {
  constexpr size_t kWithScaleAndShift = 5;
  if (node.op != &normalize_op() || node.inputs.size() != kWithScaleAndShift) return std::nullopt;
  const Type& type = node.types[0];
  const Ints axes = node.props.get<Ints>("axes");
  if (axes.size() + 1 != type.rank()) return std::nullopt;
  NormalizeKey out{.dtype = type.dtype};
  while (std::ranges::count(axes, static_cast<int64_t>(out.along)) > 0) ++out.along;
  for (size_t axis = 0; axis < type.rank(); ++axis) {
    const Dim& length = type.dims[axis];
    if (!length.is_known() || length.is(0) || length.value() > INT32_MAX) return std::nullopt;
    (axis < out.along ? out.outer : axis == out.along ? out.channels : out.inner) *= length.value();
    if (out.elements() > INT32_MAX) return std::nullopt;  // than cuDNN counts
  }
  return out;
}

std::optional<Graph> example_of_normalize(const std::string& properties) {
  const std::optional<NormalizeKey> k = read_normalize_key(properties);
  if (!k) return std::nullopt;
  const auto input = [&](const char* name, Dims dims) {
    return make_input({.dtype = k->dtype, .dims = std::move(dims)}, name);
  };
  const Dims of_channel{1, k->channels, 1};
  const Expr x = input("x", {k->outer, k->channels, k->inner}), mean = input("mean", of_channel),
             inverse = input("inverse", of_channel), scale = input("scale", of_channel),
             shift = input("shift", of_channel);
  const Moments moments{.mean = mean, .squares = {}, .inverse_deviation = inverse};
  return Graph{{x, mean, inverse, scale, shift}, {normalized(x, moments, {0, 2}, scale, shift)}, {}};
}

// Scales, shifts, means and variances side by side: cuDNN takes a variance, to which it adds nothing here.
kernel::Operand parameters_of(StepBuilder& b, const NormalizeKey& k) {
  const kernel::Operand out = b.workspace(k.dtype, 4 * k.channels);
  kernel::Nest nest(Dims{k.channels});
  const auto load = [&](const char* name, size_t input) {
    const kernel::Operand& of = b.input(input);
    return nest.load(name, {of, {of.layout.strides[k.along]}});
  };
  const auto store = [&](int64_t part, const Term& value) { nest.store({out, {1}, Term(part * k.channels)}, value); };
  const Term mean = load("mean", 1), inverse = load("inverse", 2), scale = load("scale", 3), shift = load("shift", 4);
  store(0, scale);
  store(1, shift);
  store(2, mean);
  store(3, kernel::constant(k.dtype, 1) / (inverse * inverse));
  nest.is_read_again = true;
  kernel::schedule(b, nest, "channels", "scales, shifts, means and variances of the channels");
  return out;
}

// Numbers that do not lie row-major, or that the results take the place of, are copied first.
void call_cudnn_batch_norm(StepBuilder& b) {
  const NormalizeKey k = *key_of_normalize(b.node());
  kernel::Operand x = b.input(0);
  if (!is_row_major(x.type.dims, x.layout) || b.overwrites(0)) {
    kernel::Operand copy = b.workspace(k.dtype, k.elements());
    copy.type.dims = x.type.dims;
    copy.layout = row_major(x.type.dims);
    move_kernel(b, kernel::placed(x), kernel::placed(copy), "normalized", "in0 in the order of its axes", true);
    x = copy;
  }
  const kernel::Operand parameters = parameters_of(b, k);
  b.call_library({cudnn_batch_norm_function(b.target(), k.dtype),
                  {Dim(k.outer), Dim(k.channels), Dim(k.inner), PointerTo{x.index}, PointerTo{parameters.index},
                   PointerTo{b.output().index}}});
}

std::optional<Candidate> find_normalize(const ChoiceKey& key, const std::string& name, const Target& target) {
  const std::optional<NormalizeKey> k = read_normalize_key(key.properties);
  if (!k || !target.is_device()) return std::nullopt;
  if (name == kOwnNormalize) return Candidate{.name = kOwnNormalize};
  if (name != kCudnnNormalize) return std::nullopt;
  return Candidate{.name = kCudnnNormalize,
                   .workspace_bytes = (k->elements() + 4 * k->channels) * static_cast<int64_t>(size_of(k->dtype)),
                   .functions = {cudnn_batch_norm_function(target, k->dtype).name},
                   .is_of_device = true};
}

}  // namespace

const Computation& normalize_choice() {
  static const Computation computation{
      kNormalize, kOwnNormalize, example_of_normalize,
      [](const ChoiceKey&, const Target&, int, double) { return std::string(kOwnNormalize); }};
  return computation;
}

CandidateSource normalize_candidates() {
  return own_and_library(kNormalize, kOwnNormalize, kCudnnNormalize, find_normalize);
}

kernel::LibraryFunction cudnn_batch_norm_function(const Target& target, DType dtype) {
  if (dtype == DType::kFloat64)
    return device_function(target, "cudnn_batch_norm_f64", TH_TEXT_OF(TH_CUDNN_BATCH_NORM_PARAMETERS(double)), true);
  return device_function(target, "cudnn_batch_norm_f32", TH_TEXT_OF(TH_CUDNN_BATCH_NORM_PARAMETERS(float)), true);
}

bool is_normalize_of_library(const Node& node, const Target& target, const kernel::Chooser* chooser) {
  if (!target.is_device() || !chooser) return false;
  const std::optional<NormalizeKey> key = key_of_normalize(node);
  return key && chooser->choose({kNormalize, text_of(*key)}) == kCudnnNormalize;
}

void lower_chosen_normalize(StepBuilder& b, void (*otherwise)(StepBuilder&)) {
  is_normalize_of_library(b.node(), b.target(), b.chooser()) ? call_cudnn_batch_norm(b) : otherwise(b);
}

}  // namespace thtrain
