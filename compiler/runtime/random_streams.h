// Random variables for graphs, with the numbers of NumPy's RandomState.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "compiler/ops/random/random.h"
#include "compiler/runtime/shared.h"

namespace thtrain {

// ---- random numbers ------------------------------------------------------------------------------------------------

/// The state of np.random.RandomState(seed), as draw() takes it: uint32, a shared variable. Functions update it only
/// where they are told to.
Shared mt_state(int64_t seed, std::string name = {}, std::source_location where = std::source_location::current());

/// A maker of random variables, as Theano's RandomStreams. Each call of a distribution makes a variable with a state of
/// its own, a shared variable: np.random.RandomState(k), where k is the next np.random.RandomState(seed).randint(2**30)
/// of the stream. So the variable has the numbers that NumPy gives for k, bit for bit. Every call of a function that
/// computes the variable moves its state on, unless FunctionOptions::no_default_updates says otherwise; within one call
/// it is one value, whoever reads it. A handle: copies make variables of the same stream.
///
/// `size` is a list of lengths; {} is the shape of the parameters together, which are repeated to `size`. A call checks
/// their values; UserError then, before the state is changed. dtypes: as draw().
class RandomStreams {
 public:
  /// UserError unless 0 <= seed < 2^32.
  explicit RandomStreams(int64_t seed, std::string name = "random",
                         std::source_location where = std::source_location::current());
  /// RandomState(list of words).
  explicit RandomStreams(const std::vector<int64_t>& seeds, std::string name = "random",
                         std::source_location where = std::source_location::current());

  /// low + (high - low) u, for u in [0, 1) of 53 bits.
  Expr uniform(const LengthList& size = {}, const Operand& low = 0.0, const Operand& high = 1.0,
               std::optional<DType> dtype = {}, std::source_location where = std::source_location::current()) const;
  /// Uniform in [0, 1).
  Expr random_sample(const LengthList& size = {}, std::optional<DType> dtype = {},
                     std::source_location where = std::source_location::current()) const;
  /// Of this mean and standard deviation, by the polar method.
  Expr normal(const LengthList& size = {}, const Operand& mean = 0.0, const Operand& deviation = 1.0,
              std::optional<DType> dtype = {}, std::source_location where = std::source_location::current()) const;
  /// Of mean 0 and standard deviation 1.
  Expr standard_normal(const LengthList& size = {}, std::optional<DType> dtype = {},
                       std::source_location where = std::source_location::current()) const;
  /// exp(mean + sigma z) for a standard normal z.
  Expr lognormal(const LengthList& size = {}, const Operand& mean = 0.0, const Operand& sigma = 1.0,
                 std::optional<DType> dtype = {}, std::source_location where = std::source_location::current()) const;
  /// Of mean `scale`.
  Expr exponential(const LengthList& size = {}, const Operand& scale = 1.0, std::optional<DType> dtype = {},
                   std::source_location where = std::source_location::current()) const;
  /// Of the density exp(-|x - location| / scale) / (2 scale).
  Expr laplace(const LengthList& size = {}, const Operand& location = 0.0, const Operand& scale = 1.0,
               std::optional<DType> dtype = {}, std::source_location where = std::source_location::current()) const;
  /// location + scale log(u / (1 - u)).
  Expr logistic(const LengthList& size = {}, const Operand& location = 0.0, const Operand& scale = 1.0,
                std::optional<DType> dtype = {}, std::source_location where = std::source_location::current()) const;
  /// Of the density x^(shape - 1) exp(-x / scale), up to a factor.
  Expr gamma(const LengthList& size, const Operand& shape, const Operand& scale = 1.0, std::optional<DType> dtype = {},
             std::source_location where = std::source_location::current()) const;
  /// Of the density x^(a - 1) (1 - x)^(b - 1), up to a factor.
  Expr beta(const LengthList& size, const Operand& a, const Operand& b, std::optional<DType> dtype = {},
            std::source_location where = std::source_location::current()) const;
  /// Of so many degrees of freedom.
  Expr chisquare(const LengthList& size, const Operand& freedom, std::optional<DType> dtype = {},
                 std::source_location where = std::source_location::current()) const;
  /// Of mean `rate`: int64, or what is asked for.
  Expr poisson(const LengthList& size = {}, const Operand& rate = 1.0, std::optional<DType> dtype = {},
               std::source_location where = std::source_location::current()) const;
  /// How many of n trials succeed, each with probability p: int64, or what is asked for.
  Expr binomial(const LengthList& size = {}, const Operand& n = 1, const Operand& p = 0.5,
                std::optional<DType> dtype = {}, std::source_location where = std::source_location::current()) const;
  /// Trials until the first success: int64, or what is asked for.
  Expr geometric(const LengthList& size, const Operand& p, std::optional<DType> dtype = {},
                 std::source_location where = std::source_location::current()) const;
  /// low <= k < high: int64, or what is asked for.
  Expr randint(const LengthList& size, const Operand& low, const Operand& high, std::optional<DType> dtype = {},
               std::source_location where = std::source_location::current()) const;
  /// low <= k <= high: int64, or what is asked for.
  Expr random_integers(const LengthList& size, const Operand& low, const Operand& high, std::optional<DType> dtype = {},
                       std::source_location where = std::source_location::current()) const;

  /// Elements of the vector `a`, or numbers below it where it is an integer; with the probabilities p, or equal ones.
  Expr choice(const LengthList& size, const Operand& a, bool replace = true, const std::optional<Operand>& p = {},
              std::source_location where = std::source_location::current()) const;
  /// Permutations of 0 to n - 1: int64 [size, n].
  Expr permutation(const Length& n, const LengthList& size = {},
                   std::source_location where = std::source_location::current()) const;
  /// x with its rows (axis 0) in another order: RandomState.permutation(x), and what shuffle(x) makes of x.
  Expr shuffle(const Operand& x) const;
  /// x with the elements of each row (the last axis) in an order of its own.
  Expr shuffle_row_elements(const Operand& x) const;
  /// How often each result comes in n trials: int64 [size, k], for p of [k] or [size, k].
  Expr multinomial(const LengthList& size, const Operand& n, const Operand& p,
                   std::source_location where = std::source_location::current()) const;

  /// Vectors of a mean [n] and a covariance [n, n]: [size, n], to 1e-12 NumPy's. Differentiable in the mean.
  Expr multivariate_normal(const LengthList& size, const Operand& mean, const Operand& covariance,
                           std::optional<DType> dtype = {},
                           std::source_location where = std::source_location::current()) const;

  /// The states of all variables so far anew, as a stream of that seed would have made them.
  void seed(int64_t seed, std::source_location where = std::source_location::current()) const;
  /// The states of the variables, in the order in which these were made: what a checkpoint keeps. get_value() and
  /// set_value() read and write them.
  std::vector<Shared> states() const;

 private:
  struct Made;
  Expr made(const std::function<Drawn(const Expr& state)>& draw, const std::source_location& where) const;
  Expr one(const char* distribution, const LengthList& size, const std::vector<Operand>& parameters,
           std::optional<DType> dtype, const std::source_location& where) const;

  std::shared_ptr<Made> made_;
};

}  // namespace thtrain
