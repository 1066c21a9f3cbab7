// The kernel of a body of rows. What belongs to a row as a whole (an operand that does not vary along it, a
// reduction's result, and what follows from those) is computed between the loops over its elements:
//
//   m = max(x, 1); e = exp(x - m); y = e / sum(e, 1)
//
//   loop 0: most = max(most, x[j])
//   loop 1: e[j] = exp(x[j] - most), total = total + e[j]
//   loop 2: y[j] = e[j] / total
#include <algorithm>
#include <array>
#include <unordered_set>

#include "compiler/ops/elemwise/body_code.h"
#include "compiler/ops/index/gather.h"
#include "compiler/ops/reduce/fused_reduction.h"
#include "compiler/ops/reduce/reduce_lower.h"
#include "compiler/ops/reduce/reduce_op.h"
#include "compiler/ops/reduce/row_axes.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {
namespace {

using kernel::Code;
using kernel::LoopMark;
using kernel::Operand;
using kernel::StepBuilder;
using kernel::Term;

constexpr int64_t kShortRow = 32;              // elements: many rows at once are faster
constexpr int64_t kUnrolled = 8;               // vectors of a row that stay in registers
constexpr size_t kUnrolledNodes = 64;          // and not more code than this
constexpr int64_t kLightWork = 8;              // operations of an element: several accumulators hide their latency
constexpr int64_t kWorthCaching = 8;           // operations that cost more than a store and a load
constexpr int64_t kCachedRowBytes = 64 << 10;  // of all values that a row keeps
constexpr int64_t kRunOverRows = 128;          // elements that a lane combines before the second level takes over

// Where a loop stands in a row.
struct Position {
  std::vector<Term> at;  // each operand's element index without the innermost reduced axis; then the gathers'
  Term j;                // along that axis
  Term count;            // lanes that exist, of vectors along the row; empty: all
  int accumulator;
};

struct Accumulator {
  const Node* node;
  const Reduction* record;
  std::vector<Term> parts;
  Term total;  // second level, where there is one
};

class Emitter {
 public:
  Emitter(StepBuilder& b, const Graph& body, EmptyRows empty)
      : b_(b), code_(b.code()), body_(body), domain_(domain_of(body)), empty_(empty) {
    nodes_ = nodes_between(body.inputs, body.outputs);
    for (size_t i = 0; i < body.inputs.size(); ++i) operands_.push_back(b.input(i));
    for (size_t o = 0; o < body.outputs.size(); ++o) operands_.push_back(b.output(o));
    gathers_ = gathers_among(nodes_, body.inputs, b);
    RowAxes axes = row_axes(domain_, body, nodes_, operands_, gathers_);
    kept_ = std::move(axes.kept), reduced_ = std::move(axes.reduced);
    varies_ = std::move(axes.varies), count_ = axes.count;
    for (const Node* node : nodes_) weight_ += node->op->scalar ? weight_of(*node) : 1;
    lanes_ = b.vector_bytes() / static_cast<int>(widest(false));
    choose_direction();
    // Over rows, their numbers are vectors too.
    if (vectorize_rows_) lanes_ = b.vector_bytes() / static_cast<int>(widest(true));
    find_loops();
    choose_cached_rows();
  }

  void run() {
    check_empty();
    for (Gather& gather : gathers_) gather.check_before_loops();
    if (!cached_rows_.empty())
      for (auto& [node, cached_row] : cached_rows_)
        cached_row = code_.local_array("cached_row", {node->types[0].dtype, 1, 0}, cached_row_elements()).node().name;
    rows(0, std::vector<Term>(varies_.size(), Term(0)));
    Dim range = kept_.empty() ? Dim(1) : kept_[0].length, each = count_;
    for (size_t i = 1; i < kept_.size(); ++i) each = each * kept_[i].length;
    Dim grain = kept_.empty() ? Dim(0) : floor_div(Dim(kGrainOfWork / weight_), max(each, 1)) + 1;
    b_.finish_kernel(kernel_name(nodes_),
                     str(kernel_comment(nodes_, body_.inputs, body_.outputs), ": vectors ",
                         vectorize_rows_ ? "over rows" : "along rows"),
                     range, grain, vectorize_rows_ && kept_.size() == 1 ? lanes_ : 1);
  }

