#include "trainers/show/mistakes.h"

#include "trainers/predict.h"

#include <algorithm>
#include <numeric>

namespace thtrain {

bool can_judge(const TrainedModel& model) {
  const TrainedOutput& output = model.output();
  return !model.data().train.has_step_targets() && output.classifies(model.data());
}

Judgements judge(const TrainedModel& model, Part part, int64_t count) {
  TH_CHECK(can_judge(model), "judgements of a model that tells no classes apart");
  const Prediction found = model.predict(part, count);
  TH_CHECK(found.has_classes && found.classes.rank() == 1, "classes ", found.classes.type_text());
  Judgements out{.classes = model.labels(part, 0, count), .are_probabilities = model.gives_probabilities()};
  for (int64_t i = 0; i < count; ++i) out.taken.push_back(found.classes.as_int(i));
  const int64_t width = found.probabilities.size() / count;
  if (width > 1) {
    out.scores = found.probabilities.cast(DType::kFloat64).copy().reshape({count, width});
    return out;
  }
  out.scores = Tensor::empty(DType::kFloat64, {count, 2});
  for (int64_t i = 0; i < count; ++i) {
    const double second = found.probabilities.as_double(i);
    out.scores.data<double>()[2 * i] = out.are_probabilities ? 1 - second : -second;
    out.scores.data<double>()[2 * i + 1] = second;
  }
  return out;
}

std::vector<int64_t> worst_mistakes(const Judgements& of, int64_t count) {
  std::vector<int64_t> out;
  for (int64_t i = 0; i < of.size(); ++i)
    if (of.classes[static_cast<size_t>(i)] != of.taken[static_cast<size_t>(i)]) out.push_back(i);
  auto badness = [&](int64_t i) {
    const double right = of.score(i, of.classes[static_cast<size_t>(i)]);
    return of.are_probabilities ? -right : of.score(i, of.taken[static_cast<size_t>(i)]) - right;
  };
  std::stable_sort(out.begin(), out.end(), [&](int64_t a, int64_t b) { return badness(a) > badness(b); });
  if (std::ssize(out) > count) out.resize(static_cast<size_t>(count));
  return out;
}

std::vector<std::vector<int64_t>> first_of_classes(const std::vector<int64_t>& labels, int64_t classes, int64_t count) {
  std::vector<std::vector<int64_t>> out(static_cast<size_t>(classes));
  for (size_t i = 0; i < labels.size(); ++i)
    if (auto& of_class = out.at(static_cast<size_t>(labels[i])); std::ssize(of_class) < count)
      of_class.push_back(static_cast<int64_t>(i));
  return out;
}

}  // namespace thtrain
