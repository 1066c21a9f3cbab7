// Padding, windows and upsampling against NumPy and definitions, with lengths that are known, and with named ones.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/evaluate.h"
#include "compiler/ops/image/neighbours.h"
#include "compiler/ops/image/pad.h"
#include "compiler/ops/image/upsample.h"
#include "compiler/runtime/function.h"
#include "tests/support/golden_lines.h"

namespace thtrain {
namespace {

PadMode pad_mode(const std::string& name) {
  return std::map<std::string, PadMode>{{"constant", PadMode::kConstant},
                                        {"edge", PadMode::kEdge},
                                        {"reflect", PadMode::kReflect},
                                        {"wrap", PadMode::kWrap}}
      .at(name);
}

NeighbourMode neighbour_mode(const std::string& name) {
  return std::map<std::string, NeighbourMode>{{"valid", NeighbourMode::kValid},
                                              {"ignore_borders", NeighbourMode::kIgnoreBorders},
                                              {"wrap_centered", NeighbourMode::kWrapCentered},
                                              {"half", NeighbourMode::kHalf},
                                              {"full", NeighbourMode::kFull}}
      .at(name);
}

Expr build(const GoldenLine& line, const Expr& x) {
  const std::vector<std::string>& words = line.arguments;
  if (line.name == "pad") {
    const std::vector<int64_t> flat = parse_list(words[2]);
    std::vector<PadWidth> widths;
    for (size_t i = 0; i < flat.size(); i += 2) widths.emplace_back(flat[i], flat[i + 1]);
    return pad(x, widths, pad_mode(words[1]), -1.5);
  }
  if (line.name == "neighbours") {
    const std::vector<int64_t> n = parse_list(words[2]);
    return images_to_neighbours(x, {n[0], n[1]}, RowsColumns{n[2], n[3]}, neighbour_mode(words[1]));
  }
  if (line.name == "nearest") return nearest_upsampling(x, std::stoll(words[1]));
  if (line.name == "bilinear") return bilinear_upsampling(x, std::stoll(words[1]));
  if (line.name == "fractional") {
    const std::vector<int64_t> n = parse_list(words[1]);
    return bilinear_upsampling(x, {n[0], n[1]}, {n[2], n[3]});
  }
  throw std::runtime_error("an unknown case: " + line.text);
}

// Compares the reference, and the native code of one function of every so many cases (programs of named lengths take
// long to compile).
int compare(DType dtype, bool known, size_t every) {
  std::vector<std::pair<Expr, Tensor>> bound;
  std::vector<In> inputs;
  std::vector<Out> outputs;
  std::vector<Expr> built;
  std::vector<Tensor> values, wanted;
  std::vector<std::string> texts;
  size_t number = 0;
  for (const GoldenLine& line : golden_lines("image_ops.txt")) {
    if (number++ % every != 0) continue;
    Tensor value = counting(parse_list(line.arguments[0])).cast(dtype);
    const bool squared = line.name == "nearest" || line.name == "bilinear" || line.name == "fractional";
    for (int64_t i = 0; squared && i < value.size(); ++i)
      visit(dtype, [&](auto zero) {
        using T = decltype(zero);
        if constexpr (std::is_floating_point_v<T>) value.data<T>()[i] *= value.data<T>()[i];
      });
    Type type = type_of(value);
    if (!known)
      for (size_t i = 0; i < type.rank(); ++i) type.dims[i] = Dim::named(str("n", i, "_", value.dim(i)));
    const Expr x = make_input(type, str("x", values.size()));
    built.push_back(build(line, x));
    bound.emplace_back(x, value);
    inputs.emplace_back(x);
    outputs.emplace_back(built.back());
    values.push_back(value);
    wanted.push_back(line.result(dtype));
    texts.push_back(line.text);
  }
  const std::vector<Tensor> native = function(inputs, outputs)(values), reference = evaluate(built, bound);
  for (size_t k = 0; k < wanted.size(); ++k) {
    SCOPED_TRACE(texts[k]);
    for (const Tensor* got : {&native[k], &reference[k]}) {
      EXPECT_EQ(got->type_text(), wanted[k].type_text());
      if (got->shape() != wanted[k].shape()) continue;
      for (int64_t i = 0; i < got->size(); ++i)
        EXPECT_NEAR(got->as_double(i), wanted[k].as_double(i),
                    (dtype == DType::kFloat32 ? 1e-6 : 1e-14) * std::max(1.0, std::abs(wanted[k].as_double(i))))
            << i;
    }
  }
  return static_cast<int>(wanted.size());
}

TEST(ImageOps, GiveNumPysValuesWithKnownLengths) {
  EXPECT_EQ(compare(DType::kFloat64, true, 1), 42);
}

TEST(ImageOps, GiveNumPysValuesWithNamedLengths) {
  EXPECT_EQ(compare(DType::kFloat32, false, 3), 14);
}

TEST(ImageOps, NeighboursGoBackToImages) {
  const Tensor value = counting({2, 3, 5, 7}).cast(DType::kFloat64);
  const Expr x = make_input(type_of(value), "x");
  auto back = [&](RowsColumns window, NeighbourMode mode) {
    return neighbours_to_images(images_to_neighbours(x, window, {}, mode), window, x.dims(), mode);
  };
  const std::vector<Tensor> got = evaluate({back({5, 7}, NeighbourMode::kValid), back({1, 7}, NeighbourMode::kValid),
                                            back({2, 3}, NeighbourMode::kIgnoreBorders)},
                                           {{x, value}});
  for (int64_t i = 0; i < value.size(); ++i) {
    EXPECT_EQ(got[0].as_double(i), value.as_double(i));
    EXPECT_EQ(got[1].as_double(i), value.as_double(i));
    const bool is_left_over = i % 7 == 6 || i / 7 % 5 == 4;
    EXPECT_EQ(got[2].as_double(i), is_left_over ? 0 : value.as_double(i)) << i;
  }
}

// Of 2 x 2 windows of a 4 x 4 image, as Theano's documentation shows them.
TEST(ImageOps, NeighboursInTheOrderOfWindows) {
  const Tensor got = evaluate({images_to_neighbours(make_constant(counting({1, 1, 4, 4})), {2, 2})}, {})[0];
  const Tensor want = Tensor::matrix<int64_t>({{0, 1, 4, 5}, {2, 3, 6, 7}, {8, 9, 12, 13}, {10, 11, 14, 15}});
  ASSERT_EQ(got.type_text(), want.type_text());
  for (int64_t i = 0; i < want.size(); ++i) EXPECT_EQ(got.as_int(i), want.as_int(i));
}

TEST(ImageOps, PaddingOfIntegersAndBools) {
  const Tensor numbers =
      evaluate({pad(make_constant(Tensor::vector<int8_t>({1, 2})), {{1, 2}}, PadMode::kConstant, -7)}, {})[0];
  const std::vector<int64_t> want{-7, 1, 2, -7, -7};
  ASSERT_EQ(numbers.type_text(), "int8[5]");
  for (int64_t i = 0; i < 5; ++i) EXPECT_EQ(numbers.as_int(i), want[static_cast<size_t>(i)]);
  const Tensor bools =
      evaluate({pad(cast(make_constant(counting({2})), DType::kBool), {{1, 0}}, PadMode::kConstant, 1)}, {})[0];
  EXPECT_EQ(bools.type_text(), "bool[3]");
  EXPECT_EQ(bools.as_int(0) * 100 + bools.as_int(1) * 10 + bools.as_int(2), 101);
}

}  // namespace
}  // namespace thtrain
