// What a classifier makes of examples: the class that each has, the one it is taken for, and the worst mistakes.
#pragma once

#include <cstdint>
#include <vector>

#include "trainers/show/trained_model.h"

namespace thtrain {

struct Judgements {
  std::vector<int64_t> classes = {};  // of each example, as the data says
  std::vector<int64_t> taken = {};    // for which the model takes it
  Tensor scores = {};                 // float64 [n, classes]: probabilities, or else values of which the largest wins
  bool are_probabilities = true;

  int64_t size() const { return std::ssize(classes); }
  double score(int64_t example, int64_t of_class) const {
    return scores.data<double>()[example * scores.dim(1) + of_class];
  }
};

/// Does the model tell classes apart, one for each example, of which the data has the number?
bool can_judge(const TrainedModel& model);
/// Of the first `count` examples of a part, at least one. Of a single score, the scores are those of classes 0 and 1:
/// 1 - p and p, or -s and s where they are no probabilities. InternalError unless can_judge().
Judgements judge(const TrainedModel& model, Part part, int64_t count);

/// At most `count` examples that are taken for another class, the largest loss first: the least probability of the
/// right class; where scores are no probabilities, the largest difference between the score that won and the right
/// one. Of equal ones the first example comes first.
std::vector<int64_t> worst_mistakes(const Judgements& of, int64_t count);

/// The first `count` examples of each of `classes` classes.
std::vector<std::vector<int64_t>> first_of_classes(const std::vector<int64_t>& labels, int64_t classes, int64_t count);

}  // namespace thtrain
