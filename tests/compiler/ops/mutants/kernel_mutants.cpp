#include "tests/compiler/ops/mutants/kernel_mutants.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <unordered_map>

namespace thtrain {
namespace {

using kernel::Block;
using kernel::Prim;
using kernel::Statement;
using kernel::Term;
using kernel::TermNode;

Term made(TermNode node) {
  return Term(std::make_shared<const TermNode>(std::move(node)));
}

// The primitives that one is taken for, with the words for it; operands and types stay.
const std::map<Prim, std::vector<std::pair<Prim, const char*>>>& siblings() {
  static const std::map<Prim, std::vector<std::pair<Prim, const char*>>> table{
      {Prim::kAdd, {{Prim::kSub, "- for +"}}},
      {Prim::kSub, {{Prim::kAdd, "+ for -"}}},
      {Prim::kMul, {{Prim::kAdd, "+ for *"}}},
      {Prim::kDiv, {{Prim::kMul, "* for /"}}},
      {Prim::kBitAnd, {{Prim::kBitOr, "| for &"}}},
      {Prim::kBitOr, {{Prim::kBitXor, "^ for |"}}},
      {Prim::kBitXor, {{Prim::kBitOr, "| for ^"}}},
      {Prim::kShiftLeft, {{Prim::kShiftRight, ">> for <<"}}},
      {Prim::kShiftRight, {{Prim::kShiftLeft, "<< for >>"}}},
      {Prim::kLess, {{Prim::kLessEqual, "<= for <"}, {Prim::kGreater, "> for <"}}},
      {Prim::kLessEqual, {{Prim::kLess, "< for <="}, {Prim::kGreaterEqual, ">= for <="}}},
      {Prim::kGreater, {{Prim::kGreaterEqual, ">= for >"}, {Prim::kLess, "< for >"}}},
      {Prim::kGreaterEqual, {{Prim::kGreater, "> for >="}, {Prim::kLessEqual, "<= for >="}}},
      {Prim::kEqual, {{Prim::kNotEqual, "!= for =="}}},
      {Prim::kNotEqual, {{Prim::kEqual, "== for !="}}},
      {Prim::kAnd, {{Prim::kOr, "|| for &&"}}},
      {Prim::kOr, {{Prim::kAnd, "&& for ||"}}},
      {Prim::kSqrt, {{Prim::kFabs, "fabs for sqrt"}}},
      {Prim::kFloor, {{Prim::kCeil, "ceil for floor"}, {Prim::kTrunc, "trunc for floor"}}},
      {Prim::kCeil, {{Prim::kFloor, "floor for ceil"}}},
      {Prim::kRint, {{Prim::kTrunc, "trunc for rint"}, {Prim::kFloor, "floor for rint"}}},
      {Prim::kTrunc, {{Prim::kFloor, "floor for trunc"}, {Prim::kRint, "rint for trunc"}}},
  };
  return table;
}

// Functions of the target's table and reductions of lanes, by name.
const std::map<std::string, std::string>& sibling_names() {
  static const std::map<std::string, std::string> table{
      {"exp", "expm1"},   {"expm1", "exp"},  {"exp2", "exp"},    {"log", "log1p"}, {"log1p", "log"}, {"log2", "log10"},
      {"log10", "log2"},  {"sin", "cos"},    {"cos", "sin"},     {"tan", "tanh"},  {"tanh", "tan"},  {"asin", "acos"},
      {"acos", "asin"},   {"atan", "asinh"}, {"atan2", "hypot"}, {"sinh", "cosh"}, {"cosh", "sinh"}, {"asinh", "sinh"},
      {"acosh", "asinh"}, {"atanh", "tanh"}, {"erf", "erfc"},    {"erfc", "erf"},  {"pow", "atan2"}, {"cbrt", "exp"},
      {"hypot", "atan2"}, {"add", "max"},    {"mul", "add"},     {"max", "min"},   {"min", "max"},   {"and", "or"},
      {"or", "and"},
  };
  return table;
}

// "<=" for "<" and the like: another choice among equal operands.
bool differ_in_equality(Prim a, Prim b) {
  const std::set<Prim> pair{a, b};
  return pair == std::set{Prim::kLess, Prim::kLessEqual} || pair == std::set{Prim::kGreater, Prim::kGreaterEqual};
}

// The comparisons of a choice between what they compare, as in maxima: of equal operands either is right.
void add_choices(const TermNode& select, const Term& condition, std::set<const TermNode*>& out) {
  const auto same = [](const Term& a, const Term& b) {
    const TermNode &x = a.node(), &y = b.node();
    return &x == &y || (x.prim == Prim::kVariable && y.prim == Prim::kVariable && x.name == y.name);
  };
  const TermNode& n = condition.node();
  if (n.prim == Prim::kOr) {
    for (const Term& arg : n.args) add_choices(select, arg, out);
  } else if (n.args.size() == 2 && ((same(n.args[0], select.args[1]) && same(n.args[1], select.args[2])) ||
                                    (same(n.args[1], select.args[1]) && same(n.args[0], select.args[2])))) {
    out.insert(&n);
  }
}

// Functions of one operand that can be left out.
bool can_go(Prim prim) {
  return prim == Prim::kNegate || prim == Prim::kFabs || prim == Prim::kNot || prim == Prim::kBitNot;
}

// Does an int64 take part in it, other than as an address?
bool has_int64(const Term& term) {
  if (term.dtype() == DType::kInt64) return true;
  return term.node().prim != Prim::kLoad && std::ranges::any_of(term.node().args, has_int64);
}

bool divides_integers(const Term& term) {
  const TermNode& n = term.node();
  if ((n.prim == Prim::kDiv || n.prim == Prim::kRemainder) && is_int(n.type.dtype)) return true;
  return std::ranges::any_of(n.args, divides_integers);
}
struct IntegerDivisions {
  bool found = false;
  void note(const std::string&) {}
  void name(const std::string&) {}
  void define(const std::string&, const kernel::TermType&) {}
  void option(auto) {}
  void index(const Term&) {}
  void term(const Term& t) { found = found || (bool(t) && divides_integers(t)); }
  void block(const Block& statements) {
    for (const Statement& s : statements) visit_fields(s, *this);
  }
};
bool divides_integers(const Block& block) {
  IntegerDivisions divisions;
  divisions.block(block);
  return divisions.found;
}

// One less, but for 0: the element before, or a lane less.
Term before(const Term& index) {
  return index - kernel::cast(index > Term(0), DType::kInt64);
}
bool has_before(const Term& index, const Term& stride, int lanes) {
  return !kernel::is_constant(index, 0) && (lanes == 1 || kernel::is_constant(stride, 1));
}

bool is_number(const Term& term) {
  return term.node().prim == Prim::kConstant ||
         (!term.node().args.empty() && std::ranges::all_of(term.node().args, is_number));
}

// Is there a number one larger? Next to large ones there is none.
bool changes_by_one(const TermNode& constant) {
  if (!is_float(constant.type.dtype) || std::isinf(constant.number)) return true;
  if (constant.type.dtype == DType::kFloat64) return constant.number + 1 != constant.number;
  const auto number = static_cast<float>(constant.number);
  return number + 1.0F != number;
}

// A loop that some lengths have and others do not.
bool never_runs(const kernel::ForLoop& loop) {
  const TermNode &begin = loop.begin.node(), &end = loop.end.node();
  return begin.prim == Prim::kConstant && end.prim == Prim::kConstant && begin.integer >= end.integer;
}

// What an array on the stack holds before it is written is not defined, and may be right.
bool clears_local(const kernel::ForLoop& loop, const std::set<std::string>& local) {
  return std::ranges::all_of(loop.body, [&](const Statement& s) {
    const auto* store = std::get_if<kernel::Store>(&s);
    return store && local.count(store->buffer) && is_number(store->value);
  });
}

// Walks through the locations of a kernel in order; the one whose number is wanted is changed.
class Locations {
 public:
  explicit Locations(size_t wanted) : wanted_(wanted) {}

