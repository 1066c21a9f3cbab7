#include "compiler/ops/pool/pool_cases.h"

#include "compiler/ops/pool/pool.h"

namespace thtrain {
namespace {

struct Row {
  Dims image;
  PoolWindows windows;
};

Ints zeros(size_t n) {
  return Ints(n, 0);
}

// Windows side by side, apart and over each other; of one, two and three axes; in images shorter and longer than a
// vector; with padding and cut off at the end.
std::vector<Row> rows() {
  auto side_by_side = [](Dims image, Ints window) {
    return Row{std::move(image), {window, window, zeros(window.size()), zeros(window.size())}};
  };
  auto plain = [](Dims image, Ints window, Ints stride) {
    return Row{std::move(image), {window, stride, zeros(window.size()), zeros(window.size())}};
  };
  return {side_by_side({2, 4, 6}, {2, 2}),
          side_by_side({2, 6, 40}, {3, 2}),
          side_by_side({2, 5, 75}, {2, 2}),
          side_by_side({1, 7, 37}, {3, 3}),
          side_by_side({1, 4, 140}, {4, 4}),
          side_by_side({10, 50}, {5, 5}),
          side_by_side({3, 20}, {2}),
          side_by_side({1, 4, 4, 6}, {2, 2, 2}),
          side_by_side({4, 5}, {1, 1}),
          side_by_side({6, 7}, {6, 7}),
          plain({2, 7, 9}, {3, 3}, {2, 2}),
          plain({1, 6, 40}, {3, 3}, {1, 1}),
          plain({1, 9, 41}, {2, 3}, {3, 5}),
          plain({1, 12, 50}, {5, 7}, {2, 3}),
          plain({4, 5, 6}, {3, 2, 3}, {1, 2, 2}),
          plain({2, 90}, {40}, {4}),
          {{1, 7, 8}, {{3, 3}, {2, 2}, {1, 1}, {1, 1}}},
          {{2, 5, 37}, {{3, 2}, {1, 2}, {2, 1}, {0, 1}}},
          {{3, 40}, {{5}, {2}, {4}, {3}}},
          {{1, 5, 5, 5}, {{3, 3, 3}, {2, 2, 2}, {1, 1, 1}, {1, 1, 1}}},
          {{2, 5, 7}, {{2, 2}, {2, 2}, {0, 0}, {0, 0}, false}},
          {{1, 5, 39}, {{3, 4}, {2, 2}, {0, 1}, {0, 2}, false}},
          {{4, 3}, {{5, 5}, {2, 2}, {0, 0}, {0, 0}, false}},
          {{"n", 4, 6}, {{2, 2}, {2, 2}, {0, 0}, {0, 0}}},
          {{2, "h", "w"}, {{2, 2}, {2, 2}, {0, 0}, {0, 0}}},
          {{1, "h", "w"}, {{3, 2}, {2, 1}, {1, 0}, {1, 1}}},
          {{2, "h", "w"}, {{3, 4}, {3, 4}, {0, 0}, {0, 0}, false}}};
}

std::string text_of(const Row& row) {
  const PoolWindows& w = row.windows;
  return str("[", dims_text(row.image), "] window ", join(w.window, "x"), " stride ", join(w.stride, "x"), " padding ",
             join(w.before, "x"), ", ", join(w.after, "x"), w.ignore_border ? "" : " with border");
}

}  // namespace

std::vector<OpCase> pool_cases(PoolInputs inputs, const PoolBuild& build) {
  std::vector<OpCase> out;
  for (const Row& row : rows())
    for (DType dtype : {DType::kFloat32, DType::kFloat64}) {
      const Dims pooled = row.windows.pooled(row.image);
      const bool takes_pooled = inputs == PoolInputs::kPooled || inputs == PoolInputs::kImageAndPooled;
      // Lengths that follow from names are no input's: what is pooled is made of an image.
      const bool is_made = takes_pooled && !Type{.dtype = dtype, .dims = pooled}.is_known();
      std::vector<Type> types(inputs == PoolInputs::kImageAndPooled || inputs == PoolInputs::kTwoImages ? 2 : 1,
                              {.dtype = dtype, .dims = row.image});
      if (takes_pooled && !is_made) types.back().dims = pooled;
      out.push_back({.name = str(name_of(dtype), text_of(row)),
                     .inputs = std::move(types),
                     .build =
                         [build, row, is_made](std::vector<Expr> in) {
                           Props props;
                           row.windows.add_to(props);
                           const Dims image = is_made ? in.back().dims() : row.image;
                           if (is_made) in.back() = apply(max_pool_op(), {in.back()}, props);
                           return std::vector{build(in, row.windows, image)};
                         },
                     .bound = inputs == PoolInputs::kImageAndPooled && row.windows.sharing() > 1 ? 16.0 : 0.0});
    }
  return out;
}

}  // namespace thtrain