 private:
  // ---- geometry ----------------------------------------------------------------------------------------------------

  bool is_element(const Expr& e) const { return e.dims() == domain_.dims; }

  bool is_gathered(size_t k) const { return k < body_.inputs.size() && reads(gathers_, body_.inputs[k]); }

  // Bytes of the widest element that is computed with, the numbers of rows included or not.
  size_t widest(bool numbers_too) const {
    size_t out = 1;
    for (size_t k = 0; k < operands_.size(); ++k)
      if (varies_[k] || (numbers_too && !is_gathered(k))) out = std::max(out, size_of(operands_[k].type.dtype));
    for (const Node* node : nodes_)
      if (!node->op->scalar)
        out = std::max(out, size_of(node->types[0].dtype));
      else if (is_element((*node)[0]) || numbers_too)
        out = std::max(out, widest_of(*node));
    return out;
  }

  // Vectors run where most operands lie side by side.
  void choose_direction() {
    if (kept_.empty()) return;
    const LoopAxis& next = kept_.back();
    int along = 0, over = 0;
    for (size_t k = 0; k < operands_.size(); ++k) {
      if (!varies_[k]) continue;
      along += reduced_.back().strides[k].is(1);
      over += next.strides[k].is(1);
    }
    for (size_t g = 0; g < gathers_.size(); ++g) {
      along += reduced_.back().strides[first_of(g)].is(1);
      over += next.strides[first_of(g)].is(1);
    }
    bool is_short = count_.is_known() && count_.value() <= kShortRow;
    bool enough = !(next.length.is_known() && next.length.value() < lanes_);
    vectorize_rows_ = over > along || (is_short && enough);
  }

  // ---- loops -------------------------------------------------------------------------------------------------------

  int phase_of(const Expr& e) const {
    auto at = phase_.find(&e.node());
    return at == phase_.end() ? 0 : at->second;
  }

  // A value's phase: how many loops must have run before it can be computed.
  void find_loops() {
    for (const Node* node : nodes_) {
      int phase = 0;
      for (const Expr& e : node->inputs) phase = std::max(phase, phase_of(e));
      if (reduction_of(*node->op)) {
        reductions_.resize(std::max(reductions_.size(), static_cast<size_t>(phase) + 1));
        reductions_[static_cast<size_t>(phase++)].push_back(node);
      }
      phase_[node] = phase;
    }
    // Elements are written by the last loop alone: until then an output may share the buffer of an input.
    size_t loops = reductions_.size();
    for (const Expr& out : body_.outputs)
      if (is_element(out)) loops = std::max(loops, static_cast<size_t>(phase_of(out)) + 1);
    reductions_.resize(loops);
    needed_.resize(loops);
    read_.resize(loops);
    for (size_t p = 0; p < loops; ++p) needed_[p] = needed_by(p, {});
    if (vectorize_rows_ || !count_.is_known() || reduced_.size() > 1) return;
    vector_count_ = (count_.value() + lanes_ - 1) / lanes_;
    unrolled_ = vector_count_ <= kUnrolled && static_cast<size_t>(vector_count_) * nodes_.size() <= kUnrolledNodes;
  }

  std::vector<Expr> targets(size_t loop) const {
    std::vector<Expr> out;
    for (const Node* node : reductions_[loop]) out.push_back(node->inputs[0]);
    if (loop + 1 == reductions_.size())
      for (const Expr& e : body_.outputs)
        if (is_element(e)) out.push_back(e);
    return out;
  }

