// Lesson 14: sparse matrices. A web of pages and links is a matrix in which nearly all elements are 0. We store the
// others alone, compute the rank of each page by power iteration (PageRank), and ask by a gradient which link a page
// owes its rank to. `./thtrain lesson 14` builds and runs it.
//
// Source: L. Page, S. Brin, R. Motwani, T. Winograd, The PageRank Citation Ranking, Stanford InfoLab 1999-66, 1999.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "compiler/api.h"

using namespace thtrain;

static void expect(bool holds, const char* what) {
  std::printf("%-70s %s\n", what, holds ? "yes" : "NO");
  if (!holds) std::exit(1);
}

// The share of its rank that a page hands on through its links; the rest is spread over all pages.
constexpr double kDamping = 0.85;
constexpr int kIterations = 100;

// The ranks of n pages. Row i of `links` has the weights of the links to page i, column j those of the links from j.
static Expr ranks(const Sparse& links, int64_t n) {
  Expr of_page = sum(links, 0);  // all weights of the links from each page
  Expr leads_nowhere = eq(of_page, 0);
  Sparse shares = column_scale(links, 1.0 / switch_(leads_nowhere, 1.0, of_page));
  Expr uniform = full({n}, 1.0 / static_cast<double>(n));
  // A page without links hands its rank to all pages: one number, so that the matrix stays sparse.
  auto step = [&](const std::vector<Expr>& rank) {
    Expr lost = sum(switch_(leads_nowhere, rank[0], 0.0));
    return std::vector{kDamping * (dot(shares, rank[0]) + lost * uniform) + (1 - kDamping) * uniform};
  };
  return repeat(kIterations, {uniform}, step)[0];
}

// Six pages. Four of them link to page 0, which links to page 1; nobody links to pages 3 and 5, and page 4 links
// nowhere.
static void six_pages() {
  Expr weights = vector("weights", {"links"}), from = tensor("from", {"links"}, DType::kInt64),
       to = tensor("to", {"links"}, DType::kInt64);
  // Links in any order; several from one page to another add up.
  Sparse links = csr_from_coordinates(weights, to, from, {6, 6});
  Expr rank = ranks(links, 6);
  Function f = function({weights, from, to}, {rank, dense(links), grad(rank[0], weights)});
  const auto out = f({Tensor::vector({1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0}),
                      Tensor::vector<int64_t>({0, 1, 2, 3, 1, 2, 5}), Tensor::vector<int64_t>({1, 0, 0, 0, 2, 4, 0})});
  std::printf("links, to each page from each page:\n%s\nranks:\n%s\n", out[1].text().c_str(), out[0].text().c_str());
  std::printf("derivative of the rank of page 0 by the weight of each link:\n%s\n", out[2].text().c_str());
  const double* rank_of = out[0].data<double>();
  double total = 0;
  for (int i = 0; i < 6; ++i) total += rank_of[i];
  expect(std::abs(total - 1) < 1e-12, "the ranks add up to 1");
  expect(rank_of[0] > rank_of[1] && rank_of[1] > rank_of[5], "page 0 ranks above page 1, and page 5 is the last");
  // Page 1 links to pages 0 and 2: more weight of the one is less of the other.
  const double* by = out[2].data<double>();
  expect(by[1] > 0 && by[4] < 0, "the link from 1 to 0 raises the rank of page 0, that from 1 to 2 lowers it");
  // A page with a single link hands on all, whatever its weight.
  expect(std::abs(by[3]) < 1e-12, "the weight of the only link of page 3 does not matter");
}

// A hundred thousand pages with ten links each: dense, the matrix would take 80 GB.
static void many_pages() {
  constexpr int64_t n = 100'000, links_of_page = 10;
  std::mt19937 random(1);
  std::vector<int64_t> from, to;
  for (int64_t page = 0; page < n; ++page)
    for (int64_t k = 0; k < links_of_page; ++k) {
      from.push_back(page);
      // Pages with small numbers are popular.
      to.push_back(static_cast<int64_t>(random() % (1 + random() % n)));
    }
  const auto count = static_cast<int64_t>(from.size());
  Expr f = tensor("from", {count}, DType::kInt64), t = tensor("to", {count}, DType::kInt64);
  Expr rank = ranks(csr_from_coordinates(ones({count}, DType::kFloat64), t, f, {n, n}), n);
  Function g = function({f, t}, {rank, argtopk(rank, 3), sum(rank)});
  const auto out = g({Tensor::of(from, {count}), Tensor::of(to, {count})});
  std::printf("the first three of %lld pages: %s\n", static_cast<long long>(n), out[1].text().c_str());
  expect(std::abs(out[2].as_double() - 1) < 1e-9, "the ranks of all pages add up to 1");
}

int main() {
  six_pages();
  many_pages();
  return 0;
}

// To try: give links from page 5 to itself. What becomes of its rank, and why is that called a trap? Then compute the
// gradient of the rank of page 0 by `weights` for the hundred thousand pages, and look at how large its program's
// memory is: f.info().arena_bytes.
