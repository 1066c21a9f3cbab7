#include "nn/layers/columns.h"

#include "compiler/ops/index/index.h"

namespace thtrain {

void Columns::Options::describe(Fields<Options>& f) {
  f.about("Some of the numbers of each example, such as one of several inputs that a row holds.");
  describe_layer(f);
  f.field("first", &Options::first)
      .range(at_least(0))
      .synonyms({"start", "begin", "offset"})
      .help("The first of them, counted from 0.");
  f.field("count", &Options::count).range(at_least(1)).required().synonyms({"units", "size"}).help("How many.");
}

Columns::Columns(const Options& options, const LayerInput& input)
    : Layer(Options::kName, options, {options.count}), first_(options.first) {
  int64_t length = row_length(Options::kName, options, input);
  if (options.first > length || options.count > length - options.first)
    fail_layer(Options::kName, options, input,
               str("at least ", options.first, " + ", options.count, " numbers for each example"),
               "columns count from 0");
}

Expr Columns::forward(std::span<const Expr> inputs, LayerPass&) const {
  return slice_axis(inputs[0], 1, first_, output_shape()[0]);
}

LayerKind columns_layer() {
  return layer_kind<Columns>();
}

}  // namespace thtrain