  // What loop `loop` computes or loads for each element, inputs first: nodes and inputs of the body. What is known
  // already is no more than noted in `read`.
  std::vector<const Node*> needed_by(size_t loop, const std::unordered_set<const Node*>& known,
                                     std::unordered_set<const Node*>* read = nullptr) const {
    std::unordered_set<const Node*> seen;
    std::vector<const Node*> stack;
    auto visit = [&](const Expr& e) {
      if (!varies(e)) return;
      if (known.count(&e.node())) {
        if (read) read->insert(&e.node());
      } else if (seen.insert(&e.node()).second) {
        stack.push_back(&e.node());
      }
    };
    for (const Expr& e : targets(loop)) visit(e);
    while (!stack.empty()) {
      const Node* node = stack.back();
      stack.pop_back();
      for (const Expr& e : node->inputs) visit(e);
    }
    std::vector<const Node*> out;
    for (const Expr& input : body_.inputs)
      if (seen.count(&input.node())) out.push_back(&input.node());
    for (const Node* node : nodes_)
      if (seen.count(node)) out.push_back(node);
    return out;
  }

  // Does a value differ from element to element of a row?
  bool varies(const Expr& e) const {
    for (size_t k = 0; k < body_.inputs.size(); ++k)
      if (body_.inputs[k].same(e)) return varies_[k];
    return !e.node().inputs.empty() && is_element(e);
  }

  // Values of one loop that a later one needs again, and that would cost more to compute again than to keep.
  void choose_cached_rows() {
    if (unrolled_ || !count_.is_known() || reduced_.size() > 1) return;
    int64_t bytes = 0;
    std::unordered_set<const Node*> computed;
    for (size_t p = 0; p < needed_.size(); ++p) {
      std::unordered_set<const Node*> known;
      for (const auto& [node, cached_row] : cached_rows_) known.insert(node);
      // From the targets down: what is kept hides what it was computed from.
      std::vector<const Node*> order = needed_by(p, known);
      for (size_t i = order.size(); i-- > 0;) {
        const Node* node = order[i];
        int64_t size = cached_row_elements() * static_cast<int64_t>(size_of(node->types[0].dtype));
        bool is_still_needed = false;
        for (const Node* now : needed_by(p, known)) is_still_needed = is_still_needed || now == node;
        if (!is_still_needed || !computed.count(node) || is_bool(node->types[0].dtype)) continue;
        if (work_to_have(node, known) < kWorthCaching || bytes + size > kCachedRowBytes) continue;
        cached_rows_.emplace_back(node, "");
        known.insert(node);
        bytes += size;
      }
      for (const Node* node : needed_by(p, known)) computed.insert(node);
    }
    std::unordered_set<const Node*> made;
    for (size_t p = 0; p < needed_.size(); ++p) {
      std::unordered_set<const Node*> known;
      for (const auto& [node, cached_row] : cached_rows_)
        if (made.count(node)) known.insert(node);
      needed_[p] = needed_by(p, known, &read_[p]);
      for (const Node* node : needed_[p]) made.insert(node);
    }
  }

  int64_t work_to_have(const Node* node, const std::unordered_set<const Node*>& known) const {
    std::unordered_set<const Node*> seen{node};
    std::vector<const Node*> stack{node};
    int64_t out = 0;
    while (!stack.empty()) {
      const Node* now = stack.back();
      stack.pop_back();
      if (now->op->scalar) out += weight_of(*now);
      if (reads_through_index(*now)) out += lanes_;
      if (now->inputs.empty() && vectorize_rows_) out += kept_.back().strides[0].is(1) ? 1 : lanes_;  // a gather
      for (const Expr& e : now->inputs)
        if (varies(e) && !known.count(&e.node()) && seen.insert(&e.node()).second) stack.push_back(&e.node());
    }
    return out;
  }

  int64_t cached_row_elements() const {
    return vectorize_rows_ ? count_.value() * lanes_ : (count_.value() + lanes_ - 1) / lanes_ * lanes_;
  }

  const std::string* cached_row_of(const Node* node) const {
    for (const auto& [cached, cached_row] : cached_rows_)
      if (cached == node) return &cached_row;
    return nullptr;
  }

  // ---- rows ------------------------------------------------------------------------------------------------------

