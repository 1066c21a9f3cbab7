// How random plans are drawn.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "compiler/api.h"
#include "compiler/ops/elemwise/scalar_op.h"
#include "compiler/ops/registry.h"
#include "tests/fuzz/random_body.h"
#include "tests/fuzz/random_program.h"
#include "tests/fuzz/smooth_functions.h"

namespace thtrain {
namespace {

constexpr int64_t kMaxElements = 600;
using Args = const std::vector<Expr>&;

class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed * 0x9e3779b97f4a7c15u + 1) { plan_.seed = seed; }

  ProgramPlan run() {
    is_hard_ = one_in(8);
    is_wide_ = one_in(6);
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
  // ---- draws ---------------------------------------------------------------------------------------------------

  size_t below(size_t n) { return static_cast<size_t>(random_() % n); }
  bool one_in(size_t n) { return below(n) == 0; }
  double uniform(double low, double high) {
    return low + (high - low) * static_cast<double>(random_() >> 11) * 0x1p-53;
  }
  template <class T>
  T pick(std::initializer_list<T> from) {
    return from.begin()[below(from.size())];
  }

  DType some_dtype() {
    if (!one_in(4)) return main_;
    return pick({DType::kFloat32, DType::kFloat64, DType::kInt64, DType::kInt32, DType::kBool, DType::kUInt8,
                 DType::kInt8, DType::kInt16, DType::kUInt64, DType::kComplex64, DType::kComplex128});
  }

  double some_number() {
    if (is_hard_ && one_in(6))
      return pick({std::nan(""), static_cast<double>(INFINITY), -static_cast<double>(INFINITY), -0.0, 0.0, 1e38, -1e-38,
                   700.0, -120.0});
    const double x = uniform(-1, 1) + uniform(-1, 1);
    if (is_wide_) return x * std::exp2(uniform(-20, 20));
    return one_in(8) ? std::round(x) : x;
  }

  Tensor some_values(DType dtype, const Shape& shape) {
    Tensor out = Tensor::empty(DType::kFloat64, shape);
    for (int64_t i = 0; i < out.size(); ++i) {
      double& x = out.data<double>()[i];
      x = is_float(dtype) || is_complex(dtype) ? some_number() : static_cast<double>(below(5));
      if (is_signed_int(dtype)) x -= 2;
    }
    return out.cast(dtype);
  }

  // ---- values --------------------------------------------------------------------------------------------------

  // A value for which `is_fit` holds, late ones more often; npos if there is none.
  template <class F>
  size_t find(F is_fit) {
    std::vector<size_t> fit;
    for (size_t i = 0; i < values_.size(); ++i)
      if (is_fit(values_[i])) {
        fit.push_back(i);
        if (i + 5 > values_.size()) fit.push_back(i);
      }
    return fit.empty() ? kNone : fit[below(fit.size())];
  }
  size_t any_value() {
    return find([](const Expr&) { return true; });
  }
  size_t some_float() {
    return find([](const Expr& e) { return is_float(e.dtype()); });
  }
  size_t of_rank(size_t rank) {
    return find([&](const Expr& e) { return is_float(e.dtype()) && e.rank() == rank; });
  }
  // A value that broadcasts with `like`, of its dtype where there is one.
  size_t beside(size_t like) {
    const Expr x = values_[like];
    auto fits = [&](const Expr& e) {
      const size_t rank = std::min(e.rank(), x.rank());
      for (size_t i = 1; i <= rank; ++i) {
        const Dim &a = e.dims()[e.rank() - i], &b = x.dims()[x.rank() - i];
        if (!(a == b) && !a.is(1) && !b.is(1)) return false;
      }
      return one_in(4) || e.dtype() == x.dtype();
    };
    return find(fits);
  }

  static bool is_small(const Expr& e) {
    if (e.type().kind != TypeKind::kTensor || e.rank() > 4) return false;
    int64_t elements = 1;
    for (const Dim& dim : e.dims()) elements *= dim.is_known() ? std::max<int64_t>(dim.value(), 1) : 5;
    return elements <= kMaxElements;
  }

  // Keeps the statement if it is typed.
  bool add(std::string text, std::vector<size_t> arguments, std::function<Expr(Args)> make) {
    for (size_t place : arguments)
      if (place == kNone) return false;
    std::vector<Expr> given;
    for (size_t place : arguments) given.push_back(values_[place]);
    Expr value;
    try {
      value = make(given);
    } catch (const UserError&) {
      return false;
    }
    if (!value.has_value() || !is_small(value)) return false;
    plan_.statements.push_back({std::move(text), std::move(arguments), std::move(make)});
    values_.push_back(value);
    return true;
  }

  // ---- leaves --------------------------------------------------------------------------------------------------

  Dims some_dims() {
    const size_t rank = pick<size_t>({0, 1, 1, 2, 2, 2, 3});
    Dims out;
    for (size_t i = 0; i < rank; ++i) out.push_back(one_in(8) ? Dim(1) : lengths_[below(3)]);
    return out;
  }

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

  // ---- statements ----------------------------------------------------------------------------------------------

  void add_statement() {
    switch (below(22)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return add_arithmetic();
      case 4:
      case 5:
        return add_smooth();
      case 6:
      case 7:
        return add_elementwise();
      case 8:
      case 9:
      case 10:
        return add_reduction();
      case 11:
      case 12:
        return add_dot();
      case 13:
        return add_literal();
      case 14:
        return add_softmax();
      case 15:
        return add_shape();
      case 16:
        return add_part();
      case 17:
        return add_gather();
      case 18:
        return add_choice();
      case 19:
        return one_in(2) ? add_control() : add_cast();
      default:
        return add_masked();
    }
  }

  void add_arithmetic() {
    const size_t x = any_value(), y = beside(x);
    switch (below(6)) {
      case 0:
      case 1:
        add("$0 + $1", {x, y}, [](Args a) { return a[0] + a[1]; });
        break;
      case 2:
        add("$0 - $1", {x, y}, [](Args a) { return a[0] - a[1]; });
        break;
      case 3:
      case 4:
        add("$0 * $1", {x, y}, [](Args a) { return a[0] * a[1]; });
        break;
      default:
        add("$0 / $1", {x, y}, [](Args a) { return a[0] / a[1]; });
    }
  }

  // Functions that are harmless on all numbers, and compositions that rules look for.
  void add_smooth() {
    const NamedFunction& f = smooth_functions()[below(smooth_functions().size())];
    add(f.text, {some_float()}, [make = f.make](Args a) { return make(a[0]); });
  }

  // Any of the table's ops.
  void add_elementwise() {
    const std::vector<const ScalarOp*>& records = scalar_ops();
    const ScalarOp& record = *records[below(records.size())];
    if (record.name == "cast" || record.outputs > 1) return;
    const Op* op = find_op(record.name);
    std::vector<size_t> arguments{any_value()};
    std::string text = str("elementwise(*find_op(\"", record.name, "\"), {$0");
    for (int i = 1; i < record.arity; ++i) {
      arguments.push_back(beside(arguments[0]));
      text += str(", $", i);
    }
    add(text + "}, {}, std::source_location::current())", arguments,
        [op](Args a) { return elementwise(*op, a, {}, std::source_location::current()); });
  }

  void add_literal() {
    const double number = pick({0.0, 1.0, -1.0, 2.0, 0.5, -0.25, 3.0, 0.1, 1e-3});
    const int which = static_cast<int>(below(6));
    static const char* texts[] = {"$0 + ", "$0 * ", "$0 / ", "sub(#, $0)", "true_div(#, $0)", "pow($0, #)"};
    std::string text = texts[which];
    if (text.find('#') != std::string::npos)
      text.replace(text.find('#'), 1, str(number));
    else
      text += str(number);
    add(text, {some_float()}, [number, which](Args a) {
      switch (which) {
        case 0:
          return a[0] + number;
        case 1:
          return a[0] * number;
        case 2:
          return a[0] / number;
        case 3:
          return sub(number, a[0]);
        case 4:
          return true_div(number, a[0]);
        default:
          return pow(a[0], number);
      }
    });
  }

  void add_reduction() {
    const size_t x = any_value();
    const size_t rank = values_[x].rank();
    const bool keep = one_in(3);
    const std::string kept = keep ? "true" : "false";
    Axes axes;
    std::string text = "{}";
    if (rank > 0 && !one_in(3)) {
      const auto axis = static_cast<int64_t>(below(rank));
      axes = Axes(axis);
      text = str(axis);
    }
    const int64_t one = axes.given().empty() ? 0 : axes.given()[0];
    const bool all_of_them = axes.given().empty();
    switch (below(11)) {
      case 0:
      case 1:
      case 2:
        add("sum($0, " + text + ", " + kept + ")", {x}, [=](Args a) { return sum(a[0], axes, keep); });
        break;
      case 3:
        add("mean($0, " + text + ", " + kept + ")", {x}, [=](Args a) { return mean(a[0], axes, keep); });
        break;
      case 4:
        add("max($0, " + text + ", " + kept + ")", {x}, [=](Args a) { return max(a[0], axes, keep); });
        break;
      case 5:
        add("min($0, " + text + ", " + kept + ")", {x}, [=](Args a) { return min(a[0], axes, keep); });
        break;
      case 6:
        add("prod($0, " + text + ", " + kept + ")", {x}, [=](Args a) { return prod(a[0], axes, keep); });
        break;
      case 7:
        add("any($0, " + text + ", " + kept + ")", {x}, [=](Args a) { return any(a[0], axes, keep); });
        break;
      case 8:
        add("all($0, " + text + ", " + kept + ")", {x}, [=](Args a) { return all(a[0], axes, keep); });
        break;
      case 9:
        add(all_of_them ? "argmax($0)" : str("argmax($0, ", one, ")"), {x},
            [=](Args a) { return all_of_them ? argmax(a[0]) : argmax(a[0], one); });
        break;
      default: {
        // log-sum-exp and normalization along an axis
        if (one_in(2))
          add("log(sum(exp($0), " + text + ", true))", {x}, [=](Args a) { return log(sum(exp(a[0]), axes, true)); });
        else
          add("$0 - mean($0, " + text + ", true)", {x}, [=](Args a) { return a[0] - mean(a[0], axes, true); });
      }
    }
  }

  void add_dot() {
    const size_t x = find([](const Expr& e) { return e.rank() >= 1 && e.rank() <= 2; });
    if (x == kNone) return;
    const Expr left = values_[x];
    const size_t y = find([&](const Expr& e) {
      return e.rank() >= 1 && e.rank() <= 2 && e.dtype() == left.dtype() &&
             (e.dims()[0] == left.dims().back() || e.dims().back() == left.dims().back());
    });
    if (y == kNone) return;
    const bool is_plain = values_[y].dims()[0] == left.dims().back() && !one_in(4);
    if (is_plain)
      add("dot($0, $1)", {x, y}, [](Args a) { return dot(a[0], a[1]); });
    else
      add("dot($0, transpose($1))", {x, y}, [](Args a) { return dot(a[0], transpose(a[1])); });
  }

  void add_softmax() {
    const size_t x = find([](const Expr& e) { return is_float(e.dtype()) && e.rank() > 0; });
    if (x == kNone) return;
    const auto axis = static_cast<int64_t>(below(values_[x].rank()));
    switch (below(3)) {
      case 0:
        add(str("softmax($0, ", axis, ")"), {x}, [=](Args a) { return softmax(a[0], axis); });
        break;
      case 1:
        add(str("log_softmax($0, ", axis, ")"), {x}, [=](Args a) { return log_softmax(a[0], axis); });
        break;
      default:
        add(str("exp($0) / sum(exp($0), ", axis, ", true)"), {x},
            [=](Args a) { return exp(a[0]) / sum(exp(a[0]), axis, true); });
    }
  }

  void add_shape() {
    const size_t x = any_value();
    const size_t rank = values_[x].rank();
    switch (below(5)) {
      case 0:
        add("transpose($0)", {x}, [](Args a) { return transpose(a[0]); });
        break;
      case 1:
        add("flatten($0)", {x}, [](Args a) { return flatten(a[0]); });
        break;
      case 2: {
        const auto axis = static_cast<int64_t>(below(rank + 1));
        add(str("expand_dims($0, {", axis, "})"), {x}, [=](Args a) { return expand_dims(a[0], {axis}); });
        break;
      }
      case 3: {
        const size_t y = find([&](const Expr& e) { return e.rank() == rank && e.dtype() == values_[x].dtype(); });
        const auto axis = static_cast<int64_t>(rank > 0 ? below(rank) : 0);
        add(str("join(", axis, ", {$0, $1})"), {x, y}, [=](Args a) {
          return join(axis, std::vector<Operand>{a[0], a[1]});
        });
        break;
      }
      default: {
        const size_t like = beside(x);
        add("broadcast_like($0, $1)", {x, like}, [](Args a) { return broadcast_like(a[0], a[1]); });
      }
    }
  }

  void add_part() {
    const size_t x = find([](const Expr& e) { return e.rank() > 0; });
    if (x == kNone) return;
    const int64_t start = static_cast<int64_t>(below(3)), step = pick<int64_t>({1, 1, 2, -1});
    switch (below(5)) {
      case 0:
        add("subtensor($0, {0})", {x}, [](Args a) { return subtensor(a[0], {0}); });
        break;
      case 1:
        add(str("subtensor($0, {Slice{.start = ", start, "}})"), {x},
            [=](Args a) { return subtensor(a[0], {Slice{.start = Operand(start)}}); });
        break;
      case 2:
        add(str("subtensor($0, {Slice{.step = ", step, "}})"), {x},
            [=](Args a) { return subtensor(a[0], {Slice{.step = Operand(step)}}); });
        break;
      case 3:
        add(str("inc_subtensor(subtensor($0, {Slice{.start = ", start, "}}), $1)"), {x, of_rank(0)},
            [=](Args a) { return inc_subtensor(subtensor(a[0], {Slice{.start = Operand(start)}}), a[1]); });
        break;
      default:
        add("set_subtensor(subtensor($0, {0}), $1)", {x, of_rank(0)},
            [](Args a) { return set_subtensor(subtensor(a[0], {0}), a[1]); });
    }
  }

  // Indices are the remainders of what is there, so that all are inside.
  void add_gather() {
    const size_t x = find([](const Expr& e) {
      return e.rank() > 0 && e.dims()[0].is_known() && e.dims()[0].value() > 0 && e.dims().back().is_known() &&
             e.dims().back().value() > 0;
    });
    const size_t i = find([](const Expr& e) { return is_int(e.dtype()) && e.rank() == 1; });
    if (x == kNone || i == kNone) return;
    const int64_t n = values_[x].dims()[0].value(), last = values_[x].dims().back().value();
    switch (below(3)) {
      case 0:
        add(str("take($0, cast($1, DType::kInt64) % ", n, ")"), {x, i},
            [=](Args a) { return take(a[0], cast(a[1], DType::kInt64) % n); });
        break;
      case 1:
        add(str("pick_rows($0, cast($1, DType::kInt64) % ", last, ")"), {x, i},
            [=](Args a) { return pick_rows(a[0], cast(a[1], DType::kInt64) % last); });
        break;
      default:
        add(str("scatter_add($0, cast($1, DType::kInt64) % ", n, ", $2)"), {x, i, of_rank(0)},
            [=](Args a) { return scatter_add(a[0], cast(a[1], DType::kInt64) % n, a[2]); });
    }
  }

  void add_choice() {
    const size_t x = some_float(), y = beside(x == kNone ? 0 : x);
    switch (below(4)) {
      case 0:
        add("switch_($0 < $1, $0, $1)", {x, y}, [](Args a) { return switch_(a[0] < a[1], a[0], a[1]); });
        break;
      case 1:
        add("switch_(gt($0, 0), $1, 0)", {x, y}, [](Args a) { return switch_(gt(a[0], 0), a[1], 0); });
        break;
      case 2:
        add("switch_(isnan($0), 0, $0)", {x}, [](Args a) { return switch_(isnan(a[0]), 0, a[0]); });
        break;
      default:
        add("switch_(gt($0, 0.5), 0, $1) / $0", {x, y}, [](Args a) { return switch_(gt(a[0], 0.5), 0, a[1]) / a[0]; });
    }
  }

  void add_cast() {
    const DType dtype = pick({DType::kFloat32, DType::kFloat64, DType::kFloat32, DType::kFloat64, DType::kBool});
    const size_t x = find([](const Expr& e) { return !is_complex(e.dtype()); });
    add("cast($0, " +
            std::string(dtype == DType::kFloat32   ? "DType::kFloat32"
                        : dtype == DType::kFloat64 ? "DType::kFloat64"
                                                   : "DType::kBool") +
            ")",
        {x}, [dtype](Args a) { return cast(a[0], dtype); });
  }

  // Parts that a mask chooses. The mask follows from a leaf, whose values all modes have to the last bit.
  void add_masked() {
    const size_t x = find([](const Expr& e) { return e.rank() > 0; });
    if (x == kNone) return;
    std::vector<size_t> fit;
    for (size_t leaf = 0; leaf < plan_.leaves.size(); ++leaf) {
      const Dims &dims = values_[leaf].dims(), &of = values_[x].dims();
      if (dims == of || (dims.size() == 1 && dims[0] == of[0])) fit.push_back(leaf);
    }
    if (fit.empty()) return;
    const size_t leaf = fit[below(fit.size())];
    const std::string part = "$0[gt($1, 0)]";
    const auto part_of = [](const Expr& value, const Expr& like) { return value[gt(like, 0)]; };
    const size_t scalar = of_rank(0), like = find([&](const Expr&e) { return e.type() == values_[x].type(); });
    switch (below(6)) {
      case 0:
      case 1:
        add(part, {x, leaf}, [=](Args a) { return part_of(a[0], a[1]); });
        break;
      case 2:
        add("sum(" + part + ")", {x, leaf}, [=](Args a) { return sum(part_of(a[0], a[1])); });
        break;
      case 3:
        add("set_subtensor(" + part + ", $2)", {x, leaf, scalar},
            [=](Args a) { return set_subtensor(part_of(a[0], a[1]), a[2]); });
        break;
      case 4:
        add("set_subtensor(" + part + ", $2[gt($1, 0)])", {x, leaf, like},
            [=](Args a) { return set_subtensor(part_of(a[0], a[1]), part_of(a[2], a[1])); });
        break;
      default:
        add("inc_subtensor(" + part + ", $2)", {x, leaf, scalar},
            [=](Args a) { return inc_subtensor(part_of(a[0], a[1]), a[2]); });
    }
  }

  // Loops and branches in each other.
  void add_control() {
    const size_t x = some_float();
    if (x == kNone) return;
    const size_t c = find([&](const Expr& e) { return e.type() == values_[x].type(); });
    const RandomBody body = random_body([this](size_t n) { return below(n); }, 1 + below(3));
    add(str("[&](const Expr& s, const Expr& c) { return Expr(", body.text, "); }($0, $1)"), {x, c},
        [body](Args a) { return body.build(a[0], a[1]); });
  }

  // ---- gradients, results --------------------------------------------------------------------------------------

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
      const size_t place = values_.size() - 1 - below(std::min<size_t>(values_.size(), 4));
      if (std::ranges::find(plan_.outputs, place) == plan_.outputs.end()) plan_.outputs.push_back(place);
    }
    for (size_t leaf = 0; leaf < plan_.leaves.size(); ++leaf) {
      if (!plan_.leaves[leaf].is_shared || one_in(3)) continue;
      const size_t place =
          find([&](const Expr& e) { return e.type() == values_[leaf].type() && !e.same(values_[leaf]); });
      if (place == kNone) continue;
      if (is_float(values_[leaf].dtype()) && one_in(2)) {
        if (!add("$0 - 0.1 * $1", {leaf, place}, [](Args a) { return a[0] - 0.1 * a[1]; })) continue;
        plan_.updates.emplace_back(leaf, values_.size() - 1);
      } else {
        plan_.updates.emplace_back(leaf, place);
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

  static constexpr size_t kNone = ~size_t(0);

  std::mt19937_64 random_;
  ProgramPlan plan_;
  std::vector<Expr> values_;
  Dim lengths_[3] = {Dim(1), Dim(1), Dim(1)};
  bool is_hard_ = false, is_wide_ = false, named_ = false;
  DType main_ = DType::kFloat64;
};

}  // namespace

ProgramPlan random_plan(uint64_t seed) {
  return Generator(seed).run();
}

}  // namespace thtrain
