#include "compiler/ops/conv/convolution.h"

#include "compiler/base/str.h"
#include "compiler/ops/conv/conv.h"
#include "compiler/ops/conv/geometry.h"
#include "compiler/ops/key_reader.h"

namespace thtrain {
namespace {

// A number for each spatial axis: "3x5".
bool read_axes(KeyReader& reader, Convolution& c, int64_t ConvAxis::*number) {
  for (size_t i = 3 - c.rank; i < 3; ++i)
    if ((i > 3 - c.rank && !reader.take("x")) || !reader.number(c.axes[i].*number)) return false;
  return true;
}

bool read_padding(KeyReader& reader, Convolution& c) {
  for (size_t i = 3 - c.rank; i < 3; ++i)
    if ((i > 3 - c.rank && !reader.take("x")) || !reader.number(c.axes[i].before) || !reader.take(":") ||
        !reader.number(c.axes[i].after))
      return false;
  return true;
}

bool read_image(KeyReader& reader, Convolution& c) {
  int64_t lengths[3] = {};
  c.rank = 0;
  if (!reader.take(" i") || !reader.number(c.c)) return false;
  while (reader.take("x"))
    if (c.rank == 3 || !reader.number(lengths[c.rank++])) return false;
  for (size_t i = 0; i < c.rank; ++i) c.axes[3 - c.rank + i].in = lengths[i];
  return c.rank > 0;
}

// Lengths that belong together; sets those of the result.
bool complete(Convolution& c) {
  if (c.n < 1 || c.c < 1 || c.f < 1 || c.groups < 1 || c.c % c.groups != 0 || c.f % c.groups != 0) return false;
  for (ConvAxis& axis : c.axes) {
    if (axis.in < 1 || axis.kernel < 1 || axis.stride < 1 || axis.dilation < 1 || axis.padded() < axis.span())
      return false;
    axis.out = (axis.padded() - axis.span()) / axis.stride + 1;
  }
  return true;
}

}  // namespace

double Convolution::flops() const {
  return 2.0 * static_cast<double>(n) * static_cast<double>(f) * static_cast<double>(positions()) *
         static_cast<double>(channels() * taps());
}

bool Convolution::is_padded() const {
  for (const ConvAxis& axis : axes)
    if (axis.before > 0 || axis.after > 0) return true;
  return false;
}

const char* name_of(ConvPass pass) {
  switch (pass) {
    case ConvPass::kForward:
      return "conv";
    case ConvPass::kInputGradient:
      return "conv_input_gradient";
    case ConvPass::kWeightGradient:
      break;
  }
  return "conv_weight_gradient";
}

kernel::ChoiceKey key_of(const Convolution& c) {
  const std::vector<ConvAxis> axes(c.axes.end() - static_cast<ptrdiff_t>(c.rank), c.axes.end());
  auto list = [&](int64_t ConvAxis::*number) {
    return join(axes, "x", [&](const ConvAxis& axis) { return str(axis.*number); });
  };
  auto where_not_1 = [&](const char* letter, int64_t ConvAxis::*number) {
    for (const ConvAxis& axis : axes)
      if (axis.*number != 1) return str(" ", letter, list(number));
    return std::string();
  };
  std::string text = str(name_of(c.dtype), " b", c.n, " i", c.c, "x", list(&ConvAxis::in), " k", c.f, "x",
                         list(&ConvAxis::kernel), where_not_1("s", &ConvAxis::stride));
  if (c.is_padded())
    text += str(" p", join(axes, "x", [](const ConvAxis& axis) { return str(axis.before, ":", axis.after); }));
  text += where_not_1("d", &ConvAxis::dilation);
  if (c.groups > 1) text += str(" g", c.groups);
  return {name_of(c.pass), text};
}

std::optional<Convolution> convolution_of(const kernel::ChoiceKey& key) {
  Convolution c;
  for (ConvPass pass : {ConvPass::kForward, ConvPass::kInputGradient, ConvPass::kWeightGradient})
    if (key.computation == name_of(pass)) c.pass = pass;
  if (key.computation != name_of(c.pass)) return std::nullopt;
  KeyReader reader(key.properties);
  if (reader.take("float64"))
    c.dtype = DType::kFloat64;
  else if (!reader.take("float32"))
    return std::nullopt;
  if (!reader.take(" b") || !reader.number(c.n) || !read_image(reader, c) || !reader.take(" k") ||
      !reader.number(c.f) || !reader.take("x") || !read_axes(reader, c, &ConvAxis::kernel))
    return std::nullopt;
  if (reader.take(" s") && !read_axes(reader, c, &ConvAxis::stride)) return std::nullopt;
  if (reader.take(" p") && !read_padding(reader, c)) return std::nullopt;
  if (reader.take(" d") && !read_axes(reader, c, &ConvAxis::dilation)) return std::nullopt;
  if (reader.take(" g") && !reader.number(c.groups)) return std::nullopt;
  if (!reader.is_at_end() || !complete(c)) return std::nullopt;
  return c;
}

std::optional<Convolution> known_convolution(const Node& node) {
  const ConvGeometry g = ConvGeometry::of(node.props);
  const ConvLengths l = lengths_of_conv(node);
  Convolution c;
  if (node.op == &conv_input_gradient_op()) c.pass = ConvPass::kInputGradient;
  if (node.op == &conv_weight_gradient_op()) c.pass = ConvPass::kWeightGradient;
  bool is_known = !g.unshared;
  auto value = [&](const Dim& dim) {
    is_known = is_known && dim.is_known();
    return dim.is_known() ? dim.value() : 0;
  };
  c.dtype = node.types[0].dtype;
  c.n = value(l.n);
  c.c = value(l.c);
  c.f = value(l.f);
  c.groups = g.groups;
  c.rank = g.rank();
  for (size_t i = 0; i < c.rank; ++i)
    c.axes[3 - c.rank + i] = {.in = value(l.in[i]),
                              .kernel = value(l.kernel[i]),
                              .stride = g.stride[i],
                              .dilation = g.dilation[i],
                              .before = value(g.before[i]),
                              .after = value(g.after[i])};
  if (!is_known || !complete(c)) return std::nullopt;
  return c;
}

}  // namespace thtrain
