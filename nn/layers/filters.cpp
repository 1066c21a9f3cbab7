#include "nn/layers/filters.h"

namespace thtrain {

void check_groups(const LayerOptions& layer, int64_t groups, const Shape& image) {
  if (image[0] % groups == 0) return;
  throw UserError(Message{.what = str(layer.section.name_of("groups"), " does not divide the channels of the images"),
                          .expected = str("a divisor of ", image[0]),
                          .got = std::to_string(groups),
                          .config = layer.section.at("groups")});
}

void check_filters(const Section& section, int64_t units, int64_t groups, const Init& init, bool has_init_outputs,
                   Findings& findings) {
  using Law = Init::Law;
  if (units % groups != 0)
    findings.add({.what = str(section.name_of("units"), " is no multiple of the groups"),
                  .expected = str("a multiple of ", groups),
                  .got = std::to_string(units),
                  .config = section.at("units")});
  if (has_init_outputs && init.law != Law::kGlorotUniform && init.law != Law::kGlorotNormal)
    findings.add({.what = str(section.name_of("init_outputs"), " has no effect"),
                  .expected = "init = \"glorot_*\"",
                  .config = section.at("init_outputs"),
                  .hint = "the init of this layer does not use it"});
}

}  // namespace thtrain