  void check_empty() {
    if (count_.is_known() || empty_ == EmptyRows::kSkip) return;
    for (const std::vector<const Node*>& nodes : reductions_)
      for (const Node* node : nodes)
        if (!reduction_of(*node->op)->empty_allowed) {
          Dim rows = 1;
          for (const LoopAxis& axis : kept_) rows = rows * axis.length;
          Term n = b_.length(count_);
          return b_.require(n > Term(0) || b_.length(rows) == Term(0), no_elements_check(*node), n, 1);
        }
  }

  void rows(size_t depth, const std::vector<Term>& at) {
    if (depth == kept_.size()) return row(at, {});
    const LoopAxis& axis = kept_[depth];
    Term first = depth == 0 ? b_.begin() : Term(0), last = depth == 0 ? b_.end() : b_.length(axis.length);
    if (vectorize_rows_ && depth + 1 == kept_.size()) {
      code_.loop("i", first, last - Term(lanes_ - 1), Term(lanes_), LoopMark::kVector,
                 [&](Term i) { row(moved(at, axis, i), {}); });
      Term rest = code_.let("rest", first + (last - first) / Term(lanes_) * Term(lanes_));
      code_.if_(rest < last, [&] { row(moved(at, axis, rest), code_.let("rows", last - rest)); });
      return;
    }
    code_.loop(str("i", depth), first, last, 1, LoopMark::kSequential,
               [&](Term i) { rows(depth + 1, moved(at, axis, i)); });
  }

  std::vector<Term> moved(const std::vector<Term>& at, const LoopAxis& axis, const Term& i) {
    std::vector<Term> out;
    for (size_t k = 0; k < at.size(); ++k)
      out.push_back(axis.strides[k].is(0) ? at[k] : code_.let("at", at[k] + i * b_.length(axis.strides[k])));
    return out;
  }

  // One row, or one in each lane: of those `group` exist (empty: all).
  void row(const std::vector<Term>& at, const Term& group) {
    group_ = group;
    values_ = {};
    elements_.clear();
    for (size_t k = 0; k < body_.inputs.size(); ++k)
      if (!varies_[k] && !is_gathered(k))
        values_.set(body_.inputs[k], load(k, at[k], vectorize_rows_ ? &kept_.back() : nullptr, group));
    positions_.assign(gathers_.size(), {});
    for (size_t g = 0; g < gathers_.size(); ++g)
      if (!is_element(gathers_[g].node()[0]))
        gather(g, steps_of(g, at), vectorize_rows_ ? &kept_.back() : nullptr, group, values_);
      else if (!vectorize_rows_ && !varies_[first_of(g) + Gather::kIndex] && !varies_[first_of(g) + Gather::kReported])
        positions_[g] = gathers_[g].position(steps_of(g, at));
    between_loops(0);
    for (size_t p = 0; p < reductions_.size(); ++p) {
      row_loop(p, at);
      between_loops(static_cast<int>(p) + 1);
    }
    for (size_t o = 0; o < body_.outputs.size(); ++o) {
      size_t k = body_.inputs.size() + o;
      if (is_element(body_.outputs[o])) continue;
      Term value = values_.at(body_.outputs[o]);
      if (!vectorize_rows_) {
        b_.store(operands_[k], at[k], value);
      } else {
        Term stride = b_.length(kept_.back().strides[k]);
        b_.store(operands_[k], at[k], kernel::splat(value, lanes_), stride, group);
      }
    }
  }

  // Numbers of the row that can be computed once `loops` loops have run.
  void between_loops(int loops) {
    for (const Node* node : nodes_) {
      if (is_element((*node)[0]) || phase_.at(node) != loops || values_.has((*node)[0])) continue;
      if (node->op == &dimshuffle_op())
        values_.set((*node)[0], values_.at(node->inputs[0]));
      else
        write_node(code_, *node, values_);
    }
  }

  // An operand's element, or a vector of them along `axis` (null: one element).
  Term load(size_t k, const Term& index, const LoopAxis* axis, const Term& count) {
    std::string name = body_.inputs[k].name().empty() ? str("x", k) : readable(body_.inputs[k].name());
    bool vector = axis && !axis->strides[k].is(0);
    Term value = vector ? b_.load(operands_[k], index, lanes_, b_.length(axis->strides[k]), count)
                        : b_.load(operands_[k], index);
    return code_.let(identifier(name), value);
  }

