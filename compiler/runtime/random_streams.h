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
  explicit RandomStreams(int64_t seed, std::string name = "random");
  /// RandomState(list of words).
  explicit RandomStreams(const std::vector<int64_t>& seeds, std::string name = "random");

  using Where = std::source_location;
  using MayBe = std::optional<DType>;

  /// low + (high - low) u.
  Expr uniform(const LengthList& size = {}, const Operand& low = 0.0, const Operand& high = 1.0, MayBe dtype = {},
               Where where = Where::current()) const;
  /// Uniform in [0, 1).
  Expr random_sample(const LengthList& size = {}, MayBe dtype = {}, Where where = Where::current()) const;
  Expr normal(const LengthList& size = {}, const Operand& mean = 0.0, const Operand& deviation = 1.0, MayBe dtype = {},
              Where where = Where::current()) const;
  Expr standard_normal(const LengthList& size = {}, MayBe dtype = {}, Where where = Where::current()) const;
  Expr lognormal(const LengthList& size = {}, const Operand& mean = 0.0, const Operand& sigma = 1.0, MayBe dtype = {},
                 Where where = Where::current()) const;
  Expr exponential(const LengthList& size = {}, const Operand& scale = 1.0, MayBe dtype = {},
                   Where where = Where::current()) const;
  Expr laplace(const LengthList& size = {}, const Operand& location = 0.0, const Operand& scale = 1.0, MayBe dtype = {},
               Where where = Where::current()) const;
  Expr logistic(const LengthList& size = {}, const Operand& location = 0.0, const Operand& scale = 1.0,
                MayBe dtype = {}, Where where = Where::current()) const;
  Expr gamma(const LengthList& size, const Operand& shape, const Operand& scale = 1.0, MayBe dtype = {},
             Where where = Where::current()) const;
  Expr beta(const LengthList& size, const Operand& a, const Operand& b, MayBe dtype = {},
            Where where = Where::current()) const;
  Expr chisquare(const LengthList& size, const Operand& freedom, MayBe dtype = {},
                 Where where = Where::current()) const;
  /// These give int64, or what is asked for.
  Expr poisson(const LengthList& size = {}, const Operand& rate = 1.0, MayBe dtype = {},
               Where where = Where::current()) const;
  Expr binomial(const LengthList& size = {}, const Operand& n = 1, const Operand& p = 0.5, MayBe dtype = {},
                Where where = Where::current()) const;
  Expr geometric(const LengthList& size, const Operand& p, MayBe dtype = {}, Where where = Where::current()) const;
  /// low <= k < high.
  Expr randint(const LengthList& size, const Operand& low, const Operand& high, MayBe dtype = {},
               Where where = Where::current()) const;
  /// low <= k <= high.
  Expr random_integers(const LengthList& size, const Operand& low, const Operand& high, MayBe dtype = {},
                       Where where = Where::current()) const;

  /// Elements of the vector `a`, or numbers below it where it is an integer; with the probabilities p, or equal ones.
  Expr choice(const LengthList& size, const Operand& a, bool replace = true, const std::optional<Operand>& p = {},
              Where where = Where::current()) const;
  /// Permutations of 0 to n - 1: int64 [size, n].
  Expr permutation(const Length& n, const LengthList& size = {}, Where where = Where::current()) const;
  /// x with its rows (axis 0) in another order: RandomState.permutation(x), and what shuffle(x) makes of x.
  Expr shuffle(const Operand& x) const;
  /// x with the elements of each row (the last axis) in an order of its own.
  Expr shuffle_row_elements(const Operand& x) const;
  /// How often each result comes in n trials: int64 [size, k], for p of [k] or [size, k].
  Expr multinomial(const LengthList& size, const Operand& n, const Operand& p, Where where = Where::current()) const;

  /// The states of all variables so far anew, as a stream of that seed would have made them.
  void seed(int64_t seed) const;
  /// The states of the variables, in the order in which these were made: what a checkpoint keeps. get_value() and
  /// set_value() read and write them.
  const std::vector<Shared>& states() const;

 private:
  struct Made;
  Expr made(const std::function<Drawn(const Expr& state)>& draw, const Where& where) const;
  Expr one(const char* distribution, const LengthList& size, const std::vector<Operand>& parameters, MayBe dtype,
           const Where& where) const;

  std::shared_ptr<Made> made_;
};

}  // namespace thtrain
