// How well scores tell examples of a class from others, and how far probabilities can be believed.
#pragma once

#include <cstdint>
#include <vector>

#include "trainers/show/mistakes.h"

namespace thtrain {

/// The curves that a threshold on the scores goes through, from above all of them to below: an example is taken for the
/// class where its score is at least the threshold. Equal scores are passed together, as in scikit-learn's roc_curve
/// and precision_recall_curve.
struct RankingCurves {
  struct Point {
    double false_rate = 0;  // of the examples of other classes, how many are taken for the class
    double recall = 0;      // of the examples of the class, how many are
    double precision = 1;   // of those that are taken, how many are of the class; 1 where none is
  };
  int64_t positives = 0, negatives = 0;
  std::vector<Point> points = {};  // the first one is of no example
  double area = 0;                 // under recall over false_rate, by trapezoids: that of the metric auc
  double average_precision = 0;    // the sum of (recall_k - recall_(k-1)) precision_k
};
/// NaN where all or none of the examples are positive: their curves say nothing then.
RankingCurves ranking_curves(const std::vector<double>& scores, const std::vector<bool>& is_positive);
/// Of a class against the others.
RankingCurves ranking_curves(const Judgements& of, int64_t of_class);

/// The probabilities of the classes that examples are taken for, in `bins` intervals of equal width from 0 to 1. C.
/// Guo, G. Pleiss, Y. Sun, K. Q. Weinberger, "On calibration of modern neural networks", ICML 2017, equations 1 to 3.
struct Reliability {
  struct Bin {
    int64_t count = 0, right = 0;
    double confidence = 0;  // the mean of the probabilities; 0 of none
    double accuracy() const { return count > 0 ? static_cast<double>(right) / static_cast<double>(count) : 0; }
  };
  std::vector<Bin> bins;
  double error = 0;  // expected calibration error: the mean of |accuracy - confidence| over the examples
};
/// `of` has probabilities.
Reliability reliability(const Judgements& of, int64_t bins = 10);

}  // namespace thtrain
