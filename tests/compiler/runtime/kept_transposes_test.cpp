// What a function keeps of sparse variables follows their values, however these change.
#include "compiler/runtime/kept_transposes.h"

#include <gtest/gtest.h>

#include "compiler/api.h"
#include "compiler/ir/compare.h"
#include "tests/support/error_text.h"

namespace thtrain {
namespace {

// [[1, 0, 2], [0, 0, 3]]
SparseTensor first_value() {
  return {.data = Tensor::vector<double>({1, 2, 3}),
          .indices = Tensor::vector<int32_t>({0, 2, 2}),
          .indptr = Tensor::vector<int32_t>({0, 2, 3}),
          .rows = 2,
          .columns = 3};
}
// [[0, 5, 0], [7, 0, 0]]
SparseTensor other_value() {
  return {.data = Tensor::vector<double>({5, 7}),
          .indices = Tensor::vector<int32_t>({1, 0}),
          .indptr = Tensor::vector<int32_t>({0, 1, 2}),
          .rows = 2,
          .columns = 3};
}

class KeptTransposes : public testing::Test {
 protected:
  void expect(Function& f, const std::vector<double>& want) const {
    const Tensor got = f({Tensor::vector<double>({1, 10})})[0];
    EXPECT_FALSE(difference(got, Tensor::of(want, {static_cast<int64_t>(want.size())}), 1e-12)) << got.text();
  }

  const SharedSparse a{first_value(), "a"};
  const Expr d = vector("d", {2}), x = vector("x", {3});
  // A^T d, as a gradient gives it.
  const Expr product = grad(sum(dot(a, x) * d), {x})[0];
};

TEST_F(KeptTransposes, AreProductsOfRows) {
  Function f = function({d}, {product});
  EXPECT_NE(f.explain().canonical.find("{columns=<>}"), std::string::npos) << f.explain().canonical;
  EXPECT_NE(f.explain().canonical.find("a.data.transposed"), std::string::npos);
  expect(f, {1, 0, 32});
  expect(f, {1, 0, 32});
  // The variables that a user sees are those of the graph.
  ASSERT_EQ(f.shared_variables().size(), 3U);
  EXPECT_EQ(f.shared_variables()[0].name(), "a.data");
}

TEST_F(KeptTransposes, FollowNewValues) {
  Function f = function({d}, {product});
  expect(f, {1, 0, 32});
  a.set_value(other_value());
  expect(f, {70, 5, 0});
  a.set_value(first_value());
  expect(f, {1, 0, 32});
  a.data().set_value(Tensor::vector<double>({4, 5, 6}));
  expect(f, {4, 0, 65});
  a.data().set_zero();
  expect(f, {0, 0, 0});
  const Shared others = Shared::of_lengths(a.data().type().dims, Tensor::vector<double>({1, 1, 1}));
  a.data().swap_value(others);
  expect(f, {1, 0, 11});
}

TEST_F(KeptTransposes, FollowUpdatesOfOtherFunctions) {
  Function f = function({d}, {product}), twice = function({}, {}, {{a.data(), a.data() * 2}});
  expect(f, {1, 0, 32});
  twice({});
  expect(f, {2, 0, 64});
  twice({});
  twice({});
  expect(f, {8, 0, 256});
}

TEST_F(KeptTransposes, FollowWhoHasTheMemory) {
  Function f = function({d}, {product});
  expect(f, {1, 0, 32});
  Tensor lent = a.data().get_value(/*borrow=*/true);
  lent.data<double>()[0] = 9;
  expect(f, {9, 0, 32});
  lent.data<double>()[0] = 8;
  expect(f, {8, 0, 32});
}

TEST_F(KeptTransposes, AreNotKeptWhereTheFunctionUpdates) {
  Function f = function({d}, {product}, {{a.data(), a.data() + 1}});
  EXPECT_NE(f.explain().canonical.find("{columns=<3>}"), std::string::npos);
  expect(f, {1, 0, 32});
  expect(f, {2, 0, 43});
}

TEST_F(KeptTransposes, CopiesHaveTheirOwn) {
  Function f = function({d}, {product});
  const SharedSparse b(other_value(), "a");  // the length of its data has the same name
  const std::vector<Shared> own = f.shared_variables();
  expect(f, {1, 0, 32});
  Function same = f;
  expect(same, {1, 0, 32});
  const std::vector<Shared> others = function({d}, {grad(sum(dot(b, x) * d), {x})[0]}).shared_variables();
  ASSERT_EQ(others.size(), 3U);
  Function of_b = f.copy({{own[0], others[0]}, {own[1], others[1]}, {own[2], others[2]}});
  expect(of_b, {70, 5, 0});
  expect(f, {1, 0, 32});
  b.data().set_value(Tensor::vector<double>({1, 1}));
  expect(of_b, {10, 1, 0});
  of_b.free();
  expect(of_b, {10, 1, 0});
  expect(f, {1, 0, 32});
}

TEST_F(KeptTransposes, OfSomeOutputs) {
  Function f = function({d}, {{"sums", sum(a, 0)}, {"product", product}});
  const Arguments given{{"d", Tensor::vector<double>({1, 10})}};
  EXPECT_FALSE(difference(f.only({"product"}, given)[0], Tensor::vector<double>({1, 0, 32}), 1e-12));
  a.set_value(other_value());
  EXPECT_FALSE(difference(f.only({"product"}, given)[0], Tensor::vector<double>({70, 5, 0}), 1e-12));
}

TEST_F(KeptTransposes, OfPartsThatAreNoMatrix) {
  Function f = function({d}, {product});
  const std::vector<Shared> parts = f.shared_variables();
  expect(f, {1, 0, 32});
  parts[1].set_value(Tensor::vector<int32_t>({0, 2, 3}));
  EXPECT_EQ(text_without_node([&] {
              f({Tensor::vector<double>({1, 10})});
            }),
            "error: the sparse matrix of a.data, a.indices and a.indptr: row 1 has an element with the index 3\n"
            "  expected: at least 0 and less than 3");
  parts[1].set_value(Tensor::vector<int32_t>({0, 2, 2}));
  expect(f, {1, 0, 32});
}

}  // namespace
}  // namespace thtrain
