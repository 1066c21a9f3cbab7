// What training makes small, and what it counts.
#pragma once

#include <vector>

#include "nn/param.h"

namespace thtrain {

/// mean over i of -log softmax(logits)[i, labels[i]]: a scalar of the logits' dtype.
/// logits: [batch, classes], labels: [batch], integers. d logits = (softmax(logits) - onehot(labels)) / batch.
/// Finite for any finite logits, since log softmax is taken as a whole.
Expr negative_log_likelihood(const Expr& logits, const Expr& labels);

/// How many rows of p [batch, classes] have their largest element (the first of several) not at labels[i]: int64.
Expr error_count(const Expr& p, const Expr& labels);

/// Sum of |W| over the elements of the penalized parameters; d W = sign(W). Empty where there are none.
Expr l1_penalty(const std::vector<Param>& params);
/// Sum of W^2; d W = 2 W. Empty where there are none.
Expr l2_penalty(const std::vector<Param>& params);

}  // namespace thtrain
