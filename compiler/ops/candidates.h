// The computations that have several implementations, and the candidates that ops, libraries and the user's program
// offer for them. docs/decisions/0014.
#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/kernel/choice.h"
#include "compiler/kernel/step_builder.h"

namespace thtrain {

/// How the results of a candidate differ from those of the others.
enum class RoundingClass : uint8_t {
  kSame,       // in no bit: all candidates of this class agree
  kReordered,  // the same terms, added in an order of its own
  kOther,      // other terms, whose errors may be larger (Winograd's products): only within a tolerance
};
const char* name_of(RoundingClass rounding);

/// One implementation of a computation, for one key.
struct Candidate {
  std::string name;           // among those of its computation; on one line, without "; " and " ["
  std::string version = "1";  // a new one where the same name became other code: what was measured is forgotten then
  RoundingClass rounding = RoundingClass::kReordered;
  /// Of a kOther: what the error of no result exceeds, relative to a norm of the arguments that the computation's op
  /// states. Where the bound is above the function's tolerance the candidate is only taken by name.
  double error_bound = std::numeric_limits<double>::infinity();
  bool deterministic = true;                // equal arguments give equal bits; one that is not is only taken by name
  int64_t workspace_bytes = 0;              // the most of known lengths that `lower` asks StepBuilder::workspace() for
  std::vector<std::string> functions = {};  // of libraries, that it calls: it applies where all are installed
  /// Writes the code of a node that has this key. Null where the choice is of a pass.
  std::function<void(kernel::StepBuilder&)> lower = nullptr;
  bool is_of_device = false;  // its functions are those of a device's libraries: it is for devices alone
  /// The shared object that it is of: it is tried before it is taken (tuning/user_candidates.h). Empty: the program's.
  std::string file = {};
  bool is_added = false;  // of a source of add_candidates(); set where it is found
};

/// A kind of computation. Its op asks for a choice by lower_chosen().
struct Computation {
  std::string name;   // "matrix_product"
  std::string plain;  // the candidate where there is no chooser; where it does not apply, the rule's
  /// A graph of one node that asks with these properties, or of nodes that the choice makes one of, for trials: its
  /// arguments, and for what is updated in place a shared variable. nullopt where the text is no properties of this
  /// computation.
  std::optional<Graph> (*example)(const std::string& properties);
  /// The candidate where nothing was measured; of those that are kOther only one with an error_bound of at most
  /// `tolerance`. It depends on its arguments only.
  std::string (*rule)(const kernel::ChoiceKey& key, const kernel::Target& target, int threads, double tolerance);
};

/// Candidates of one origin.
struct CandidateSource {
  std::string computation;
  /// Those that apply to the key on that target, for trials.
  std::function<std::vector<Candidate>(const kernel::ChoiceKey&, const kernel::Target&)> offer;
  /// One by its name, if it applies, whether it is worth a trial or not; null: among those offered.
  std::function<std::optional<Candidate>(const kernel::ChoiceKey&, const std::string& name, const kernel::Target&)>
      find = nullptr;
  /// All names that its candidates may have, for any key; `#` stands for a whole number: {"tile #x#x#"}. A function
  /// that takes a name that none of the sources states is refused. Empty: they may have any name, and none is refused.
  std::vector<std::string> names = {};
};

/// The computation of that name; null if there is none.
const Computation* find_computation(std::string_view name);

/// Adds candidates of the user's program, behind those of candidate_list.inc, until the process ends. Any thread may
/// call. Compiled programs in the cache that chose such a candidate are found again where the process adds it again.
/// UserError where there is no such computation.
void add_candidates(CandidateSource source);

/// All that apply, in the order of their sources, each name once; of a target without libraries those alone that call
/// no functions of a processor. (Are the libraries that they call installed? The
/// tuner asks that.)
std::vector<Candidate> candidates_of(const kernel::ChoiceKey& key, const kernel::Target& target);
/// The candidate of that name; nullopt where there is none, or it does not apply.
std::optional<Candidate> find_candidate(const kernel::ChoiceKey& key, const std::string& name,
                                        const kernel::Target& target);

/// The names that the sources of a computation state; nullopt where one of them may have any.
std::optional<std::vector<std::string>> stated_names(std::string_view computation);
/// Do thtrain's own sources state that name?
bool is_own_candidate_name(std::string_view computation, std::string_view name);
/// Is `name` the stated name, in which each `#` stands for a whole number?
bool matches_stated_name(std::string_view stated, std::string_view name);

/// What a candidate is expected to take: by the usual kernel::KernelRates, and by those that were measured.
struct ExpectedTime {
  std::string candidate;
  double usual, measured;
};
/// The first by the usual rates of those that are expected to take less than 1.1 times as long as the fastest by the
/// measured ones: what was measured overrides the usual choice for a gain of more than a tenth. At least one is given.
std::string least_expected(std::vector<ExpectedTime> times);

/// Writes the step's code by the candidate that its chooser names.
void lower_chosen(kernel::StepBuilder& builder, const kernel::ChoiceKey& key);

}  // namespace thtrain
