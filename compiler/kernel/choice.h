// A computation that has several implementations: what is asked, and what was answered. docs/decisions/0014.
#pragma once

#include <compare>
#include <string>

namespace thtrain::kernel {

/// One computation of known lengths, by its kind and its canonical properties: two nodes with equal keys are computed
/// by the same candidate.
struct ChoiceKey {
  std::string computation;  // "matrix_product"; no spaces
  std::string properties;   // "float32 60x784x500 NN": the op's own text, on one line and without " = "

  /// "matrix_product float32 60x784x500 NN"
  std::string text() const { return computation + " " + properties; }

  friend auto operator<=>(const ChoiceKey&, const ChoiceKey&) = default;
};

/// What was chosen.
struct Choice {
  ChoiceKey key;
  std::string candidate;  // its name: "tile 6x4x392", "library"
  std::string version;    // of the candidate and of the libraries that it calls

  friend bool operator==(const Choice&, const Choice&) = default;
};

/// What a lowering asks. The runtime's tuner answers (compiler/tuning/tuner.h).
class Chooser {
 public:
  virtual ~Chooser() = default;
  /// The name of a candidate that applies on the chooser's target.
  virtual std::string choose(const ChoiceKey& key) const = 0;
};

}  // namespace thtrain::kernel
