// After NumPy's _core/tests/test_einsum.py and PyTensor's tests/tensor/test_einsum.py and test_math.py: einsum,
// tensordot, batched_dot and matmul.
//
// Not expressed: operands as lists of numbers, out=, casting=, object arrays. PyTensor sums an ellipsis that the result
// lacks, which NumPy refuses (test_ellipsis).
#include <gtest/gtest.h>

#include <map>

#include "compiler/api.h"
#include "tests/compiler/suites/suite.h"

namespace thtrain::einsum_suite {
namespace {

using G = Given&;
using Shapes = std::vector<Shape>;
using Texts = std::vector<std::string>;

std::vector<Operand> operands(G g, const Shapes& shapes) {
  std::vector<Operand> out;
  for (const Shape& shape : shapes) out.emplace_back(g(spread(shape, static_cast<int64_t>(out.size()))));
  return out;
}

class Products {
 public:
  void row(const std::string& name, const std::string& text, const Shapes& shapes) {
    cases.push_back(made_case(name, [=](G g) { return All{einsum(text, operands(g, shapes))}; }));
  }
  /// Each of the texts, whose letters have these lengths.
  void texts(const std::string& test, const std::string& letters, const Shape& lengths, const Texts& all_texts) {
    for (const std::string& text : all_texts) {
      Shapes shapes(1);
      for (const char letter : text.substr(0, text.find('-')))
        if (letter == ',')
          shapes.emplace_back();
        else
          shapes.back().push_back(lengths.at(letters.find(letter)));
      row(str(test, "[", text, "]"), text, shapes);
    }
  }
  void pairs(const std::string& test, const std::vector<std::pair<std::string, Shapes>>& rows) {
    for (const auto& [text, shapes] : rows) row(str("TestEinsum.", test, "[", text, "]"), text, shapes);
  }