  // What gather g steps through, after the operands.
  size_t first_of(size_t g) const { return operands_.size() + Gather::kStepped * g; }
  Gather::Steps steps_of(size_t g, const std::vector<Term>& at) const {
    return {at[first_of(g)], at[first_of(g) + 1], at[first_of(g) + 2]};
  }

  // What the gather reads at `at`: one element, or a vector along `axis`.
  void gather(size_t g, const Gather::Steps& at, const LoopAxis* axis, const Term& count, BodyValues& values) {
    Gather::Steps step{Term(0), Term(0), Term(0)};
    for (size_t s = 0; axis && s < Gather::kStepped; ++s) step[s] = b_.length(axis->strides[first_of(g) + s]);
    const Node& node = gathers_[g].node();
    Term value = gathers_[g].load(at, step, axis ? lanes_ : 1, count, positions_[g]);
    values.set(node[0], code_.let(identifier(node.name.empty() ? node.op->name : node.name), value));
  }

  // ---- elements ----------------------------------------------------------------------------------------------------

  void row_loop(size_t p, const std::vector<Term>& at) {
    int64_t work = 0;
    for (const Node* node : needed_[p]) work += node->op->scalar ? weight_of(*node) : 0;
    int parts = vectorize_rows_ || work > kLightWork || reductions_[p].empty() ? 1 : 4;
    int64_t run = vectorize_rows_ ? kRunOverRows : kReduceBlock * parts * lanes_;
    bool is_long = !(count_.is_known() && count_.value() <= run);
    std::vector<Accumulator> accumulators;
    bool two_levels = false;
    for (const Node* node : reductions_[p]) {
      Accumulator a{node, reduction_of(*node->op), {}, {}};
      bool rounds = a.record->rounds && is_float(node->types[0].dtype);
      for (int i = 0; i < parts; ++i) a.parts.push_back(code_.var("acc", identity(a)));
      if (is_long && rounds) {
        DType wide = vectorize_rows_ ? node->types[0].dtype : wide_of(node->types[0].dtype);
        a.total = code_.var("total", kernel::splat(a.record->identity(wide), vectorize_rows_ ? lanes_ : 1));
        two_levels = true;
      }
      accumulators.push_back(std::move(a));
    }
    if (unrolled_) {
      every_vector(
          at, [&](const Position& position) { element(p, position, accumulators); }, parts);
    } else {
      nest(
          0, at, two_levels ? run : 0, parts, [&](const Position& position) { element(p, position, accumulators); },
          [&] {
            for (Accumulator& a : accumulators)
              if (a.total) flush(a);
          });
    }
    for (Accumulator& a : accumulators) {
      Term result = a.total ? kernel::cast(a.total, a.node->types[0].dtype) : combined(a);
      values_.set((*a.node)[0], code_.let(identifier(a.node->name.empty() ? a.node->op->name : a.node->name), result));
    }
  }

  Term identity(const Accumulator& a) const { return start(*a.record, a.node->inputs[0].dtype(), lanes_); }

  Term combined(const Accumulator& a) {
    std::vector<Term> terms = a.parts;
    while (terms.size() > 1) {
      std::vector<Term> half;
      for (size_t i = 0; i < terms.size(); i += 2)
        half.push_back(code_.let("part", a.record->combine(terms[i], terms[i + 1])));
      terms = half;
    }
    return vectorize_rows_ ? terms[0] : combine_lanes(*a.record, terms[0]);
  }

  void flush(Accumulator& a) {
    code_.assign(a.total, a.record->combine(a.total, kernel::cast(combined(a), a.total.dtype())));
    for (const Term& part : a.parts) code_.assign(part, identity(a));
  }

