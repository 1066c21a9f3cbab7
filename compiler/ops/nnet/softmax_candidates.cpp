#include "compiler/ops/nnet/softmax_candidates.h"

#include "compiler/ops/device_candidates.h"
#include "compiler/ops/key_reader.h"
#include "compiler/ops/nnet/softmax.h"
#include "compiler/ops/shape/copy_loops.h"

namespace thtrain {
namespace {

using kernel::ChoiceKey;
using kernel::PointerTo;
using kernel::StepBuilder;
using kernel::Target;

constexpr const char *kSoftmax = "softmax", *kOwnSoftmax = "own", *kCudnnSoftmax = "cuDNN";

// Along the middle one of three axes.
struct SoftmaxKey {
  bool logarithm = false;
  DType dtype = DType::kFloat32;
  int64_t outer = 1, n = 1, inner = 1;

  int64_t elements() const { return outer * n * inner; }
};

// "log_softmax float32 2x300x1"
std::string text_of(const SoftmaxKey& k) {
  return str(k.logarithm ? "log_softmax " : "softmax ", name_of(k.dtype), " ", k.outer, "x", k.n, "x", k.inner);
}

std::optional<SoftmaxKey> read_softmax_key(const std::string& text) {
  SoftmaxKey out;
  KeyReader reader(text);
  out.logarithm = reader.take("log_");
  if (!reader.take("softmax ")) return std::nullopt;
  if (reader.take("float64"))
    out.dtype = DType::kFloat64;
  else if (!reader.take("float32"))
    return std::nullopt;
  if (!reader.take(" ") || !reader.numbers({&out.outer, &out.n, &out.inner}, 1, INT32_MAX)) return std::nullopt;
  return reader.is_at_end() ? std::optional(out) : std::nullopt;
}

std::optional<SoftmaxKey> key_of_softmax(const Node& node) {
  const Type& type = node.types[0];
  const size_t along = static_cast<size_t>(node.props.get<int64_t>("axis"));
  SoftmaxKey out{.logarithm = node.op == &log_softmax_op(), .dtype = type.dtype};
  for (size_t axis = 0; axis < type.rank(); ++axis) {
    const Dim& length = type.dims[axis];
    if (!length.is_known() || length.is(0) || length.value() > INT32_MAX) return std::nullopt;
    (axis < along ? out.outer : axis == along ? out.n : out.inner) *= length.value();
    if (out.elements() > INT32_MAX) return std::nullopt;  // than cuDNN counts
  }
  return out;
}

std::optional<Graph> example_of_softmax(const std::string& properties) {
  const std::optional<SoftmaxKey> k = read_softmax_key(properties);
  if (!k) return std::nullopt;
  const Expr x = make_input({.dtype = k->dtype, .dims = {k->outer, k->n, k->inner}}, "x");
  return Graph{{x}, {k->logarithm ? log_softmax(x, 1) : softmax(x, 1)}, {}};
}

// Of known lengths, none of them 0. Numbers that do not lie row-major are copied first.
void call_cudnn_softmax(StepBuilder& b) {
  const SoftmaxKey k = *key_of_softmax(b.node());
  kernel::Operand x = b.input(0);
  if (!is_row_major(x.type.dims, x.layout)) {
    kernel::Operand copy = b.workspace(k.dtype, k.elements());
    copy.type.dims = x.type.dims;
    copy.layout = row_major(x.type.dims);
    move_kernel(b, kernel::placed(x), kernel::placed(copy), "softmax_rows", "in0 in the order of its axes", true);
    x = copy;
  }
  b.call_library({cudnn_softmax_function(b.target(), k.dtype),
                  {Dim(k.logarithm ? 1 : 0), Dim(k.outer), Dim(k.n), Dim(k.inner), PointerTo{x.index},
                   PointerTo{b.output().index}}});
}

std::optional<Candidate> find_softmax(const ChoiceKey& key, const std::string& name, const Target& target) {
  const std::optional<SoftmaxKey> k = read_softmax_key(key.properties);
  if (!k || !target.is_device()) return std::nullopt;
  if (name == kOwnSoftmax) return Candidate{.name = kOwnSoftmax};
  if (name != kCudnnSoftmax) return std::nullopt;
  return Candidate{.name = kCudnnSoftmax,
                   .workspace_bytes = k->elements() * static_cast<int64_t>(size_of(k->dtype)),
                   .functions = {cudnn_softmax_function(target, k->dtype).name},
                   .is_of_device = true};
}

}  // namespace

const Computation& softmax_choice() {
  static const Computation computation{
      kSoftmax, kOwnSoftmax, example_of_softmax,
      [](const ChoiceKey&, const Target&, int, double) { return std::string(kOwnSoftmax); }};
  return computation;
}

CandidateSource softmax_candidates() {
  return own_and_library(kSoftmax, kOwnSoftmax, kCudnnSoftmax, find_softmax);
}

kernel::LibraryFunction cudnn_softmax_function(const Target& target, DType dtype) {
  if (dtype == DType::kFloat64)
    return device_function(target, "cudnn_softmax_f64", TH_TEXT_OF(TH_CUDNN_SOFTMAX_PARAMETERS(double)), true);
  return device_function(target, "cudnn_softmax_f32", TH_TEXT_OF(TH_CUDNN_SOFTMAX_PARAMETERS(float)), true);
}

bool is_softmax_of_library(const Node& node, const Target& target, const kernel::Chooser* chooser) {
  if (!target.is_device() || !chooser || (node.op != &softmax_op() && node.op != &log_softmax_op())) return false;
  const std::optional<SoftmaxKey> key = key_of_softmax(node);
  return key && chooser->choose({kSoftmax, text_of(*key)}) == kCudnnSoftmax;
}

void lower_chosen_softmax(StepBuilder& b, void (*otherwise)(StepBuilder&)) {
  is_softmax_of_library(b.node(), b.target(), b.chooser()) ? call_cudnn_softmax(b) : otherwise(b);
}

}  // namespace thtrain
