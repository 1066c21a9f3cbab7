// The lists and intervals on the command line of `thtrain sweep`, and the runs that they name: all of the product of
// the lists, or some that are drawn.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/sweep/draws.h"
#include "compiler/base/error.h"

namespace thtrain {

/// The most runs that a sweep may have.
inline constexpr int64_t kMaxSweepRuns = 10'000;

/// One of the values of a list.
struct SweptValue {
  std::string text;           // as an override has it behind the =
  size_t start = 0, end = 0;  // its bytes in the word; of an element of a range or an interval, those of it
};

/// "trainer.learning_rate=0.1,0.03": a key that has several values.
struct SweptKey {
  std::string key;   // "trainer.learning_rate"
  std::string name;  // its last parts, by which it differs from the other lists: "learning_rate"
  std::vector<SweptValue> values;
  size_t word = 0;                             // its position among the words
  std::optional<SweepInterval> interval = {};  // that the values are drawn from
};

/// A sweep's words "key=value" and "key=value,value,...", in the order in which they were typed.
class SweepPoints {
 public:
  /// Splits lists at commas that are in no quotes and no brackets; `a..b` and `a..b..step` are the integers from a to
  /// b, both included. A word without a comma or a range is an override of all runs. With `search.random`, so many
  /// points are drawn, each another one: one value of each list, and of each interval; a list of `seed` is not drawn
  /// from, but each point is run with all of its values. The first points do not depend on how many there are.
  /// UserError with every mistake of the lists: a word without a value, an empty element, a range that is empty or has
  /// a step of 0, a value twice, a key twice, no list, more than kMaxSweepRuns runs; an interval that is none, is in a
  /// list or has nothing to draw it; fewer different points than are asked for. Keys and values are left to
  /// apply_overrides().
  explicit SweepPoints(std::vector<std::string> words, const SweepSearch& search = {});

  const std::vector<std::string>& words() const { return words_; }
  const std::vector<SweptKey>& keys() const { return keys_; }
  int64_t count() const;
  /// Which value of each of keys() run `point` has. The last key takes its next value first.
  std::vector<size_t> indices(int64_t point) const;
  /// The values of run `point`, one for each of keys().
  std::vector<std::string> values(int64_t point) const;
  /// What the run has over its experiment: one override for each word, in their order.
  std::vector<std::string> overrides(int64_t point) const;
  /// The folder of a run in that of the sweep: "learning_rate=0.1,seed=2". Where the name of one run would be longer
  /// than 100 bytes, would hold other characters than letters, digits and .,=_+- or would be that of another run, all
  /// are named by their numbers: "run-03".
  std::string name(int64_t point) const;
  bool is_drawn() const { return !drawn_.empty(); }
  /// Of a product: the point that has value `value` of key `key`, and the first one of every other key.
  int64_t point_of(size_t key, size_t value) const;

  /// The messages of an error that was caused by overrides(point), with their positions on the command line of the
  /// sweep.
  std::vector<Message> located(const Error& error, int64_t point) const;

 private:
  void draw(const SweepSearch& search);
  std::string readable_name(int64_t point) const;

  std::vector<std::string> words_;
  std::vector<SweptKey> keys_;
  std::vector<std::vector<size_t>> drawn_;  // indices() of each point
  bool is_readable_ = true;
};

}  // namespace thtrain
