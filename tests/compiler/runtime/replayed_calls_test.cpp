// Programs whose calls may be recorded and replayed: what changes from call to call is read at addresses that stay.
#include <gtest/gtest.h>

#include <cmath>

#include "compiler/api.h"
#include "compiler/base/error.h"
#include "compiler/plan/program.h"
#include "compiler/tuning/machine.h"
#include "tests/support/error_text.h"

namespace thtrain::replayed_calls_test {
namespace {

kernel::Target replaying() {
  kernel::Target out = machine();
  out.replays_calls = true;
  return out;
}

Tensor numbers(DType dtype, const Shape& shape, int64_t first) {
  Tensor out = Tensor::empty(DType::kFloat64, shape);
  for (int64_t i = 0; i < out.size(); ++i) out.data<double>()[i] = std::sin(static_cast<double>(first + i));
  return out.cast(dtype);
}

// A step of training by a minibatch of 8 of 24 examples, which are shuffled, or of the order in memory.
struct Training {
  Shared x{numbers(DType::kFloat32, {24, 5}, 0), "x"}, y{numbers(DType::kFloat32, {24, 3}, 200), "y"},
      order{Tensor::zeros(DType::kInt64, {24}), "order"}, w{numbers(DType::kFloat32, {5, 3}, 400), "w"},
      rate{Tensor(0.1F), "rate"}, count{int64_t{0}, "count"};
  Function step;

