// Connectionist temporal classification: labels in their order, without saying at which steps.
#pragma once

#include <optional>

#include "compiler/ops/operand.h"

namespace thtrain {

// ---- neural networks -----------------------------------------------------------------------------------------------

/// What ctc may be told.
struct CtcOptions {
  std::optional<Operand> steps = {};  // of each sequence: integers [batch]; none: all of z
  int64_t blank = 0;                  // the class that means "no label"
};

/// For each sequence -log of the sum, over all paths that spell its labels, of the products of their probabilities:
/// PyTorch's ctc_loss of log_softmax(z) with reduction = "none". z: logits [steps, batch, classes]; labels: integers
/// [batch, L], classes other than the blank; -1 or blanks follow the last one. The result is [batch]. A path is a class
/// for each step; it spells the labels that are left of it when classes that are repeated are drawn together and blanks
/// are taken out. The sum is taken by the forward variables alpha_t(s), in logarithms: A. Graves, S. Fernandez, F.
/// Gomez, J. Schmidhuber, "Connectionist temporal classification: labelling unsegmented sequence data with recurrent
/// neural networks", ICML 2006, eq. 5 to 8; its gradient is theirs, eq. 15. When it is read, an error: a label that is
/// no class, or that follows a -1 or a blank; a sequence with fewer steps than its labels need (one for each, and one
/// between equal ones).
Expr ctc(const Operand& z, const Operand& labels, const CtcOptions& options = {});

// ---- for other parts of the compiler --------------------------------------------------------------------------------

/// The same of logarithms of probabilities, a row of classes for each step and sequence [steps * batch, classes]; the
/// mask, perhaps empty, has as many elements as there are rows, and is above 0 at the steps of a sequence.
Expr ctc_of_rows(const Expr& rows, const Expr& labels, const Dim& steps, const Expr& mask, int64_t blank);

}  // namespace thtrain
