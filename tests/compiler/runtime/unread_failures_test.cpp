// Calls without outputs do not wait for the device: what has failed is told by whoever reads next, and no variable has
// changed since.
#include <gtest/gtest.h>

#include <functional>
#include <optional>

#include "compiler/api.h"
#include "tests/support/device_under_test.h"
#include "tests/support/error_text.h"
#include "tests/support/target_calls.h"

namespace thtrain::unread_failures_test {
namespace {

const FunctionOptions kDevice = {.target = device_under_test(), .name = "count"};
const char* const kError = "error: take: the index 7 is outside axis 0\n  expected: -3 <= index < 3";

/// w counts the calls, v adds what an index names.
struct Counted {
  Shared w{Tensor::vector({0.0, 0.0}), "w"}, v{Tensor(0.0), "v"}, table{Tensor::vector({1.0, 2.0, 3.0}), "table"};
  std::optional<Function> count;

  explicit Counted(const FunctionOptions& options = kDevice) {
    const Expr at = tensor("at", {}, DType::kInt64);
    count.emplace(function({at}, {}, {{w, w + 1.0}, {v, v + take(table, at)}}, options));
  }
  void call(int64_t at) { (*count)({Tensor(at)}); }
};

std::string error_of(const std::function<void()>& action) {
  return without_call(text_without_node(action));
}

TEST(UnreadFailures, AreToldByWhoReadsAndVariablesStay) {
  Counted c;
  c.call(1);
  c.call(7);
  EXPECT_EQ(error_of([&] { c.v.get_value(); }), kError);
  EXPECT_EQ(c.w.get_value().text(), "[1, 1]");
  EXPECT_EQ(c.v.get_value().text(), "2");
  c.call(0);
  EXPECT_EQ(c.w.get_value().text(), "[2, 2]");
  EXPECT_EQ(c.v.get_value().text(), "3");
}

// The error comes at the third call behind the wrong one at the latest; those between have changed nothing.
TEST(UnreadFailures, AreToldByLaterCalls) {
  Counted c;
  c.call(1);
  int calls = 0;
  const std::string text = error_of([&] {
    c.call(7);
    for (; calls < 10; ++calls) c.call(2);
  });
  EXPECT_EQ(text, kError);
  EXPECT_GE(calls, 1);
  EXPECT_LE(calls, 2);
  EXPECT_EQ(c.w.get_value().text(), "[1, 1]");
  EXPECT_EQ(c.v.get_value().text(), "2");
  c.call(2);
  EXPECT_EQ(c.v.get_value().text(), "5");
}

// Also a variable that is written before the check: in the call that fails, and in none behind it.
TEST(UnreadFailures, UpdatesBeforeTheCheckStopToo) {
  const Shared table(numbers({3}), "table"), k(Tensor(int64_t{0}), "k"), v(Tensor(0.0), "v");
  const Expr next = k + 1;
  Function f = function({}, {}, {{k, next}, {v, v + take(table, next)}}, kDevice);
  for (int i = 0; i < 2; ++i) f({});
  const std::string text = error_of([&] {
    for (int i = 0; i < 4; ++i) f({});
  });
  EXPECT_TRUE(text.starts_with("error: take: the index 3 is outside axis 0")) << text;
  EXPECT_EQ(k.get_value().text(), "3");
}

// They name the call that was wrong.
TEST(UnreadFailures, NameTheLineOfTheCall) {
  Counted c;
  std::string node;
  try {
    c.call(7);
    c.v.get_value();
  } catch (const UserError& error) {
    node = error.messages().front().node;
  }
  EXPECT_NE(node.find("count is called at "), std::string::npos) << node;
  EXPECT_NE(node.find("unread_failures_test.cpp"), std::string::npos) << node;
}

// Of calls on several lines it is not known which was wrong: none is named.
TEST(UnreadFailures, NameNoLineWhereTheCallsHaveSeveral) {
  Counted c;
  const auto node_of = [&](const std::function<void()>& calls) {
    try {
      calls();
      c.v.get_value();
    } catch (const UserError& error) {
      return error.messages().front().node;
    }
    return std::string("no error");
  };
  const std::string one = node_of([&] {
    for (int i = 0; i < 2; ++i) (*c.count)({Tensor(int64_t{7})});
  });
  const size_t at = one.find("count is called at ");
  EXPECT_NE(at, std::string::npos) << one;
  EXPECT_EQ(one.find("count is called at ", at + 1), std::string::npos) << one;
  const std::string several = node_of([&] {
    (*c.count)({Tensor(int64_t{7})});
    (*c.count)({Tensor(int64_t{1})});
  });
  EXPECT_EQ(several.find("is called"), std::string::npos) << several;
  EXPECT_NE(several.find("built at "), std::string::npos) << several;
}

TEST(UnreadFailures, AreToldByOtherFunctionsAndByVariablesOfThem) {
  Counted c;
  const Shared other(Tensor(1.0), "other");
  Function on_device = function({}, {}, {{other, other * 2.0}}, kDevice), on_host = function({}, {c.w * 2.0});
  c.call(7);
  EXPECT_EQ(error_of([&] { on_device({}); }), kError);
  on_device({});
  c.call(7);
  EXPECT_EQ(error_of([&] { on_host({}); }), kError);
  EXPECT_EQ(on_host({})[0].text(), "[0, 0]");
  c.call(7);
  EXPECT_EQ(error_of([&] { other.get_value(); }), kError);
  EXPECT_EQ(other.get_value().text(), "2");
}

TEST(UnreadFailures, OutliveTheirFunction) {
  Counted c;
  c.call(7);
  c.count.reset();
  EXPECT_EQ(error_of([&] { c.w.get_value(); }), kError);
  EXPECT_EQ(c.w.get_value().text(), "[0, 0]");
}

TEST(UnreadFailures, AreToldBeforeAProgramIsExchanged) {
  Counted c;
  c.call(7);
  EXPECT_EQ(error_of([&] { c.count->start_profile(); }), kError);
  c.call(7);
  EXPECT_EQ(error_of([&] { c.count->free(); }), kError);
  c.call(7);
  EXPECT_EQ(error_of([&] { c.count->watch(std::vector{Tensor(int64_t{0})}, [](const StepEvent&) {}); }), kError);
  EXPECT_EQ(c.w.get_value().text(), "[0, 0]");
}

// A value that is set is that of calls behind it.
TEST(UnreadFailures, ValuesThatAreSetKeepTheirPlaceAmongCalls) {
  const Shared rate(Tensor(0.0), "rate"), total(Tensor(0.0), "total");
  Function add = function({}, {}, {{total, total * 2.0 + rate}}, kDevice);
  double expected = 0;
  for (int i = 0; i < 50; ++i) {
    rate.set_value(Tensor(static_cast<double>(i % 3)));
    add({});
    if (i % 20 == 7) total.set_value(Tensor(1.0));
    expected = i % 20 == 7 ? 1 : 2 * expected + i % 3;
  }
  EXPECT_EQ(total.scalar(), expected);
}

TEST(UnreadFailures, ACallThatGivesSomethingWaits) {
  const Shared table(Tensor::vector({1.0, 2.0, 3.0}), "table"), w(Tensor(0.0), "w");
  const Expr at = tensor("at", {}, DType::kInt64);
  Function f = function({at}, {take(table, at)}, {{w, w + 1.0}}, kDevice);
  EXPECT_TRUE(error_of([&] { f({Tensor(int64_t{7})}); }).starts_with(kError));
  EXPECT_NE(f.explain().cpp.find("return done(ctx, 0) ? 0 : 1;"), std::string::npos);
  EXPECT_NE(Counted().count->explain().cpp.find("return left(ctx, 0) ? 0 : 1;"), std::string::npos);
}

}  // namespace
}  // namespace thtrain::unread_failures_test
