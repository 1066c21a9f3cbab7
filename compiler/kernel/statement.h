// Statements of the loop language, and the functions that they make. docs/decisions/0004.
#pragma once

#include <optional>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "compiler/kernel/term.h"

namespace thtrain::kernel {

/// What a loop's iterations may do: nothing at once, in any order by threads, as lanes, unrolled; not be unrolled.
enum class LoopMark : uint8_t { kSequential, kParallel, kVector, kUnrolled, kRolled };

/// Which threads of a device a statement is about.
enum class Scope : uint8_t { kWarp, kBlock };

/// From which lane of its warp a thread takes a value: the one so many lanes behind it (its own where there is none),
/// or the one of that number.
enum class LaneChoice : uint8_t { kBehind, kNumber };

/// What an atomic operation makes of the element and the value.
enum class AtomicKind : uint8_t { kAdd, kMin, kMax, kAnd, kOr };

/// Where a line is prefetched to: the first or the second cache for a read, or the first for a write.
enum class Prefetch : uint8_t { kL1, kL2, kWrite };

struct Statement;
using Block = std::vector<Statement>;

// Each kind of statement names its fields once, in `fields`, in the order in which they are visited. A visitor has a
// method for each kind of field:
//
//   note(text)      for people alone
//   define(name, type)  a variable or array that the statement makes
//   name(name)      a variable or buffer that it uses
//   term(term)      what is computed; null where it is optional and absent
//   index(term)     the index of an element of a buffer
//   option(value)   a bool or an enum
//   block(block)    statements inside
//
// Printing, hashing, verifying and mutating are visitors or switch over the kinds with std::visit; a kind that one of
// them does not know does not compile.

struct Comment {
  std::string text;
  static void fields(auto& s, auto& visit) { visit.note(s.text); }
};

/// A variable that nothing assigns.
struct Let {
  std::string name;
  Term value;
  static void fields(auto& s, auto& visit) {
    visit.define(s.name, s.value.type());
    visit.term(s.value);
  }
};

/// A variable that statements may assign.
struct Var {
  std::string name;
  Term start;
  int64_t number = -1;  // of a tile's sums (Code::sum); -1: of none
  static void fields(auto& s, auto& visit) {
    visit.define(s.name, s.start.type());
    visit.option(s.number);
    visit.term(s.start);
  }
};

struct Assign {
  std::string name;
  Term value;
  static void fields(auto& s, auto& visit) {
    visit.name(s.name);
    visit.term(s.value);
  }
};

/// buffer[index] = value; the lanes of a vector lie `stride` apart.
struct Store {
  std::string buffer;
  Term index, value, stride;
  Term count = {};            // only so many lanes are written
  bool non_temporal = false;  // past the caches, without reading the line first; a Fence follows
  static void fields(auto& s, auto& visit) {
    visit.name(s.buffer);
    visit.option(s.non_temporal);
    visit.index(s.index);
    visit.term(s.value);
    visit.term(s.stride);
    visit.term(s.count);
  }
};

struct ForLoop {
  std::string name;  // of its int64 variable
  Term begin, end, step;
  LoopMark mark = LoopMark::kSequential;
  Block body;
  static void fields(auto& s, auto& visit) {
    visit.define(s.name, TermType{DType::kInt64, 1, 0});
    visit.option(s.mark);
    visit.term(s.begin);
    visit.term(s.end);
    visit.term(s.step);
    visit.block(s.body);
  }
};

struct If {
  Term condition;
  Block then, otherwise;
  static void fields(auto& s, auto& visit) {
    visit.term(s.condition);
    visit.block(s.then);
    visit.block(s.otherwise);
  }
};

struct While {
  Term condition;
  Block body;
  static void fields(auto& s, auto& visit) {
    visit.term(s.condition);
    visit.block(s.body);
  }
};

/// On the stack of the thread, aligned to 64 bytes.
struct LocalArray {
  std::string name;
  TermType type;
  int64_t count;
  static void fields(auto& s, auto& visit) {
    visit.define(s.name, s.type);
    visit.option(s.count);
  }
};

/// Prefetches the cache line of buffer[index], which need not exist.
struct PrefetchLine {
  std::string buffer;
  Term index;
  Prefetch to;
  static void fields(auto& s, auto& visit) {
    visit.name(s.buffer);
    visit.option(s.to);
    visit.index(s.index);
  }
};

/// Orders non-temporal stores: other threads that read after it see what was stored before it.
struct Fence {
  static void fields(auto&, auto&) {}
};

/// The call fails by the check of that number, and the function returns.
struct Fail {
  Term check, value, limit;
  static void fields(auto& s, auto& visit) {
    visit.term(s.check);
    visit.term(s.value);
    visit.term(s.limit);
  }
};

// ---- of devices alone: what the threads of a block do together. docs/decisions/0020.

/// No thread goes on before all threads of the block, or of the warp, are here; then each sees what the others stored
/// before it. All of them must reach the same barrier.
struct Barrier {
  Scope scope = Scope::kBlock;
  static void fields(auto& s, auto& visit) { visit.option(s.scope); }
};

/// An array that the threads of a block share. Outside of loops and branches.
struct SharedArray {
  std::string name;
  DType dtype;
  int64_t count;
  static void fields(auto& s, auto& visit) {
    visit.define(s.name, TermType{s.dtype, 1, 0});
    visit.option(s.count);
  }
};

/// A variable that holds the value of another lane. All lanes of the mask must reach the same shuffle.
struct Shuffle {
  std::string name;
  Term value;
  LaneChoice choice;
  int lane;  // how far behind, or its number
  uint32_t mask = ~0U;
  static void fields(auto& s, auto& visit) {
    visit.define(s.name, s.value.type());
    visit.term(s.value);
    visit.option(s.choice);
    visit.option(s.lane);
    visit.option(s.mask);
  }
};

/// buffer[index] = buffer[index] combined with the value, as one step; of integers of 32 and 64 bits, whose results do
/// not depend on the order of the threads.
struct Atomic {
  std::string buffer;
  Term index, value;
  AtomicKind kind;
  static void fields(auto& s, auto& visit) {
    visit.name(s.buffer);
    visit.option(s.kind);
    visit.index(s.index);
    visit.term(s.value);
  }
};

struct Statement : std::variant<Comment, Let, Var, Assign, Store, ForLoop, If, While, LocalArray, PrefetchLine, Fence,
                                Fail, Barrier, SharedArray, Shuffle, Atomic> {
  using variant::variant;
};

/// Visits the fields of a statement, constant or not, in their order.
void visit_fields(auto& statement, auto& visitor) {
  std::visit([&](auto& s) { std::remove_cvref_t<decltype(s)>::fields(s, visitor); }, statement);
}

/// Indices of a buffer, the last one included.
struct ElementRange {
  int64_t least, greatest;
};

struct BufferParameter {
  std::string name;
  DType dtype;
  bool written;
  std::optional<ElementRange> elements = {};  // that exist, where the lengths and strides are known and not 0
};

/// A number that calls pass after the lengths.
struct NumberParameter {
  std::string name;
  DType dtype;
  std::string text;  // what it is, for the comment
};

/// A processor's: void name(ThContext* ctx, void* const* buffers, const long* lengths, long begin, long end).
/// A device's takes buffers, lengths and numbers one by one; `block` and `thread` are the thread's own numbers.
struct Function {
  std::string name;     // without the number that makes it unique
  std::string comment;  // what it computes
  std::vector<BufferParameter> buffers;
  std::vector<std::string> lengths;       // variables for lengths[0], lengths[1], ...
  std::vector<std::string> length_texts;  // what they are, for the comment
  std::vector<NumberParameter> numbers;   // the bits of a double each, in lengths[lengths.size()], ...
  Block body;                             // over [begin, end), or of one thread
  int threads = 0;                        // of a block of a device; 0: a processor's function
  bool reads_failure = false;             // on a device: where a check has failed before, it does nothing

  bool is_of_device() const { return threads > 0; }
};

/// Is there a statement of that kind, at any depth?
template <class Kind>
bool contains(const Block& block);

template <class Kind>
struct KindSearch {
  bool found = false;
  void note(const std::string&) {}
  void define(const std::string&, const TermType&) {}
  void name(const std::string&) {}
  void term(const Term&) {}
  void index(const Term&) {}
  void option(auto) {}
  void block(const Block& inside) { found = found || contains<Kind>(inside); }
};

template <class Kind>
bool contains(const Block& block) {
  KindSearch<Kind> search;
  for (const Statement& s : block) {
    search.found = search.found || std::holds_alternative<Kind>(s);
    visit_fields(s, search);
  }
  return search.found;
}

}  // namespace thtrain::kernel
