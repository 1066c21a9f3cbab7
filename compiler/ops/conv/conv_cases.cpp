#include "compiler/ops/conv/conv_cases.h"

#include "compiler/base/str.h"
#include "compiler/ops/conv/conv.h"
#include "compiler/ops/conv/geometry.h"

namespace thtrain {
namespace {

struct Row {
  std::string name;
  DType dtype;
  Dims x, w;
  ConvOptions options = {};
};

std::vector<Row> rows() {
  constexpr DType f32 = DType::kFloat32, f64 = DType::kFloat64;
  const auto zeros = [](std::vector<std::pair<int64_t, int64_t>> n) { return ConvPadding::zeros(std::move(n)); };
  return {
      {"f64", f64, {2, 3, 6, 5}, {4, 3, 3, 2}},
      {"f32", f32, {2, 3, 9, 21}, {5, 3, 3, 4}},
      {"correlation", f64, {2, 2, 5, 6}, {3, 2, 2, 3}, {.flip = false}},
      {"full", f64, {1, 2, 4, 5}, {3, 2, 3, 2}, {.padding = ConvPadding::full()}},
      {"half", f32, {2, 2, 7, 18}, {3, 2, 3, 3}, {.padding = ConvPadding::half()}},
      {"asymmetric", f64, {1, 2, 5, 6}, {2, 2, 3, 3}, {.padding = zeros({{0, 2}, {3, 1}})}},
      {"strides", f64, {2, 2, 8, 9}, {3, 2, 3, 2}, {.stride = {2, 3}}},
      {"padded_strides", f32, {1, 3, 9, 19}, {4, 3, 3, 3}, {.padding = ConvPadding::half(), .stride = {2, 2}}},
      {"dilation", f64, {1, 2, 8, 9}, {2, 2, 3, 2}, {.dilation = {2, 3}}},
      {"stride_and_dilation",
       f64,
       {1, 2, 9, 9},
       {2, 2, 2, 3},
       {.padding = zeros({{1, 2}, {2, 2}}), .stride = {2, 1}, .dilation = {3, 2}}},
      {"groups", f64, {2, 4, 5, 6}, {6, 2, 3, 2}, {.groups = 2}},
      {"depthwise", f32, {2, 5, 6, 17}, {5, 1, 3, 3}, {.padding = ConvPadding::half(), .groups = 5}},
      {"one_by_one", f32, {2, 5, 4, 6}, {7, 5, 1, 1}},
      {"as_large_as_image", f64, {2, 3, 4, 5}, {3, 3, 4, 5}},
      {"one_axis", f64, {2, 3, 9}, {4, 3, 4}, {.stride = {2}}},
      {"three_axes", f64, {1, 2, 4, 5, 4}, {3, 2, 2, 3, 2}, {.padding = zeros({{1, 0}, {0, 0}, {1, 1}})}},
      {"unshared", f64, {2, 2, 4, 5}, {3, 3, 4, 2, 2, 2}, {.unshared = true}},
      {"no_images", f64, {0, 2, 4, 5}, {3, 2, 2, 2}},
      {"one_channel", f32, {2, 1, 12, 40}, {6, 1, 5, 5}},
      {"many_filters", f32, {1, 4, 6, 9}, {37, 4, 3, 3}},
  };
}

// Filters of a true convolution are flipped: what is built on them is taken through the builders.
Dims result_dims(const Row& row) {
  const Expr x = make_input({.dtype = row.dtype, .dims = row.x}, "x"),
             w = make_input({.dtype = row.dtype, .dims = row.w}, "w");
  return conv(x, w, row.options).dims();
}

OpCase case_of(const Row& row, std::vector<Type> inputs, std::function<Expr(const std::vector<Expr>&)> build) {
  return {.name = row.name,
          .inputs = std::move(inputs),
          .build = [build](const std::vector<Expr>& in) { return std::vector<Expr>{build(in)}; },
          .bound = 64};
}

Type type_of(const Row& row, const Dims& dims) {
  return {.dtype = row.dtype, .dims = dims};
}

}  // namespace

std::vector<OpCase> conv_cases() {
  std::vector<OpCase> out;
  for (const Row& row : rows())
    out.push_back(case_of(row, {type_of(row, row.x), type_of(row, row.w)},
                          [row](const std::vector<Expr>& in) { return conv(in[0], in[1], row.options); }));
  return out;
}

std::vector<OpCase> conv_input_gradient_cases() {
  std::vector<OpCase> out;
  for (const Row& row : rows())
    out.push_back(
        case_of(row, {type_of(row, row.w), type_of(row, result_dims(row))}, [row](const std::vector<Expr>& in) {
          return conv_transposed(in[1], in[0], row.options, last(row.x, row.x.size() - 2));
        }));
  return out;
}

std::vector<OpCase> conv_weight_gradient_cases() {
  std::vector<OpCase> out;
  for (const Row& row : rows())
    out.push_back(
        case_of(row, {type_of(row, row.x), type_of(row, result_dims(row))}, [row](const std::vector<Expr>& in) {
          return conv_weight_gradient(in[0], in[1], last(row.w, row.x.size() - 2), row.options);
        }));
  return out;
}

}  // namespace thtrain
