// The distributions that draw one number for each element, by NumPy's legacy methods: one table, from which come ops,
// references, native functions and checks.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "compiler/base/random_state.h"
#include "compiler/ir/dtype.h"

namespace thtrain {

/// A parameter or a drawn number: which of the two, the distribution says.
union DrawnNumber {
  double real;
  int64_t whole;
};

/// How a number depends on the parameters, where its derivative follows from the same draw with standard parameters.
enum class Reparametrization : uint8_t {
  kNone,           // not differentiable
  kBetween,        // low + (high - low) u
  kScale,          // scale z
  kLocationScale,  // location + scale z
  kExpOfNormal,    // exp(mean + sigma z) with a normal z
};

struct Distribution {
  std::string_view name;     // NumPy's
  std::string_view formula;  // for the op's documentation
  std::string_view source;   // of the method, after the generator's
  struct Parameter {
    std::string_view name;
    bool is_whole;  // int64, else float64
  };
  std::array<Parameter, 2> parameters;
  size_t count;            // of parameters
  bool gives_whole;        // int64, else float32 or float64, rounded from float64
  std::string_view range;  // of the parameters: "scale >= 0"
  bool (*fits)(const DrawnNumber*);
  DrawnNumber (*draw)(RandomState&, const DrawnNumber*);
  Reparametrization derivative;
};

inline constexpr size_t kDistributions = 14;
const std::array<Distribution, kDistributions>& distributions();
/// nullptr where none has that name.
const Distribution* find_distribution(std::string_view name);

/// Where the parameters of a draw are: one number for all elements where the step is 0.
struct DrawParameters {
  struct Location {
    const void* first;
    int64_t step;
  };
  std::array<Location, 2> locations;

  /// Those of an element.
  std::array<DrawnNumber, 2> at(const Distribution& of, int64_t element) const;
  /// The first of n elements whose parameters the distribution does not take; none: all fit.
  std::optional<int64_t> first_unfit(const Distribution& of, int64_t n) const;
};

/// What the message of such an element says; `element` counts from 1, or stands for it.
std::string unfit_what(const Distribution& of);
std::string unfit_expected(const Distribution& of, const std::string& element);

}  // namespace thtrain
