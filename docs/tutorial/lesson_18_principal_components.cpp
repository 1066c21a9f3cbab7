// Lesson 18: singular values. Principal components are the directions in which data vary most: the right singular
// vectors of what is left when the mean is taken off. We find them by svd() and by eigh(), keep two of them, and let
// grad() tell which points a singular value depends on. `./thtrain lesson 18` runs it.
//
// Source: I. T. Jolliffe, Principal Component Analysis, Springer, 2002, chapters 2 and 3.
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "compiler/api.h"

using namespace thtrain;

static void expect(bool holds, const char* what) {
  std::printf("%-70s %s\n", what, holds ? "yes" : "NO");
  if (!holds) std::exit(1);
}

constexpr int64_t kPoints = 500, kFeatures = 6;

int main() {
  // Six measurements of two hidden numbers, with some noise.
  RandomState random(11);
  const Tensor hidden = Tensor::of(random.normal(0, 1, 2 * kPoints), {kPoints, 2}),
               mixing = Tensor::of(random.normal(0, 1, 2 * kFeatures), {2, kFeatures}),
               noise = Tensor::of(random.normal(0, 0.1, kPoints * kFeatures), {kPoints, kFeatures});
  const Expr h = matrix("h", {kPoints, 2}), m = matrix("m", {2, kFeatures}), e = matrix("e", {kPoints, kFeatures});
  const Tensor data = function({h, m, e}, {dot(h, m) + e + 3.0})({hidden, mixing, noise})[0];

  const Expr x = matrix("x", {kPoints, kFeatures}), centred = x - mean(x, 0);
  const SingularValues f = svd(centred);
  const Expr variances = sqr(f.s) / static_cast<double>(kPoints - 1), explained = variances / sum(variances);
  const Expr components = subtensor(f.vh, {Slice{.stop = 2}}), scores = dot(centred, transpose(components));
  const Expr again = dot(scores, components) + mean(x, 0);
  const auto got = function({x}, {explained, scores, sqrt(mean(sqr(again - x)))})({data});
  for (int64_t k = 0; k < kFeatures; ++k)
    std::printf("component %d explains %5.2f %%\n", static_cast<int>(k), 100 * got[0].as_double(k));
  std::printf("two numbers a point are off by %.3f\n", got[2].as_double());
  expect(got[0].as_double(0) + got[0].as_double(1) > 0.98, "two components explain what two hidden numbers make");
  expect(got[2].as_double() < 0.1, "what they leave out is less than the noise");

  // The same from the covariance, whose eigenvalues are in ascending order.
  const EigenPairs of_covariance = eigh(cov(transpose(x)));
  const auto both = function({x}, {flip(of_covariance.values), variances})({data});
  double off = 0;
  for (int64_t k = 0; k < kFeatures; ++k) off = std::max(off, std::abs(both[0].as_double(k) - both[1].as_double(k)));
  std::printf("eigenvalues of the covariance are off by %.1e\n", off);
  expect(off < 1e-10, "they are the squares of the singular values over the number of points");

  // The points on which the first component rests: their influence on its variance.
  const Expr influence = sqrt(sum(sqr(grad(variances[0], x)), 1));
  const auto most = function({x}, {argmax(influence), argmax(abs(subtensor(scores, {Slice{}, 0})))})({data});
  std::printf("the point of most influence is %d\n", static_cast<int>(most[0].as_int(0)));
  expect(most[0].as_int(0) == most[1].as_int(0), "it is the one that is farthest along the component");
  return 0;
}

// To try: scale one column of the data by 100 before the decomposition: what do the components say then? Replace svd by
// eigh in a program for a million points: which of them reads the points once?