  std::vector<std::string> run(kernel::Function& f) {
    if (!divides_integers(f.body)) block(f.body, false);
    return std::move(met_);
  }

 private:
  bool here(const std::string& what) {
    met_.push_back(what);
    return met_.size() == wanted_ + 1;
  }

  void block(Block& statements, bool in_while) {
    for (size_t i = 0; i < statements.size(); ++i) {
      const bool stores = std::holds_alternative<kernel::Store>(statements[i]);
      const bool assigns = std::holds_alternative<kernel::Assign>(statements[i]) && !in_while;
      if ((stores && here("a store left out")) || (assigns && here("an assignment left out"))) {
        statements.erase(statements.begin() + static_cast<std::ptrdiff_t>(i--));
        continue;
      }
      std::visit([&](auto& s) { statement(s, in_while); }, statements[i]);
    }
  }

  void statement(kernel::Let& s, bool in_while) { compute(s.value, in_while); }
  void statement(kernel::Var& s, bool in_while) { compute(s.start, in_while); }
  void statement(kernel::Assign& s, bool in_while) { compute(s.value, in_while); }
  void statement(kernel::Store& s, bool in_while) {
    compute(s.value, in_while);
    if (has_before(s.index, s.stride, s.value.lanes()) && here("writes the element before")) s.index = before(s.index);
    if (bool(s.count) && here("does not write the last lane")) s.count = before(s.count);
  }
  void statement(kernel::ForLoop& s, bool in_while) {
    if (never_runs(s) || clears_local(s, local_)) return;
    if (here("without the first step of a loop")) s.begin = s.begin + s.step;
    if (here("without the last step of a loop")) s.end = s.end - s.step;
    block(s.body, in_while);
  }
  void statement(kernel::If& s, bool in_while) {
    if (!has_int64(s.condition)) compute(s.condition, in_while);
    block(s.then, in_while);
    block(s.otherwise, in_while);
  }
  void statement(kernel::While& s, bool) { block(s.body, true); }
  void statement(kernel::LocalArray& s, bool) { local_.insert(s.name); }
  // What these say changes no value.
  void statement(kernel::Comment&, bool) {}
  void statement(kernel::PrefetchLine&, bool) {}
  void statement(kernel::Fence&, bool) {}
  void statement(kernel::Fail&, bool) {}
  // No kernel of a processor has these: device_mutants_test.cpp.
  void statement(kernel::Barrier&, bool) {}
  void statement(kernel::SharedArray&, bool) {}
  void statement(kernel::Shuffle&, bool) {}
  void statement(kernel::Atomic&, bool) {}

