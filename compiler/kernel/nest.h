// A scalar loop nest: what an op computes for each iteration of its axes. It knows no vector, tail, thread or cache: a
// schedule (schedule/) makes loops of it. docs/decisions/0012.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "compiler/kernel/step_builder.h"

namespace thtrain::kernel {

enum class AxisKind : uint8_t {
  kParallel,    // no iteration depends on another
  kReduce,      // accumulators combine the iterations
  kSequential,  // iterations may write the same element: they run in order
  kInStep,      // innermost: independent within an iteration of the sequential axes, and not across them
};

struct NestAxis {
  Dim length;
  AxisKind kind = AxisKind::kParallel;
};

/// How far an int64 of the nest moves a location: `step` elements for each.
struct Move {
  Term position;
  Dim step;
};

/// Where a nest reads or writes: one element of an operand for each iteration.
struct Location {
  Operand operand;
  Dims strides;                  // along each axis of the nest, in elements; 0: the axis does not move it
  Term first = 0;                // the element where every axis is at 0: a term that the kernel knows before its loops
  std::vector<Move> moves = {};  // by values of the nest; none: affine
  /// Elements that lie two by two, of which the next load or store of the nest has the second.
  enum class Pair : uint8_t { kNone, kFirst, kSecond } pair = Pair::kNone;

  bool is_indexed() const { return !moves.empty(); }
  /// The same location, moved by a value too.
  Location at(Term where, Dim elements) const;
};

/// A condition on the axes: 0 <= first + the sum of strides times axes < length.
struct Bound {
  Dims strides;
  Dim first;
  Dim length;
};

/// A position in an axis that an integer of the data names.
struct Index {
  Location location;                       // of the integer
  Dim length;                              // of the axis
  bool from_end = false;                   // negative ones count from the end
  std::optional<RuntimeCheck> check = {};  // none: the integer is known to be inside
  Dims reported = {};                      // strides of the number that {limit} shows; empty: it is the axis' length
};

using TermPair = std::pair<Term, Term>;

/// How the iterations of the reduce axes become one value.
struct Accumulation {
  DType dtype;                                   // of the accumulator; what is accumulated is cast to it
  std::function<Term(DType)> identity;           // the neutral value of a dtype, a scalar
  std::function<Term(Term, Term)> combine;       // any number of lanes
  std::string lanes;                             // the operation of reduce_lanes
  bool rounds = false;                           // long runs are combined in blocks, and the blocks in the wider dtype
  std::optional<RuntimeCheck> no_elements = {};  // fails where there is nothing to combine
  /// Where given, the result is a position: that of the first element, in row-major order of the reduce axes, that no
  /// other is better than; the first NaN is better than all. `combine` gives the element itself. better(a, b): is b,
  /// which comes later? Of numbers, bools as 0 and 1.
  std::function<Term(Term a, Term b)> better = {};
  /// Where given, two values are reduced jointly, to two: the identity is (identity, 0), and this combines them.
  std::function<TermPair(const TermPair& a, const TermPair& b)> combine_pairs = {};
};

class Nest : public Names {
 public:
  /// All axes are parallel.
  explicit Nest(const Dims& lengths);
  explicit Nest(std::vector<NestAxis> axes) : axes_(std::move(axes)) {}

  /// One statement of the body. Values are scalar variables, in the order in which they are computed.
  struct Value {
    enum class Kind : uint8_t { kLoad, kPosition, kAxis, kLet, kReduction, kRequire, kCarried, kSet, kLast, kWhere };
    Kind kind;
    std::string name;
    size_t operation = 0;  // that it belongs to
    Term variable = {};
    Location location = {};           // of kLoad
    Term otherwise = {};              // of kLoad: the value outside of the nest's bounds, where nothing is read
    std::optional<Index> index = {};  // of kPosition
    size_t axis = 0;                  // of kAxis
    Term term = {};  // of kLet; what kReduction accumulates; the condition of kRequire and kWhere; of kCarried the
                     // start, of kSet the next number
    std::optional<Accumulation> how = {};
    bool is_second = false;                  // of two that are reduced jointly: the value before it is the first
    Term other = {};                         // what is reduced with `term`; the carried number of kSet and kLast
    std::optional<RuntimeCheck> check = {};  // of kRequire
    Term shown = {}, limit = {};             // of kRequire: {value} and {limit}
  };
  /// What is computed together: of the graph, a node. Choices go by what operations cost, not by how they are written.
  struct Operation {
    int64_t work;   // simple operations (term_cost.h)
    size_t widest;  // bytes of the widest element that it computes with
  };
  struct Store {
    Location location;
    Term value;
    bool is_outside = false;  // of the nest's bounds alone
  };