  std::vector<SuiteCase> cases;
};

void add_lettered(Products& p) {
  p.texts("test_einsum_signatures", "ijklmnop", {2, 3, 4, 5, 3, 2, 4, 3},
          {"ij", "ji", "ii->i", "ii", "ij->", "ij->j", "ij->i", "ij,ij->ij", "ij,ji->ij", "ij,ji->ji", "ij,jk", "kj,ji",
           "ij,kj->ik", "ik,kj->ikj", "ij,kl->ijkl", "ij,jk,kl->il", "kl,ij,jk->il", "oij,imj,mjkn,lnk,plk->op"});
  const std::map<std::string, Texts> groups = {
      {"hadamard_like_products", {"a,ab,abc->abc", "a,b,ab->ab"}},
      {"index_transformations", {"ea,fb,gc,hd,abcd->efgh", "ea,fb,abcd,gc,hd->efgh", "abcd,ea,fb,gc,hd->efgh"}},
      {"collapse",
       {"ab,ab,c->", "ab,ab,c->c", "ab,ab,cd,cd->", "ab,ab,cd,cd->ac", "ab,ab,cd,cd->cd", "ab,ab,cd,cd,ef,ef->"}},
      {"inner_product", {"ab,ab", "ab,ba", "abc,abc", "abc,bac", "abc,cba"}},
      {"dot_product", {"ab,bc", "ab,cb", "ba,bc", "abcd,cd", "abcd,ab", "abcd,cdef", "abcd,cdef->feba"}},
      {"random_cases",
       {"aab,fa,df,ecc->bde", "ecb,fef,bad,ed->ac", "bcf,bbb,fbf,fc->", "bb,ff,be->e", "bcb,bb,fc,fff->",
        "fbb,dfd,fc,fc->", "afd,ba,cc,dc->bf", "adb,bc,fa,cfc->d"}}};
  for (const auto& [test, texts] : groups)
    p.texts("TestEinsum.test_" + test, "abcdefghij", {2, 3, 4, 3, 4, 3, 2, 3, 2, 4}, texts);
}

void add_ellipses(Products& p) {
  const Shape two = {2, 3}, cube = {3, 3, 3}, four = {2, 3, 4, 5};
  p.pairs("test_einsum_views", {{"...", {two}},
                                {"ij", {two}},
                                {"ji", {two}},
                                {"ii->i", {{3, 3}}},
                                {"...ii->...i", {cube}},
                                {"ii...->...i", {cube}},
                                {"...ii->i...", {cube}},
                                {"jii->ij", {cube}},
                                {"ii...->i...", {cube}},
                                {"i...i->i...", {cube}},
                                {"i...i->...i", {cube}},
                                {"iii->i", {cube}},
                                {"ijk->jik", {{2, 3, 4}}}});
  p.pairs("check_einsum_sums", {{"i->", {{5}}},
                                {"...i->...", {{2, 3, 4}}},
                                {"i...->...", {{2, 5}}},
                                {"ii", {{4, 4}}},
                                {"...,...", {{3, 4}, {2, 3, 4}}},
                                {"...i,...i", {{2, 3, 4}, {4}}},
                                {"i...,i...", {{4, 3, 2}, {4}}},
                                {"i,j", {{3}, {4}}},
                                {"ij,j", {{4, 3}, {3}}},
                                {"ji,j", {{3, 4}, {3}}},
                                {"ij,jk", {{4, 3}, {3, 6}}},
                                {"ij,jk,kl", {{3, 4}, {4, 5}, {5, 6}}},
                                {"ijk,jil->kl", {{3, 4, 5}, {4, 3, 2}}},
                                {"i,i,i->i", {{6}, {6}, {6}}},
                                {",i->", {{}, {9}}},
                                {"i,->", {{9}, {}}},
                                {"i,->i", {{5}, {}}},
                                {",i->i", {{}, {5}}},
                                {"i,i", {{5}, {5}}},
                                {"z,mz,zm->", {{2}, {2, 2}, {2, 2}}},
                                {"ij,ij->j", {{10, 2}, {1, 2}}},
                                {"...ij,...jk->...ik", {{1, 5}, {5, 5}}},
                                {"ji,i->", {{2, 2}, {2}}},
                                {"i,ij->", {{2}, {2, 2}}},
                                {"ij,i->", {{2, 2}, {2}}}});
  p.pairs("test_einsum_misc", {{"ij...,j...->i...", {{1, 2}, {2, 2, 1}}},
                               {"...i,...i", {{3}, {3}}},
                               {"ijklm,ijn,ijn->", {{2, 3, 2, 2, 3}, {2, 3, 4}, {2, 3, 4}}},
                               {"x,yx,zx->xzy", {{2}, {2, 2}, {4, 2}}}});
  p.pairs("test_einsum_broadcast", {{"ij...,j...->ij...", {{2, 3, 4}, {3}}},
                                    {"ij...,...j->ij...", {{2, 3, 4}, {3}}},
                                    {"ij...,j->ij...", {{2, 3, 4}, {3}}},
                                    {"ik...,k...->i...", {{4, 3}, {3, 2}}},
                                    {"ik...,...kj->i...j", {{4, 3}, {3, 2}}},
                                    {"...k,kj", {{4, 3}, {3, 2}}},
                                    {"ik,k...->i...", {{4, 3}, {3, 2}}},
                                    {"ijkl,k", {four, {4}}},
                                    {"...kl,k", {four, {4}}},
                                    {"...kl,k...", {four, {4}}},
                                    {"...lmn,lmno->...o", {{1, 1, 1, 3, 4, 2}, {3, 4, 2, 3}}}});
  p.pairs("test_einsum_fixedstridebug", {{"cl,cpx->lpx", {{2, 3}, {2, 3, 7}}}});
  p.pairs("test_einsum_all_contig_non_contig_output",
          {{"mi,mi,mi->m", {{4, 4}, {4, 4}, {4, 4}}}, {"im,im,im->m", {{4, 4}, {4, 4}, {4, 4}}}});
  p.row("TestEinsum.test_einsum_fixed_collapsingbug", "aabb->ab", {{3, 3, 3, 3}});
  p.row("TestEinsum.test_einsum_failed_on_p9_and_s390x", "ijij->", {{3, 4, 3, 4}});
  p.row("TestEinsum.test_different_paths[4]", "i,i,i,i->", Shapes(4, Shape{5}));
  p.row("test_einsum_conv", "bchwkt,fckt->bfhw", {{2, 3, 2, 3, 2, 2}, {4, 3, 2, 2}});
  p.row("test_batch_dim", "mij,jk->mik", {{4, 3, 5}, {5, 2}});
  p.row("test_ellipsis[last]", "...mp,...pn->...mn", {{2, 3, 4, 5}, {2, 3, 5, 2}});
  p.row("test_ellipsis[middle]", "m...p,p...n->m...n", {{4, 2, 3, 5}, {5, 2, 3, 2}});
  p.row("test_broadcastable_dims", "ijk,bj,bk->i", {{3, 4, 5}, {6, 4}, {1, 5}});
  p.row("test_threeway_mul", "...,...,...->...", Shapes(3, Shape{3}));
}

TEST(EinsumSuite, Einsum) {
  Products p;
  add_lettered(p);
  add_ellipses(p);
  expect_suite("einsum", "einsum", p.cases);
}

TEST(EinsumSuite, Products) {
  std::vector<SuiteCase> cases;
  using Pair = std::pair<Shape, Shape>;
  using Axes = std::vector<int64_t>;
  const auto add = [&](const std::string& test, size_t k, const Shape& a, const Shape& b, const auto& product) {
    cases.push_back(
        made_case(str(test, "[", k, "]"), [=](G g) { return All{product(g(spread(a)), g(spread(b, 1)))}; }));
  };
  const std::vector<std::pair<Pair, int64_t>> counted = {{{{4}, {4}}, 1},       {{{4}, {4, 3}}, 1},
                                                         {{{5, 4}, {4, 3}}, 1}, {{{3, 4, 2, 3}, {2, 3, 4}}, 2},
                                                         {{{3, 4}, {5}}, 0},    {{{2, 3}, {4, 2}}, 0}};
  for (size_t k = 0; k < counted.size(); ++k)
    add("TestTensordot.test_scalar_axes", k, counted[k].first.first, counted[k].first.second,
        [axes = counted[k].second](const Expr& x, const Expr& y) { return tensordot(x, y, axes); });
  const std::vector<std::tuple<Shape, Shape, Axes, Axes>> named = {{{4}, {4}, {0}, {0}},
                                                                   {{4, 3}, {4}, {0}, {0}},
                                                                   {{4, 5}, {5, 3}, {1}, {0}},
                                                                   {{4, 5}, {3, 5}, {1}, {1}},
                                                                   {{4, 5}, {4, 3}, {0}, {0}},
                                                                   {{4, 5}, {3, 4}, {0}, {1}},
                                                                   {{2, 3, 5}, {5, 3, 4}, {1, 2}, {1, 0}},
                                                                   {{3, 4, 5}, {4}, {1}, {0}},
                                                                   {{2, 3, 4, 2}, {4, 2, 3}, {1, 3}, {2, 1}},
                                                                   {{2, 3}, {3, 2}, {-1}, {-2}},
                                                                   {{2, 3}, {4}, {}, {}}};
  for (size_t k = 0; k < named.size(); ++k)
    add("TestTensordot.test_basic", k, std::get<0>(named[k]), std::get<1>(named[k]),
        [row = named[k]](const Expr& x, const Expr& y) { return tensordot(x, y, std::get<2>(row), std::get<3>(row)); });
  const std::vector<Pair> batches = {
      {{3, 4, 2}, {3, 2, 5}}, {{3, 4}, {3, 4, 2}}, {{3, 4, 2}, {3, 2}}, {{3, 4}, {3, 4}}};
  for (size_t k = 0; k < batches.size(); ++k)
    add("TestBatchedDot.test_batched_dot", k, batches[k].first, batches[k].second,
        [](const Expr& x, const Expr& y) { return batched_dot(x, y); });
  const std::vector<Pair> matrices = {{{3}, {3}},
                                      {{2, 3}, {3}},
                                      {{2}, {2, 3}},
                                      {{2, 3}, {3, 4}},
                                      {{5, 2, 3}, {3, 4}},
                                      {{2, 3}, {5, 3, 4}},
                                      {{5, 2, 3}, {5, 3, 4}},
                                      {{5, 1, 2, 3}, {4, 3, 2}},
                                      {{3}, {5, 3, 4}},
                                      {{5, 2, 3}, {3}},
                                      {{1, 2, 3}, {4, 3, 1}},
                                      {{2, 0, 3}, {2, 3, 4}},
                                      {{2, 3, 0}, {2, 0, 4}}};
  for (size_t k = 0; k < matrices.size(); ++k)
    add("TestMatMul.test_op", k, matrices[k].first, matrices[k].second,
        [](const Expr& x, const Expr& y) { return matmul(x, y); });
  expect_suite("einsum", "products", cases);
}

#define EINSUM_ERROR(text, ...)                                                                                        \
  SuiteError {                                                                                                         \
    "TestEinsum.test_einsum_errors[" text "]", [](G g) { return All{einsum(text, operands(g, Shapes{__VA_ARGS__}))}; } \
  }

TEST(EinsumSuite, GoldenErrors) {
  expect_suite_errors("einsum", "errors",
                      {
                          EINSUM_ERROR("ij", {3}),
                          EINSUM_ERROR("...ij", {3}),
                          EINSUM_ERROR("i...j", {3}),
                          EINSUM_ERROR("i..", {2}),
                          EINSUM_ERROR(".i...", {2}),
                          EINSUM_ERROR("j->..j", {2}),
                          EINSUM_ERROR("i%...", {2}),
                          EINSUM_ERROR("i->&", {2}),
                          EINSUM_ERROR("i->ij", {2}),
                          EINSUM_ERROR("ij->jij", {2, 2}),
                          EINSUM_ERROR("ii", {2, 3}),
                          EINSUM_ERROR("ii->i", {2, 3}),
                          EINSUM_ERROR("i,", {2}),
                          EINSUM_ERROR("i", Shape{}),
                          EINSUM_ERROR("mp,pn->mn", {2, 3, 4}, {2, 4, 3}),
                          EINSUM_ERROR("ij,jk", {2, 3}, {4, 2}),
                          {"TestMatMul.test_op[scalar]", [](G g) { return All{matmul(g(number(2)), g(spread({3})))}; }},
                          {"TestMatMul.test_op[lengths]",
                           [](G g) {
                             return All{matmul(g(spread({2, 3})), g(spread({4, 2})))};
                           }},
                          {"TestTensordot.test_raise_error[lengths]",
                           [](G g) {
                             return All{tensordot(g(spread({2, 3})), g(spread({4, 2})), 1)};
                           }},
                          {"TestTensordot.test_raise_error[count]",
                           [](G g) {
                             return All{tensordot(g(spread({2, 3})), g(spread({3, 2})), {0, 1}, {0})};
                           }},
                          {"TestTensordot.test_raise_error[axis]",
                           [](G g) {
                             return All{tensordot(g(spread({2, 3})), g(spread({3, 2})), {2}, {0})};
                           }},
                      });
}

#undef EINSUM_ERROR

}  // namespace
}  // namespace thtrain::einsum_suite