  Training(bool shuffled, const std::optional<kernel::Target>& target) : step(make(shuffled, target)) {
    Tensor locations = Tensor::zeros(DType::kInt64, {24});
    for (int64_t i = 0; i < 24; ++i) locations.data<int64_t>()[i] = 7 * i % 24;
    order.set_value(locations);
  }
  Function make(bool shuffled, const std::optional<kernel::Target>& target) {
    Expr start = iscalar("start");
    auto part = [&](const Shared& all) { return shuffled ? take(all, rows(order, start, 8)) : rows(all, start, 8); };
    Expr cost = sum(sqr(dot(part(x), w) - part(y)));
    return function({start}, {}, {{w, w - rate * grad(cost, std::vector<Expr>{w})[0]}, {count, count + 1}},
                    {.threads = 1, .target = target, .name = "step"});
  }
};

// Where the operands of the steps are in a call.
std::vector<const void*> addresses_of(Function& f, int64_t start) {
  std::vector<const void*> out;
  f.watch(std::vector<Tensor>{Tensor(start)}, [&](const StepEvent& event) {
    for (const Tensor& operand : event.operands) out.push_back(operand.address());
  });
  return out;
}

// Names of values that are passed by value, or that an address depends on, in the steps of a program.
std::set<std::string> values_in_steps(const Program& program) {
  std::set<std::string> names;
  for_each_step(program.body, [&](const Step& step) {
    for (const BufferView& view : step.operands) {
      view.layout.offset.collect_names(names);
      for (const Dim& stride : view.layout.strides) stride.collect_names(names);
    }
    if (const auto* call = std::get_if<kernel::KernelCall>(&step.code)) {
      call->range.collect_names(names);
      for (const auto& length : call->lengths)
        if (const Dim* dim = std::get_if<Dim>(&length)) dim->collect_names(names);
    } else if (const auto* library = std::get_if<kernel::LibraryCall>(&step.code)) {
      for (const kernel::LibraryArgument& argument : library->arguments)
        if (const Dim* dim = std::get_if<Dim>(&argument)) dim->collect_names(names);
    }
  });
  return names;
}

TEST(ReplayedCalls, NoOperandOfATrainingStepMoves) {
  for (bool shuffled : {false, true}) {
    SCOPED_TRACE(shuffled);
    Training usual(shuffled, std::nullopt), replayed(shuffled, replaying());
    EXPECT_EQ(values_in_steps(*usual.step.explain().plan).size(), 1U) << "a processor reads the slices in place";
    EXPECT_EQ(values_in_steps(*replayed.step.explain().plan), std::set<std::string>());
    const std::vector<const void*> in_place = addresses_of(usual.step, 0);
    EXPECT_NE(addresses_of(usual.step, 16), in_place);
    const std::vector<const void*> first = addresses_of(replayed.step, 0);
    EXPECT_FALSE(first.empty());
    EXPECT_EQ(addresses_of(replayed.step, 16), first);
    for (const Training* training : {&usual, &replayed}) training->rate.set_value(Tensor(0.2F));
    addresses_of(usual.step, 5);
    EXPECT_EQ(addresses_of(replayed.step, 5), first) << "the rate is read by its address";
    for (int64_t start : {8, 3, 16}) {
      usual.step({start});
      replayed.step({start});
    }
    EXPECT_TRUE(same_bits(usual.w.get_value(), replayed.w.get_value()));
    EXPECT_EQ(replayed.count.scalar(), 6);
  }
}

TEST(ReplayedCalls, ASliceOutsideIsTheSameError) {
  Training usual(false, std::nullopt), replayed(false, replaying());
  for (int64_t start : {-1, 17}) {
    const std::string text = text_without_node([&] { usual.step({start}); });
    EXPECT_NE(text.find("outside axis 0"), std::string::npos) << text;
    const std::string other = text_without_node([&] { replayed.step({start}); });
    EXPECT_EQ(without_call(other), without_call(text));
  }
}

TEST(ReplayedCalls, ArgumentsAreCopiedToAddressesThatStay) {
  Expr x = vector("x"), a = scalar("a"), i = iscalar("i");
  Function f = function({x, a, i}, {x * a, x[i]}, {}, {.target = replaying()});
  auto addresses = [&](const Tensor& of_x, double of_a, int64_t of_i) {
    std::vector<const void*> out;
    const std::vector<Tensor> results =
        f.watch(std::vector<Tensor>{of_x, Tensor(of_a), Tensor(of_i)}, [&](const StepEvent& event) {
          if (!event.after)
            for (size_t k = 0; k < event.inputs; ++k) out.push_back(event.operands[k].address());
        });
    EXPECT_EQ(results[1].as_double(), of_x.as_double(of_i < 0 ? of_i + of_x.size() : of_i));
    EXPECT_EQ(results[0].as_double(), of_a * of_x.as_double());
    return out;
  };
  const std::vector<const void*> first = addresses(Tensor::vector({1.0, 2.0, 3.0}), 2, 1);
  EXPECT_EQ(addresses(Tensor::vector({4.0, 5.0, 6.0}), 3, -1), first);
  EXPECT_NE(addresses(Tensor::vector({4.0, 5.0, 6.0, 7.0}), 3, 0), first);
  Function g(f);
  EXPECT_EQ(g({Tensor::vector({1.0, 2.0}), Tensor(2.0), Tensor(int64_t{1})})[0].text(), "[2, 4]");
}

TEST(ReplayedCalls, PartsAreWrittenWhereTheStartSays) {
  Expr x = tensor("x", {6, 2}, DType::kFloat64), y = tensor("y", {2, 2}, DType::kFloat64), start = iscalar("start");
  const Expr set = set_subtensor(rows(x, start, 2), y), added = inc_subtensor(x[start], y[0]);
  Function usual = function({x, y, start}, {set, added}),
           replayed = function({x, y, start}, {set, added}, {}, {.target = replaying()});
  EXPECT_EQ(values_in_steps(*replayed.explain().plan), std::set<std::string>());
  const Tensor of_x = numbers(DType::kFloat64, {6, 2}, 0), of_y = numbers(DType::kFloat64, {2, 2}, 50);
  for (int64_t at : {0, 3, 4}) {
    const std::vector<Tensor> a = usual({of_x, of_y, Tensor(at)}), b = replayed({of_x, of_y, Tensor(at)});
    EXPECT_TRUE(same_bits(a[0], b[0]));
    EXPECT_TRUE(same_bits(a[1], b[1]));
  }
}

}  // namespace
}  // namespace thtrain::replayed_calls_test
