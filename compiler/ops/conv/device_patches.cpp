#include "compiler/ops/conv/device_patches.h"

#include <algorithm>

#include "compiler/base/ceil_div.h"
#include "compiler/kernel/schedule/schedule.h"

namespace thtrain {

using kernel::DeviceTiling;
using kernel::StepBuilder;
using kernel::Term;

namespace {

constexpr int64_t kSquare = 64, kEnoughSquares = 256;  // rows and columns of results; so many have one part
constexpr int64_t kLeastPart = 512;                    // terms

int64_t parts_of(const Convolution& c) {
  return c.pass == ConvPass::kWeightGradient ? parts_of_terms(patch_product(c), c.groups) : 1;
}

}  // namespace

int64_t parts_of_terms(const PatchProduct& p, int64_t count) {
  const int64_t squares = ceil_div(p.rows, kSquare) * ceil_div(p.columns, kSquare) * count;
  return std::clamp<int64_t>(kEnoughSquares / squares, 1, ceil_div(p.terms, kLeastPart));
}

std::vector<DeviceTiling> patch_tilings(const Convolution& c, const kernel::Target& target, double factor) {
  const PatchProduct p = patch_product(c);
  return kernel::near_tilings(target, c.dtype, p.rows, p.columns, c.groups * parts_of(c), factor);
}

int64_t patch_workspace(const Convolution& c) {
  const int64_t parts = parts_of(c);
  return parts == 1 ? 0 : parts * c.filter_elements() * static_cast<int64_t>(size_of(c.dtype));
}

void lower_patch_product(StepBuilder& b, const Convolution& c, const DeviceTiling& tiling) {
  DeviceConv conv(b, c);
  const PatchProduct product = patch_product(c);
  const bool is_weight = c.pass == ConvPass::kWeightGradient;
  const kernel::Operand &out = b.output(), &factor = is_weight ? conv.results() : conv.filters();
  const int64_t parts = parts_of(c);
  const kernel::Operand to = parts == 1 ? out : b.workspace(c.dtype, Dim(parts * c.filter_elements()));
  Term first = 0;  // of the part
  const kernel::TiledProduct tiles{
      .dtype = c.dtype,
      .left = {.lines = product.rows,
               .are_lines_together = false,
               .load = [&](const Term& x, const Term& row,
                           const Term& term) { b.code().assign(x, b.load(factor, conv.left(row, term))); }},
      .right = {.lines = product.columns,
                .are_lines_together = !is_weight,
                .load = [&](const Term& x, const Term& column, const Term& term) { conv.load_right(x, column, term); }},
      .terms = product.terms,
      .count = c.groups,
      .parts = parts,
      .begin =
          [&](const Term& number, const Term& part) {
            conv.set_group(c.groups == 1 ? Term(0) : number);
            if (parts > 1) first = b.code().let("first", part * Term(c.filter_elements()));
          },
      .store = [&](const Term& row, const Term& column,
                   const Term& sum) { b.store(to, b.code().let("element", first + conv.result(row, column)), sum); }};
  kernel::tiled_product(b, tiles, tiling, str(name_of(c.pass), "_patches"),
                        str("out0 = ", name_of(c.pass), "(in0, in1), as a product with patches"));
  if (parts > 1) add_parts(b, to, parts, out);
}

void add_parts(StepBuilder& b, const kernel::Operand& in, int64_t parts, const kernel::Operand& out) {
  const Dim elements = out.type.elements();
  kernel::Nest nest({{elements}, {Dim(parts), kernel::AxisKind::kReduce}});
  const Term x = nest.load("x", {in, {1, elements}});
  const Term sum = nest.reduce("sum",
                               {.dtype = out.type.dtype,
                                .identity = [](DType of) { return kernel::constant(of, 0); },
                                .combine = [](const Term& l, const Term& r) { return l + r; },
                                .lanes = "add",
                                .rounds = true},
                               x);
  nest.store({out, {1, 0}}, sum);
  kernel::schedule(b, nest, "add_parts", "out0 = the sums of the parts");
}

}  // namespace thtrain