  // All vectors of a short row, one after the other.
  void every_vector(const std::vector<Term>& at, const std::function<void(const Position&)>& body, int parts) {
    elements_.resize(static_cast<size_t>(vector_count_));
    for (int64_t i = 0; i < vector_count_; ++i) {
      slot_ = static_cast<size_t>(i);
      int64_t left = count_.value() - i * lanes_;
      body({at, Term(i * lanes_), left < lanes_ ? Term(left) : Term(), static_cast<int>(i % parts)});
    }
  }

  // Loops over the reduced axes; `run` elements of the innermost one at a time (0: all), with `after_run` after each.
  void nest(size_t depth, const std::vector<Term>& at, int64_t run, int parts,
            const std::function<void(const Position&)>& body, const std::function<void()>& after_run) {
    const LoopAxis& axis = reduced_[depth];
    Term length = b_.length(axis.length);
    if (depth + 1 < reduced_.size()) {
      code_.loop(str("k", depth), length,
                 [&](Term k) { nest(depth + 1, moved(at, axis, k), run, parts, body, after_run); });
      return;
    }
    if (run == 0) return vector_loops(at, 0, length, parts, body);
    code_.loop("run", 0, length, Term(run), LoopMark::kSequential, [&](Term first) {
      Term left = code_.let("left", length - first);
      vector_loops(at, first, code_.let("n", kernel::select(left < Term(run), left, Term(run))), parts, body);
      after_run();
    });
  }

  // Elements first to first + n of the innermost reduced axis.
  void vector_loops(const std::vector<Term>& at, const Term& first, const Term& n, int parts,
                    const std::function<void(const Position&)>& body) {
    if (vectorize_rows_) {
      code_.loop("j", first, first + n, 1, LoopMark::kSequential, [&](Term j) { body({at, j, {}, 0}); });
      return;
    }
    int64_t step = parts * lanes_;
    if (parts > 1)
      code_.loop("j", 0, n - Term(step - 1), Term(step), LoopMark::kVector, [&](Term j) {
        for (int k = 0; k < parts; ++k) body({at, first + j + Term(k * lanes_), {}, k});
      });
    Term rest = parts > 1 ? code_.let("rest", n / Term(step) * Term(step)) : Term(0);
    code_.loop("j", rest, n - Term(lanes_ - 1), Term(lanes_), LoopMark::kVector, [&](Term j) {
      body({at, first + j, {}, 0});
    });
    if (count_.is_known() && count_.value() % lanes_ == 0 && reduced_.size() == 1) return;
    rest = code_.let("rest", n / Term(lanes_) * Term(lanes_));
    code_.if_(rest < n, [&] { body({at, first + rest, code_.let("count", n - rest), parts - 1}); });
  }

  // What loop `p` does at one position.
  void element(size_t p, const Position& position, std::vector<Accumulator>& accumulators) {
    const LoopAxis& inner = reduced_.back();
    BodyValues values = unrolled_ && p > 0 ? elements_[slot_] : values_;
    if (unrolled_ && p > 0)  // numbers of the row that came since
      for (const Node* node : nodes_)
        if (!is_element((*node)[0]) && values_.has((*node)[0])) values.set((*node)[0], values_.at((*node)[0]));
    auto slot = [&] { return vectorize_rows_ ? position.j * Term(lanes_) : position.j; };
    for (const auto& [node, cached_row] : cached_rows_)
      if (read_[p].count(node))
        values.set((*node)[0],
                   code_.let("v_cached", kernel::load(cached_row, node->types[0].dtype, lanes_, slot(), 1)));
    for (const Node* node : needed_[p]) {
      if (values.has((*node)[0])) continue;
      if (node->inputs.empty()) {
        size_t k = 0;
        while (!body_.inputs[k].same((*node)[0])) ++k;
        Term index = position.at[k] + position.j * b_.length(inner.strides[k]);
        values.set((*node)[0],
                   load(k, index, vectorize_rows_ ? &kept_.back() : &inner, vectorize_rows_ ? group_ : position.count));
      } else if (reads_through_index(*node)) {
        size_t g = 0;
        while (&gathers_[g].node() != node) ++g;
        Gather::Steps at = steps_of(g, position.at);
        for (size_t s = 0; s < at.size(); ++s) at[s] = at[s] + position.j * b_.length(inner.strides[first_of(g) + s]);
        gather(g, at, vectorize_rows_ ? &kept_.back() : &inner, vectorize_rows_ ? group_ : position.count, values);
      } else {
        write_node(code_, *node, values);
      }
      if (const std::string* cached_row = cached_row_of(node))
        code_.store(*cached_row, slot(), 1, kernel::splat(values.at((*node)[0]), lanes_));
    }
    for (Accumulator& a : accumulators) accumulate_at(position, a, values.at(a.node->inputs[0]));
    if (p + 1 == reductions_.size()) store_elements(position, values);
    if (unrolled_) elements_[slot_] = std::move(values);
  }

