// Products with factors that only a call knows, and that are 0: no program loses the NaN that is written.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "compiler/api.h"

namespace thtrain {
namespace {

struct Values {
  Expr s, t, a, b, c, u, v, y;
  std::vector<In> inputs() const { return {s, t, a, b, c, u, v, y}; }
};

// a [m, k], b [k, n], c [m, n], u [m], v [n], y [k]; lengths are known, or named.
Values values_of(DType dtype, Dims m_k_n) {
  const auto &m = m_k_n[0], &k = m_k_n[1], &n = m_k_n[2];
  return {tensor("s", {}, dtype),     tensor("t", {}, dtype),  tensor("a", {m, k}, dtype), tensor("b", {k, n}, dtype),
          tensor("c", {m, n}, dtype), tensor("u", {m}, dtype), tensor("v", {n}, dtype),    tensor("y", {k}, dtype)};
}

struct Form {
  std::string name;
  Expr (*build)(const Values&);
};

const std::vector<Form>& forms() {
  static const std::vector<Form> table{
      {"s c + a.b", [](const Values& v) { return v.s * v.c + dot(v.a, v.b); }},
      {"s a.b + c", [](const Values& v) { return v.s * dot(v.a, v.b) + v.c; }},
      {"s a.b - t c", [](const Values& v) { return v.s * dot(v.a, v.b) - v.t * v.c; }},
      {"c - s a.b", [](const Values& v) { return v.c - v.s * dot(v.a, v.b); }},
      {"s b'.a' + t c'",
       [](const Values& v) { return v.s * dot(transpose(v.b), transpose(v.a)) + v.t * transpose(v.c); }},
      {"tanh(s c + t a.b)", [](const Values& v) { return tanh(v.s * v.c + v.t * dot(v.a, v.b)); }},
      {"s u + a.y", [](const Values& v) { return v.s * v.u + dot(v.a, v.y); }},
      {"s a.y + u", [](const Values& v) { return v.s * dot(v.a, v.y) + v.u; }},
      {"s y.b + t v", [](const Values& v) { return v.s * dot(v.y, v.b) + v.t * v.v; }},
      {"c + s u v'", [](const Values& v) { return v.c + v.s * outer(v.u, v.v); }},
      {"t c - s u v'", [](const Values& v) { return v.t * v.c - v.s * outer(v.u, v.v); }},
  };
  return table;
}

// Small numbers, and in a few locations what is none.
Tensor hard(DType dtype, Shape shape, int64_t seed) {
  Tensor out = Tensor::zeros(DType::kFloat64, shape);
  const double odd[] = {NAN, INFINITY, -INFINITY, 0, -0.0};
  for (int64_t i = 0; i < out.size(); ++i)
    out.data<double>()[i] = static_cast<double>((i * 37 + seed * 11) % 101 - 50) / 50;
  for (int64_t i = 0; i < 5; ++i) out.data<double>()[(seed * 7919 + i * 104729) % out.size()] = odd[i];
  return out.cast(dtype);
}

void expect_same(const Tensor& got, const Tensor& want) {
  for (int64_t i = 0; i < want.size(); ++i) {
    const double is = got.as_double(i), should = want.as_double(i);
    if (std::isnan(should))
      ASSERT_TRUE(std::isnan(is)) << is << " at " << i;
    else if (std::isinf(should))
      ASSERT_EQ(is, should) << "at " << i;
    else
      ASSERT_NEAR(is, should, 1e-4) << "at " << i;
  }
}

void expect_nothing_lost(DType dtype, const Dims& lengths, const Shape& m_k_n, const std::set<std::string>& without) {
  const Values v = values_of(dtype, lengths);
  std::vector<Out> outputs;
  for (const Form& form : forms()) outputs.emplace_back(form.build(v));
  const FunctionOptions native{.without = without, .unused_inputs = UnusedInputs::kAllowed, .tune = Tune::kNever};
  Function f = function(v.inputs(), outputs, {}, native);
  Function g = function(v.inputs(), outputs, {}, {.mode = Mode::kReference, .unused_inputs = UnusedInputs::kAllowed});
  const int64_t m = m_k_n[0], k = m_k_n[1], n = m_k_n[2];
  for (auto [s, t] : {std::pair(0.0, 1.0), {1.0, 0.0}, {0.0, 0.0}, {-0.0, 0.5}, {0.5, -0.0}, {0.5, 2.0}}) {
    const std::vector<Tensor> arguments{Tensor(s).cast(dtype),  Tensor(t).cast(dtype),  hard(dtype, {m, k}, 1),
                                        hard(dtype, {k, n}, 2), hard(dtype, {m, n}, 3), hard(dtype, {m}, 4),
                                        hard(dtype, {n}, 5),    hard(dtype, {k}, 6)};
    const std::vector<Tensor> got = f(arguments), want = g(arguments);
    for (size_t i = 0; i < got.size(); ++i) {
      SCOPED_TRACE(str(forms()[i].name, " of ", name_of(dtype), ", s ", s, ", t ", t));
      expect_same(got[i], want[i]);
    }
  }
}

TEST(ZeroFactors, OfLibraryProductsLoseNoNaN) {
  for (DType dtype : {DType::kFloat32, DType::kFloat64}) expect_nothing_lost(dtype, {"m", "k", "n"}, {23, 17, 31}, {});
}

TEST(ZeroFactors, OfGeneratedProductsLoseNoNaN) {
  for (DType dtype : {DType::kFloat32, DType::kFloat64})
    for (const Shape& lengths : {Shape{23, 17, 31}, {60, 10, 130}})
      for (const std::set<std::string>& without : {std::set<std::string>{}, {"fuse_epilogues"}})
        expect_nothing_lost(dtype, {lengths[0], lengths[1], lengths[2]}, lengths, without);
}

}  // namespace
}  // namespace thtrain
