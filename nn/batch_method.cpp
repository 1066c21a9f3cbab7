#include "nn/batch_method.h"

#include <algorithm>
#include <cmath>

#include "nn/batch_methods/line_search.h"

namespace thtrain {

const char* text_of(BatchStatus status) {
  switch (status) {
    case BatchStatus::kRunning:
      return "";
    case BatchStatus::kGradient:
      return "the largest element of the gradient is at most gradient_tolerance";
    case BatchStatus::kValue:
      return "the last iteration changed the loss by at most value_tolerance";
    case BatchStatus::kLineSearch:
      return "no step along the gradient makes the loss smaller";
  }
  return "";
}

std::unique_ptr<Optimizer> BatchMethodOptions::make(std::vector<Param>) const {
  TH_CHECK(false, "a batch method is no Optimizer");
  return nullptr;
}

double inner_product(std::span<const double> a, std::span<const double> b) {
  double out = 0;
  for (size_t i = 0; i < a.size(); ++i) out += a[i] * b[i];
  return out;
}

double largest_magnitude(std::span<const double> a) {
  double out = 0;
  for (double x : a)
    if (!(std::abs(x) <= out)) out = std::abs(x);
  return out;
}

static Shared vector_state(std::span<const double> start, const char* name) {
  return Shared(Tensor::of(start, {static_cast<int64_t>(start.size())}), name, true);
}
static Shared zeros_state(size_t length, const char* name) {
  return Shared(Tensor::zeros(DType::kFloat64, {static_cast<int64_t>(length)}), name, true);
}

static void check_tolerance(double value, const char* name) {
  if (std::isfinite(value) && value >= 0) return;
  throw UserError(Message{.what = str("tolerance of the ", name, " is out of range"),
                          .expected = "a finite number, at least 0",
                          .got = str(value)});
}

BatchMethod::BatchMethod(std::string_view name, std::span<const double> start, const BatchTolerances& tolerances,
                         double curvature)
    : name_(name),
      tolerances_(tolerances),
      curvature_(curvature),
      x_(vector_state(start, "x")),
      gradient_(zeros_state(start.size(), "gradient")),
      counts_(zeros_state(kCountsLength, "counts")) {
  check_tolerance(tolerances.gradient, "gradient");
  check_tolerance(tolerances.value, "value");
  for (const Shared& shared : {x_, gradient_, counts_}) state_.emplace_back(shared.name(), shared);
}

Shared BatchMethod::add_state(const std::string& name, const Shape& shape) {
  state_.emplace_back(name, Shared(Tensor::zeros(DType::kFloat64, shape), name, true));
  return state_.back().second;
}

std::span<double> BatchMethod::vector_of(const Shared& shared) {
  Tensor value = shared.get_value(true);
  return {value.data<double>(), static_cast<size_t>(value.size())};
}

double BatchMethod::largest_gradient() const {
  return largest_magnitude(gradient());
}

void BatchMethod::start(const ValueAndGradient& f) {
  counts()[kValue] = f(x(), vector_of(gradient_));
  counts()[kEvaluations] = 1;
  if (!std::isfinite(value()) || !std::isfinite(largest_gradient()))
    throw UserError(Message{.what = "the function or its gradient is not finite where the minimization starts",
                            .expected = "finite numbers",
                            .got = str("value ", value(), ", largest element of the gradient ", largest_gradient())});
  // As if the step before had been one of length 1 along the gradient: SciPy's guess for the first step.
  counts()[kPreviousValue] = value() + std::sqrt(inner_product(gradient(), gradient())) / 2;
}

// Moves x along a direction, and says by how much; false where no better point was found.
bool BatchMethod::search(const ValueAndGradient& f, bool restart, std::vector<double>& step,
                         std::vector<double>& change) {
  const size_t n = x().size();
  std::vector<double> direction(n), point(n), gradient_at(n);
  choose_direction(restart, direction);
  double slope = inner_product(gradient(), direction);
  if (!(slope < 0)) return false;
  LinePoint begin{.a = 0, .value = value(), .slope = slope};
  double evaluated = 0;  // the step that `point` and `gradient_at` belong to
  auto at = [&](double a) {
    for (size_t i = 0; i < n; ++i) point[i] = x()[i] + a * direction[i];
    ++counts()[kEvaluations];
    evaluated = a;
    double value = f(point, gradient_at);
    return LinePoint{.a = a, .value = value, .slope = inner_product(gradient_at, direction)};
  };
  LineSearchOptions options{.curvature = curvature_, .rounding = rounding_};
  options.accepts = [&] { return largest_magnitude(gradient_at) <= tolerances_.gradient || accepts(gradient_at); };
  LineSearchResult found = search_line(at, begin, first_step(slope, direction), options);
  if (found.point.a == 0 || (!found.good && !(found.point.value < value()))) return false;
  if (evaluated != found.point.a) at(found.point.a);
  for (size_t i = 0; i < n; ++i) {
    step[i] = point[i] - x()[i];
    change[i] = gradient_at[i] - gradient()[i];
  }
  std::copy(point.begin(), point.end(), x().begin());
  std::copy(gradient_at.begin(), gradient_at.end(), vector_of(gradient_).begin());
  counts()[kPreviousValue] = value();
  counts()[kValue] = found.point.value;
  return true;
}

static double scale_of(double previous, double value) {
  return std::max({std::abs(previous), std::abs(value), 1.0});
}

double BatchMethod::relative_change() const {
  return (previous_value() - value()) / scale_of(previous_value(), value());
}

bool BatchMethod::reaches_value_tolerance() const {
  const double scale = scale_of(previous_value(), value());
  return tolerances_.value > 0 && previous_value() - value() <= tolerances_.value * scale;
}

BatchStatus BatchMethod::iterate(const ValueAndGradient& f) {
  if (status() != BatchStatus::kRunning) return status();
  auto end = [&](BatchStatus status) {
    counts()[kStatus] = static_cast<double>(status);
    return status;
  };
  if (evaluations() == 0) start(f);
  if (largest_gradient() <= tolerances_.gradient) return end(BatchStatus::kGradient);
  std::vector<double> step(x().size()), change(x().size());
  if (!search(f, false, step, change) && !search(f, true, step, change)) return end(BatchStatus::kLineSearch);
  ++counts()[kIterations];
  learn(step, change);
  if (largest_gradient() <= tolerances_.gradient) return end(BatchStatus::kGradient);
  if (reaches_value_tolerance()) return end(BatchStatus::kValue);
  return BatchStatus::kRunning;
}

void BatchMethod::take_tolerances() {
  if (status() != BatchStatus::kGradient && status() != BatchStatus::kValue) return;
  BatchStatus now = BatchStatus::kRunning;
  if (largest_gradient() <= tolerances_.gradient)
    now = BatchStatus::kGradient;
  else if (iterations() > 0 && reaches_value_tolerance())
    now = BatchStatus::kValue;
  counts()[kStatus] = static_cast<double>(now);
}

BatchStatus BatchMethod::run(const ValueAndGradient& f, int64_t max_iterations) {
  BatchStatus status = this->status();
  for (int64_t i = 0; i < max_iterations && status == BatchStatus::kRunning; ++i) status = iterate(f);
  return status;
}

}  // namespace thtrain