  void compute(Term& value, bool in_while) {
    if (!in_while) value = this->value(value);
  }

  // A shared term is one location.
  Term value(const Term& term) {
    if (auto at = known_.find(&term.node()); at != known_.end()) return at->second;
    const TermNode& n = term.node();
    TermNode changed = n;
    if (n.prim == Prim::kSelect) add_choices(n, n.args[0], choices_);
    if (n.prim != Prim::kLoad)
      for (Term& arg : changed.args) arg = value(arg);
    const Term out = location(changed, !has_int64(term), choices_.count(&n) > 0);
    known_.emplace(&term.node(), out);
    kept_.push_back(term);
    return out;
  }

  Term location(TermNode n, bool no_address, bool is_choice) {
    if (n.prim == Prim::kLoad) return load(std::move(n));
    if (!no_address) return made(std::move(n));
    const TermNode original = n;
    if (auto at = siblings().find(n.prim); at != siblings().end())
      for (const auto& [prim, what] : at->second)
        if (!(is_choice && differ_in_equality(original.prim, prim)) && here(what)) n.prim = prim;
    if (n.prim == Prim::kMath || n.prim == Prim::kReduceLanes)
      if (auto at = sibling_names().find(original.name); at != sibling_names().end())
        if (here(str(at->second, " for ", at->first))) n.name = at->second;
    if ((original.prim == Prim::kSub || original.prim == Prim::kDiv) && here("operands swapped"))
      std::swap(n.args[0], n.args[1]);
    if (n.prim == Prim::kMath && n.args.size() == 2 && here("operands swapped")) std::swap(n.args[0], n.args[1]);
    if (n.prim == Prim::kSelect && here("branches swapped")) std::swap(n.args[1], n.args[2]);
    if (n.prim == Prim::kFma && here("without the addend of fma")) return original.args[0] * original.args[1];
    if (n.prim == Prim::kFma && here("addend and factor of fma swapped")) std::swap(n.args[1], n.args[2]);
    if (can_go(n.prim) && here("without a sign, or a not")) return original.args[0];
    if (n.prim == Prim::kConstant && changes_by_one(n) && here("a number one larger")) {
      n.number = std::isinf(n.number) ? -n.number : n.number + 1;
      n.integer = is_bool(n.type.dtype) ? 1 - n.integer : n.integer + 1;
    }
    return made(std::move(n));
  }

  Term load(TermNode n) {
    if (has_before(n.args[0], n.args[1], n.type.lanes) && here("reads the element before"))
      n.args[0] = before(n.args[0]);
    if (n.args.size() == 3 && here("does not read the last lane")) n.args[2] = before(n.args[2]);
    return made(std::move(n));
  }

  size_t wanted_;
  std::vector<std::string> met_;
  std::set<std::string> local_;        // arrays
  std::set<const TermNode*> choices_;  // conditions of choices between what they compare
  std::unordered_map<const TermNode*, Term> known_;
  std::vector<Term> kept_;  // so that no address is used again
};

}  // namespace

std::vector<std::string> kernel_mutations(const kernel::Function& kernel) {
  kernel::Function copy = kernel;
  return Locations(SIZE_MAX - 1).run(copy);
}

void mutate_kernel(kernel::Function& kernel, size_t number) {
  Locations(number).run(kernel);
}

}  // namespace thtrain
