// How random plans are drawn.
#include <algorithm>

#include "tests/fuzz/random_statements.h"

namespace thtrain {
namespace {

class Generator : public RandomStatements {
 public:
  using RandomStatements::RandomStatements;

  ProgramPlan run() {
    is_hard_ = one_in(8);
    is_wide_ = one_in(6);
    is_tied_ = one_in(4);
    for (Dim& length : lengths_) length = pick<int64_t>({1, 2, 3, 3, 4, 5, 7, 8, 13, 17, 33});
    if (one_in(20)) lengths_[0] = 0;
    if (one_in(4)) named_ = true;
    main_ = one_in(2) ? DType::kFloat32 : DType::kFloat64;
    add_leaves();
    const size_t statements = 3 + below(14);
    for (int tries = 0; plan_.statements.size() < statements && tries < 400; ++tries) add_statement();
    add_gradients();
    add_results();
    add_calls();
    return plan_;
  }

 private:
  void add_leaves() {
    const size_t inputs = below(4), shared = below(3) + (inputs == 0 ? 1 : 0);
    for (size_t i = 0; i < inputs + shared; ++i) {
      const bool is_shared = i >= inputs;
      Type type{.dtype = some_dtype(), .dims = some_dims()};
      if (i == 0) type.dtype = main_;
      if (named_ && !is_shared)
        for (Dim& dim : type.dims)
          if (dim == lengths_[2] && !dim.is(1)) dim = Dim("n");
      ProgramPlan::Leaf leaf{type, is_shared};
      if (is_shared) leaf.initial = some_values(type.dtype, type.known_shape());
      plan_.leaves.push_back(leaf);
    }
    values_ = build(plan_).values;
  }

  void add_gradients() {
    const size_t orders = below(3);
    size_t cost_of = some_float();
    for (size_t order = 0; order < orders && cost_of != kNone; ++order) {
      const bool is_plain = one_in(2);
      if (!add(is_plain ? "sum($0)" : "sum(sqr($0))", {cost_of},
               [is_plain](Args a) { return sum(is_plain ? a[0] : sqr(a[0])); }))
        return;
      const size_t cost = values_.size() - 1;
      size_t last = kNone;
      for (size_t leaf = 0; leaf < plan_.leaves.size(); ++leaf) {
        if (!is_float(values_[leaf].dtype()) || (last != kNone && one_in(2))) continue;
        if (add("grad($0, $1)", {cost, leaf}, [](Args a) { return grad(a[0], a[1]); })) last = values_.size() - 1;
      }
      cost_of = last;
    }
  }

  void add_results() {
    const size_t count = 1 + below(3);
    for (size_t i = 0; i < count; ++i) {
      const size_t index = values_.size() - 1 - below(std::min<size_t>(values_.size(), 4));
      if (std::ranges::find(plan_.outputs, index) == plan_.outputs.end()) plan_.outputs.push_back(index);
    }
    for (size_t leaf = 0; leaf < plan_.leaves.size(); ++leaf) {
      if (!plan_.leaves[leaf].is_shared || one_in(3)) continue;
      const size_t index =
          find([&](const Expr& e) { return e.type() == values_[leaf].type() && !e.same(values_[leaf]); });
      if (index == kNone) continue;
      if (is_float(values_[leaf].dtype()) && one_in(2)) {
        if (!add("$0 - 0.1 * $1", {leaf, index}, [](Args a) { return a[0] - 0.1 * a[1]; })) continue;
        plan_.updates.emplace_back(leaf, values_.size() - 1);
      } else {
        plan_.updates.emplace_back(leaf, index);
      }
    }
  }

  void add_calls() {
    const size_t calls = plan_.updates.empty() ? 1 : 1 + below(3);
    for (size_t call = 0; call < calls; ++call) {
      std::vector<Tensor> given;
      for (const ProgramPlan::Leaf& leaf : plan_.leaves) {
        if (leaf.is_shared) continue;
        Shape shape;
        for (const Dim& dim : leaf.type.dims) shape.push_back(dim.is_known() ? dim.value() : lengths_[2].value());
        given.push_back(some_values(leaf.type.dtype, shape));
      }
      plan_.calls.push_back(std::move(given));
    }
  }
};

}  // namespace

ProgramPlan random_plan(uint64_t seed) {
  return Generator(seed).run();
}

}  // namespace thtrain
