// The values between models, objectives and metrics: what a model gives for some examples, and what it should give.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/node.h"

namespace thtrain {

class Layer;

/// What the last layer of a model gives for n examples; of sequences, n = steps * batch, and the row t * batch + i is
/// step t of example i.
struct ModelOutput {
  /// What `value` is of `logits`.
  enum class Link {
    kNone,     // any other function of the layer before: there are no logits
    kSigmoid,  // sigmoid(logits), element by element
    kSoftmax,  // softmax(logits) along the last axis
  };
  Expr value;        // [n, ...], float32 or float64
  Expr logits = {};  // of the same type; empty for kNone
  Link link = Link::kNone;
  bool is_sequence = false;
  Expr mask = {};  // of sequences: floats [n], 0 behind a sequence's end; empty where all have the same length
  Dim steps = 1, batch = 1;       // of sequences: n = steps * batch
  const Layer* layer = nullptr;   // that gives it; null where it is no layer's
  std::vector<Expr> inputs = {};  // what the layer takes
};

/// The logits where there are some, else the value: what a loss of logits reads, so that a model may end in a linear
/// layer.
const Expr& logits_of(const ModelOutput& output);

/// What the examples of a minibatch should give.
struct TargetInput {
  Expr value = {};          // classes or values: TargetForm; empty for kNone
  Expr weights = {};        // of the examples, floats [n], not negative; empty: each counts as 1
  Expr class_weights = {};  // floats, not negative: see Objective; empty: each counts as 1
};

/// How targets are written.
enum class TargetForm {
  kNone,     // there are none
  kClasses,  // integers [n], from 0: the class of each example
  kValues,   // numbers of the shape of the output [n, ...]; or floats [n] for an output [n, 1]
  /// Integers [batch, L] for sequences: labels from 0, in their order; -1 behind the last one (ctc: or blanks).
  /// Weights are those of the sequences, [batch].
  kLabelSequences,
};

/// The form of these targets for an output. UserError at `where`, in the name of `who` (`objective
/// "hinge"`): they have none of the accepted forms (lengths that only a call knows are checked by the call), or weights
/// are no floats [n].
TargetForm form_of(const std::string& who, const std::vector<TargetForm>& accepted, const ModelOutput& output,
                   const TargetInput& targets, const ConfigPosition& where);

/// Targets of the form kValues, cast to the dtype of the output and in its shape.
Expr values_for(const Expr& output, const Expr& targets);

/// "float64[n, 10]", for messages.
std::string type_text(const Expr& value);
/// The same of the values for an output; rows of all steps of sequences as the data has them,
/// "float64[batch, steps, 10]".
std::string type_text(const Expr& value, const ModelOutput& output);

/// Is this one number for each example, [n] or [n, 1]?
bool is_single(const Expr& scores);
/// Such numbers as [n].
Expr as_single(const Expr& scores);
/// Labels 0 and 1, [n], as numbers of that dtype; another label is an error when it is read.
Expr binary_labels(const Expr& labels, DType dtype);
/// How many classes scores [n, k] tell apart: k, and 2 for a single score; -1 where only a call knows.
int64_t classes_of(const Expr& scores);

/// What metrics and predictions read of an output.
struct Scores {
  Expr value;              // [n, ...]: probabilities, or values
  double threshold = 0.5;  // a score of a class of its own (single scores, several labels) means yes above it
};

/// The losses of n examples.
struct ExampleLosses {
  Expr values;        // floats [n]
  Expr weights = {};  // floats [n]; empty: each counts as 1
};

}  // namespace thtrain
