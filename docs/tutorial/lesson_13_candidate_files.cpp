// Lesson 13: a matrix product of our own as a shared object, my_product.cpp in this folder. Its interface is plain C,
// it needs nothing of thtrain but one header, and `thtrain train` takes it too: compiler.candidate_files =
// ["my_product.so"]. `./thtrain lesson 13` builds both and runs them.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "compiler/api.h"
#include "compiler/base/error.h"

using namespace thtrain;

static Function product(const FunctionOptions& options) {
  Expr x = tensor("x", {20, 30}, DType::kFloat32), w = tensor("w", {30, 40}, DType::kFloat32);
  return function({x, w}, {dot(x, w)}, {}, options);
}

int main(int argc, char** argv) {
  if (argc != 2) {
    std::printf("usage: lesson_13_candidate_files my_product.so\n");
    return 2;
  }
  // The file is loaded in a process of its own first (thtrain-trial, next to this program or named by THTRAIN_TRIAL).
  load_candidates(argv[1]);

  // Before a function takes it, that process compares its results with those of the others, in many calls, and times
  // it. One that crashes or does not return is refused. What the process finds is remembered.
  Function ours = product({.candidates = {{"matrix_product", "mine"}}});
  Function theirs = product({.tune = Tune::kNever});
  RandomState rng(1);
  const Tensor x = Tensor::of(rng.normal(0, 1, 20 * 30), {20, 30}).cast(DType::kFloat32);
  const Tensor w = Tensor::of(rng.normal(0, 1, 30 * 40), {30, 40}).cast(DType::kFloat32);
  const Tensor a = ours({x, w})[0], b = theirs({x, w})[0];
  float difference = 0;
  for (int64_t i = 0; i < a.size(); ++i)
    difference = std::max(difference, std::abs(a.data<float>()[i] - b.data<float>()[i]));
  const kernel::Choice& choice = ours.info().choices.at(0);
  std::printf("%s by %s [%s]: the largest difference is %s 1e-4\n", choice.key.text().c_str(), choice.candidate.c_str(),
              choice.version.c_str(), difference < 1e-4f ? "below" : "above");

  // A file that is none is an error with its name.
  std::string message;
  try {
    load_candidates("no_such_file.so");
  } catch (const UserError& error) {
    message = error.what();
  }
  std::printf("%s\n", message.c_str());
  return choice.candidate == "mine" && difference < 1e-4f && !message.empty() ? 0 : 1;
}
