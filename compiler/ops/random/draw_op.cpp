#include "compiler/ops/random/draw_op.h"

#include <algorithm>

#include "compiler/base/random_state.h"
#include "compiler/ops/error_rules.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {

constexpr int64_t kStateWords = RandomState::kStateWords;

Tensor tensor_of(const RandomState& state) {
  Tensor out = Tensor::empty(DType::kUInt32, {kStateWords});
  state.to_words(out.data<uint32_t>());
  return out;
}

RandomState random_state_of(const Tensor& words) {
  TH_CHECK(words.size() == kStateWords, "a generator's state of ", words.size(), " words");
  return RandomState::from_words(words.contiguous().data<uint32_t>());
}

Type state_type(const TypeArgs& args) {
  const Type& state = args.type(0);
  args.require(state.dtype == DType::kUInt32 && state.rank() == 1, "the first input is no state of a generator",
               str("uint32[", kStateWords, "]"));
  args.require_equal(state.dims[0], kStateWords, "the number of words of a generator's state");
  return state;
}

const Dims& drawn_dims(const TypeArgs& args) {
  const Dims& dims = args.props.get<Dims>("dims");
  for (const Dim& dim : dims) require_length(args, dim);
  return dims;
}

Op draw_op(Op op, int64_t flops) {
  op.error = [](const ErrorArgs& args) {
    if (!std::all_of(args.errors.begin(), args.errors.end(), all_zero)) return unknown_errors(args);
    std::vector<Tensor> out;
    for (size_t o = 0; o < args.outputs.size(); ++o) out.push_back(args.make_error(o));
    return out;
  };
  op.accepts_layout = [](const Node& node, size_t input, const Layout& layout) {
    return is_row_major(node.inputs[input].dims(), layout);
  };
  op.aliases = {{.output = 0, .input = 0}};
  op.foldable = false;
  op.advances = Advance{};
  op.cost = [flops](const Node& node) {
    Dim bytes = 0;
    const auto count = [&](const Type& type) {
      bytes = bytes + type.elements() * Dim(static_cast<int64_t>(size_of(type.dtype)));
    };
    for (const Type& type : node.types) count(type);
    for (const Expr& input : node.inputs) count(input.type());
    return Cost{node.types[1].elements() * Dim(flops), bytes};
  };
  return op;
}

Drawn drawn(const Op& op, std::vector<Expr> inputs, Props props, const std::source_location& where) {
  const std::shared_ptr<const Node> node = make_node(op, std::move(inputs), std::move(props), {}, where);
  return {Expr(node, 0), Expr(node, 1)};
}

Expr state_of_words(const Expr& words, int64_t position) {
  const std::vector<uint32_t> tail{static_cast<uint32_t>(position), 0, 0, 0};
  return join(0, {words, make_constant(Tensor::of(tail, {4}))});
}

Type words_type() {
  return {.dtype = DType::kUInt32, .dims = {static_cast<int64_t>(RandomState::kWords)}};
}

}  // namespace thtrain