  /// What is added from here on belongs to it. Until the first, values belong to an operation of no work.
  void operation(int64_t work, size_t widest);
  Term load(std::string name, Location location);
  /// The element where the nest's bounds hold; elsewhere `otherwise`, a constant, and nothing is read.
  Term load_inside(std::string name, Location location, Term otherwise);
  Term position(Index index);
  /// The number of an axis, an int64.
  Term axis(size_t axis);
  Term let(std::string name, Term value) override;
  /// Along all reduce axes. What is computed from it does not vary along them.
  Term reduce(std::string name, Accumulation how, Term value);
  /// Two values that Accumulation::combine_pairs reduces to two.
  TermPair reduce_pair(std::string name, Accumulation how, TermPair values);
  /// A number for each iteration of the parallel axes, which the iterations of the sequential ones hand on, one after
  /// the other: at first `start`, which does not vary along these. A nest that carries numbers reduces nothing.
  Term carried(std::string name, Term start);
  /// The carried number of the next iteration. Numbers are set in this order behind the stores of an iteration: `value`
  /// reads none that an earlier set() has changed.
  void set(const Term& carried, Term value);
  /// The carried number behind the last iteration. What is computed from it does not vary along the sequential axes.
  Term last(const Term& carried);
  /// Where the condition does not hold an iteration ends here: nothing is computed, set or stored.
  void where(Term condition);
  /// Fails the call unless the condition holds.
  void require(Term condition, RuntimeCheck check, Term value, Term limit);
  void store(Location location, Term value);
  /// Stores where the nest's bounds do not hold.
  void store_outside(Location location, Term value);

  const std::vector<NestAxis>& axes() const { return axes_; }
  const std::vector<Value>& values() const { return values_; }
  const std::vector<Store>& stores() const { return stores_; }
  const std::vector<Operation>& operations() const { return operations_; }
  /// The number of the value that this variable stands for; empty for other terms.
  std::optional<size_t> value_of(const Term& term) const;
  /// Visits the numbers of the values that a value reads, its position included; of a store likewise.
  void each_read(const Value& value, const std::function<void(size_t)>& visit) const;
  void each_read(const Store& store, const std::function<void(size_t)>& visit) const;
  /// Bytes of the widest element that a value is computed with; integers that name positions do not count.
  size_t widest_of(size_t value) const;
  /// Of all values and stores.
  size_t widest() const;

  /// Simple operations for each iteration (term_cost.h), by which threads get their share; 0: one thread takes all.
  int64_t work = 1;
  /// Where load_inside() reads and store_outside() does not write: all must hold. Of nests without reductions. A nest
  /// that carries numbers leaves out the iterations where one does not hold.
  std::vector<Bound> bounds = {};
  /// The results are read again by this step: they stay with the caches.
  bool is_read_again = false;

 private:
  Term add(Value value, DType dtype);
  void each_read(const Term& term, const std::function<void(size_t)>& visit) const;

  std::vector<NestAxis> axes_;
  std::vector<Value> values_;
  std::vector<Store> stores_;
  std::vector<Operation> operations_ = {{0, 1}};
  std::unordered_map<const TermNode*, size_t> numbers_;
};

/// The location of an operand whose axes are aligned to the nest's at the right; an axis of length 1 is repeated.
Location aligned(const Nest& nest, const Operand& operand);
/// The location of an operand with an axis for each of the nest's.
Location placed(const Operand& operand, Term first = 0);

}  // namespace thtrain::kernel
