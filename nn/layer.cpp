#include "nn/layer.h"

namespace thtrain {

void fail_layer(const std::string& type, const LayerOptions& layer, std::string expected, const Shape& got,
                std::string hint) {
  throw UserError(Message{.what = str("layer ", layer.name, " (", type, ") does not fit the layer before it"),
                          .expected = std::move(expected),
                          .got = str("examples of shape ", shape_text(got)),
                          .config = layer.position,
                          .hint = std::move(hint)});
}

}  // namespace thtrain