  void accumulate_at(const Position& position, Accumulator& a, Term x) {
    DType dtype = a.node->types[0].dtype;
    x = kernel::splat(x, lanes_);
    if (is_bool(x.dtype()) && x.type().mask_bytes > 1) {  // a comparison's mask, to one as narrow as a loaded bool
      auto number = [&](int64_t value) { return kernel::splat(kernel::constant_int(DType::kInt8, value), lanes_); };
      x = kernel::select(x, number(1), number(0)) != number(0);
    }
    if (position.count) {  // lanes that do not exist change nothing
      DType lane = size_of(dtype) == 1   ? DType::kInt8
                   : size_of(dtype) == 2 ? DType::kInt16
                   : size_of(dtype) == 4 ? DType::kInt32
                                         : DType::kInt64;
      Term exists = kernel::iota(lane, lanes_) < kernel::splat(kernel::cast(position.count, lane), lanes_);
      x = kernel::select(exists, kernel::cast(x, dtype), identity(a));
    }
    const Term& part = a.parts[static_cast<size_t>(position.accumulator)];
    code_.assign(part, accumulate(*a.record, part, code_.let("x", kernel::cast(x, dtype))));
  }

  void store_elements(const Position& position, const BodyValues& values) {
    const LoopAxis& inner = reduced_.back();
    for (size_t o = 0; o < body_.outputs.size(); ++o) {
      size_t k = body_.inputs.size() + o;
      if (!is_element(body_.outputs[o])) continue;
      Term stride = b_.length((vectorize_rows_ ? kept_.back() : inner).strides[k]);
      Term index = position.at[k] + position.j * b_.length(inner.strides[k]);
      Term value = kernel::splat(values.at(body_.outputs[o]), lanes_);
      b_.store(operands_[k], index, value, stride, vectorize_rows_ ? group_ : position.count);
    }
  }

  StepBuilder& b_;
  Code& code_;
  const Graph& body_;
  RowDomain domain_;
  EmptyRows empty_;
  std::vector<const Node*> nodes_;
  std::vector<Operand> operands_;  // inputs of the body, then outputs
  std::vector<Gather> gathers_;
  std::vector<bool> varies_;  // along a row: of the operands, then of what the gathers step through
  std::vector<LoopAxis> kept_, reduced_;
  Dim count_ = 1;  // elements of a row
  int lanes_ = 1;
  int64_t weight_ = 1;           // simple operations for an element
  bool vectorize_rows_ = false;  // vectors over rows
  bool unrolled_ = false;        // every vector of a row has values of its own
  int64_t vector_count_ = 0;
  std::unordered_map<const Node*, int> phase_;
  std::vector<std::vector<const Node*>> reductions_, needed_;     // of each loop
  std::vector<std::unordered_set<const Node*>> read_;             // kept values that a loop reads
  std::vector<std::pair<const Node*, std::string>> cached_rows_;  // kept values and their arrays

  std::vector<Term> positions_;       // of gathers whose index belongs to the row
  Term group_;                        // rows that exist, in one vector over them
  BodyValues values_;                 // of the row
  std::vector<BodyValues> elements_;  // of each position, if unrolled
  size_t slot_ = 0;
};

}  // namespace

void lower_rows(StepBuilder& b, const Graph& body, EmptyRows empty) {
  Emitter(b, body, empty).run();
}

}  // namespace thtrain
