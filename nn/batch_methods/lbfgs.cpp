#include "nn/batch_methods/lbfgs.h"

#include <algorithm>
#include <cmath>

namespace thtrain {

void Lbfgs::describe(Fields<BatchMethodKind<Lbfgs>>& f) {
  f.about("Limited-memory BFGS with a line search, on all data at once.");
  describe_tolerances(f);
  f.field("memory", &BatchMethodKind<Lbfgs>::memory)
      .range(between(1, 1000))
      .unit("iterations")
      .synonyms({"maxcor", "history_size", "m"})
      .help("Iterations whose steps and changes of the gradient are remembered.");
}

Lbfgs::Lbfgs(const Options& options, std::span<const double> start)
    : BatchMethod((check_options<BatchMethodKind<Lbfgs>>(kName, options), kName), start,
                  {.gradient = options.gradient_tolerance, .value = options.value_tolerance}, 0.9),
      memory_(options.memory),
      steps_(add_state("steps", {memory_, static_cast<int64_t>(start.size())})),
      changes_(add_state("changes", {memory_, static_cast<int64_t>(start.size())})),
      learned_(add_state("learned", {1})) {}

std::span<double> Lbfgs::step_of(int64_t index) const {
  size_t n = x().size();
  return vector_of(steps_).subspan(static_cast<size_t>(index % memory_) * n, n);
}
std::span<double> Lbfgs::change_of(int64_t index) const {
  size_t n = x().size();
  return vector_of(changes_).subspan(static_cast<size_t>(index % memory_) * n, n);
}

static void add_multiple(std::span<double> to, double factor, std::span<const double> of) {
  for (size_t i = 0; i < to.size(); ++i) to[i] += factor * of[i];
}

void Lbfgs::choose_direction(bool restart, std::span<double> direction) {
  if (restart) learned() = 0;
  std::transform(gradient().begin(), gradient().end(), direction.begin(), [](double g) { return -g; });
  const auto end = static_cast<int64_t>(learned());
  const int64_t begin = std::max<int64_t>(end - memory_, 0);
  if (end == 0) return;
  std::vector<double> alphas(static_cast<size_t>(end - begin));
  auto curvature_of = [&](int64_t k) { return inner_product(step_of(k), change_of(k)); };
  for (int64_t k = end; k-- > begin;) {
    double alpha = inner_product(step_of(k), direction) / curvature_of(k);
    alphas[static_cast<size_t>(k - begin)] = alpha;
    add_multiple(direction, -alpha, change_of(k));
  }
  double gamma = curvature_of(end - 1) / inner_product(change_of(end - 1), change_of(end - 1));
  for (double& d : direction) d *= gamma;
  for (int64_t k = begin; k < end; ++k) {
    double beta = inner_product(change_of(k), direction) / curvature_of(k);
    add_multiple(direction, alphas[static_cast<size_t>(k - begin)] - beta, step_of(k));
  }
}

double Lbfgs::first_step(double, std::span<const double> direction) const {
  return learned() > 0 ? 1 : 1 / std::sqrt(inner_product(direction, direction));
}

void Lbfgs::learn(std::span<const double> step, std::span<const double> change) {
  if (!(inner_product(step, change) > 2e-16 * inner_product(change, change))) return;
  const auto index = static_cast<int64_t>(learned());
  std::copy(step.begin(), step.end(), step_of(index).begin());
  std::copy(change.begin(), change.end(), change_of(index).begin());
  learned() = static_cast<double>(index + 1);
}

Kind<OptimizerOptions> lbfgs_optimizer() {
  return kind<BatchMethodKind<Lbfgs>, OptimizerOptions>();
}

}  // namespace thtrain
