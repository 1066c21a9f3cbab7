#include "tests/fuzz/random_statements.h"

#include <algorithm>

#include "compiler/ops/elemwise/scalar_op.h"
#include "compiler/ops/registry.h"
#include "tests/fuzz/random_body.h"
#include "tests/fuzz/smooth_functions.h"

namespace thtrain {

void RandomStatements::add_statement() {
  switch (below(30)) {
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
    case 20:
      return add_pooling();
    case 21:
    case 22:
      return add_indexed();
    case 23:
    case 24:
      return add_ordered();
    case 25:
      return add_cumulated();
    case 26:
      return add_batched();
    case 27:
      return one_in(3) ? add_transformed() : add_factored();
    default:
      return add_masked();
  }
}

void RandomStatements::add_arithmetic() {
  const size_t x = any_value(), y = operand_for(x);
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
void RandomStatements::add_smooth() {
  const NamedFunction& f = smooth_functions()[below(smooth_functions().size())];
  add(f.text, {some_float()}, [make = f.make](Args a) { return make(a[0]); });
}

// Any of the table's ops.
void RandomStatements::add_elementwise() {
  const std::vector<const ScalarOp*>& records = scalar_ops();
  const ScalarOp& record = *records[below(records.size())];
  if (record.name == "cast" || record.outputs > 1) return;
  const Op* op = find_op(record.name);
  std::vector<size_t> arguments{any_value()};
  std::string text = str("elementwise(*find_op(\"", record.name, "\"), {$0");
  for (int i = 1; i < record.arity; ++i) {
    arguments.push_back(operand_for(arguments[0]));
    text += str(", $", i);
  }
  add(text + "}, {}, std::source_location::current())", arguments,
      [op](Args a) { return elementwise(*op, a, {}, std::source_location::current()); });
}

void RandomStatements::add_literal() {
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

void RandomStatements::add_reduction() {
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

void RandomStatements::add_dot() {
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

void RandomStatements::add_softmax() {
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

// Of functions of elements, which pooling may come before.
void RandomStatements::add_pooling() {
  const size_t x = find([](const Expr& e) { return is_float(e.dtype()) && e.rank() > 0; });
  if (x == kNone) return;
  const NamedFunction& f = smooth_functions()[below(smooth_functions().size())];
  const int64_t window = pick<int64_t>({2, 2, 3}), stride = pick<int64_t>({1, 2, 3});
  add(str("pool(", f.text, ", {.window = {", window, "}, .stride = {", stride, "}})"), {x},
      [=, make = f.make](Args a) { return pool(make(a[0]), {.window = {window}, .stride = {stride}}); });
}

void RandomStatements::add_shape() {
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
      const size_t like = operand_for(x);
      add("broadcast_like($0, $1)", {x, like}, [](Args a) { return broadcast_like(a[0], a[1]); });
    }
  }
}

void RandomStatements::add_part() {
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
void RandomStatements::add_gather() {
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

void RandomStatements::add_choice() {
  const size_t x = some_float(), y = operand_for(x == kNone ? 0 : x);
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

void RandomStatements::add_cast() {
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
void RandomStatements::add_masked() {
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
void RandomStatements::add_control() {
  const size_t x = some_float();
  if (x == kNone) return;
  const size_t c = find([&](const Expr& e) { return e.type() == values_[x].type(); });
  const RandomBody body = random_body([this](size_t n) { return below(n); }, 1 + below(3));
  add(str("[&](const Expr& s, const Expr& c) { return Expr(", body.text, "); }($0, $1)"), {x, c},
      [body](Args a) { return body.build(a[0], a[1]); });
}

}  // namespace thtrain
