// The max-norm constraint: weights that come into a unit are kept inside of a ball.
#pragma once

#include <vector>

#include "compiler/ir/graph.h"
#include "nn/param.h"

namespace thtrain {

/// The columns w_j of a matrix [in, units], each times min(1, bound / ||w_j||_2). A column of zeros stays. `bound` is a
/// scalar of the matrix's dtype, above 0. UserError where `w` is no matrix.
///
/// N. Srebro, J. Rennie, T. Jaakkola, "Maximum-margin matrix factorization", NIPS 2004; as N. Srivastava, G. Hinton, A.
/// Krizhevsky, I. Sutskever, R. Salakhutdinov, "Dropout", JMLR 15, 2014, section 5.1, has it. PyTorch's renorm divides
/// by the norm + 1e-7.
Expr limit_columns(const Expr& w, const Expr& bound);

/// The updates with limit_columns() of the new value of every penalized matrix among `params`; others stay.
std::vector<Update> limit_norms(std::vector<Update> updates, const std::vector<Param>& params, const Expr& bound);

}  // namespace thtrain
