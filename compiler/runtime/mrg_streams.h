// Random variables for graphs, of MRG31k3p: many streams side by side, for vectors and for GPUs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler/base/mrg31k3p.h"
#include "compiler/ops/random/random.h"
#include "compiler/runtime/shared.h"

namespace thtrain {

// ---- random numbers ------------------------------------------------------------------------------------------------

/// A maker of random variables, as Theano's MRG_RandomStreams, with its numbers. Each variable has a state of its own,
/// a shared variable int32 [6, streams] (the words x[n-1], x[n-2], x[n-3], y[n-1], y[n-2], y[n-3]): its first stream is
/// where the maker is, each next one 2^72 numbers further; the maker then jumps on by 2^134. Number i of a variable
/// comes from stream i mod streams, on every device. Without `streams` these are a sixth of the elements, at least 1
/// and at most 15360, which is also what a size has that is not known. Updates: as RandomStreams.
class MrgRandomStreams {
 public:
  /// All six words are `seed`; UserError unless 0 < seed < 2147462579.
  explicit MrgRandomStreams(int64_t seed = 12345, std::string name = "mrg",
                            std::source_location where = std::source_location::current());
  /// UserError unless these are a state (Mrg31k3p).
  explicit MrgRandomStreams(const Mrg31k3p::State& seed, std::string name = "mrg",
                            std::source_location where = std::source_location::current());

  /// low + (high - low) u, for u in (0, 1) with 31 bits. Differentiable in low and high. No dtype: floatX, or float64
  /// where low or high is.
  Expr uniform(const LengthList& size, const Operand& low = 0.0, const Operand& high = 1.0,
               std::optional<DType> dtype = {}, std::optional<int64_t> streams = {},
               std::source_location where = std::source_location::current()) const;
  /// By the method of Box and Muller: with u of twice half the number of elements, rounded up, and v of the second
  /// half, first all sqrt(-2 log u) cos(2 pi v), then all with the sine. Differentiable in mean and deviation.
  Expr normal(const LengthList& size, const Operand& mean = 0.0, const Operand& deviation = 1.0,
              std::optional<DType> dtype = {}, std::optional<int64_t> streams = {},
              std::source_location where = std::source_location::current()) const;
  /// Normal numbers within two deviations of the mean. `deviation` is that of the result: the normal numbers have
  /// deviation / 0.87962566103423978. Those outside are drawn anew, with radii of u between exp(-2) and 1, and come
  /// after the others of their half.
  Expr truncated_normal(const LengthList& size, const Operand& mean = 0.0, const Operand& deviation = 1.0,
                        std::optional<DType> dtype = {}, std::optional<int64_t> streams = {},
                        std::source_location where = std::source_location::current()) const;
  /// How many of n trials succeed, each with probability p: int64, or what is asked for. Each trial takes a number.
  Expr binomial(const LengthList& size, int64_t n = 1, const Operand& p = 0.5, std::optional<DType> dtype = {},
                std::optional<int64_t> streams = {},
                std::source_location where = std::source_location::current()) const;
  /// For each row of p [rows, k]: how often each result comes in n trials; int64 [rows, k], or what is asked for.
  Expr multinomial(const Operand& p, int64_t n = 1, std::optional<DType> dtype = {},
                   std::optional<int64_t> streams = {}) const;
  /// For each row of p [rows, k]: n different results; int64 [rows, n], or what is asked for. Theano's
  /// multinomial_wo_replacement.
  Expr choice(const Operand& p, int64_t n, std::optional<DType> dtype = {}, std::optional<int64_t> streams = {}) const;

  /// The maker and the states of all variables so far, as those of that seed would be.
  void seed(int64_t seed, std::source_location where = std::source_location::current()) const;
  void seed(const Mrg31k3p::State& seed, std::source_location where = std::source_location::current()) const;
  /// The states of the variables, in the order in which these were made: what a checkpoint keeps.
  std::vector<Shared> states() const;

 private:
  struct Made;
  Expr standard(const LengthList& size, DType dtype, std::optional<int64_t> streams,
                const std::source_location& where) const;
  Expr any_normal(const LengthList& size, const Operand& mean, const Operand& deviation, bool truncate,
                  std::optional<DType> dtype, std::optional<int64_t> streams, const std::source_location& where) const;

  std::shared_ptr<Made> made_;
};

}  // namespace thtrain
