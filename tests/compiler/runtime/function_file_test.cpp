// Functions that are saved and loaded: what they compute, that they come from the cache, and files that are none.
#include "compiler/runtime/function_file.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "compiler/api.h"
#include "compiler/base/file.h"
#include "compiler/ops/effect/effect.h"
#include "compiler/runtime/archive.h"
#include "compiler/runtime/function_state.h"
#include "compiler/store/entry_store.h"
#include "tests/support/datasets_support.h"
#include "tests/support/error_text.h"

namespace thtrain::function_file_test {
namespace {

using Values = std::vector<Expr>;

Function again(const Function& f, const LoadOptions& options = {}) {
  TemporaryFolder folder;
  const std::string path = folder.path("f");
  f.save(path);
  return load_function(path, options);
}

void expect_same(const std::vector<Tensor>& got, const std::vector<Tensor>& wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t k = 0; k < got.size(); ++k) {
    EXPECT_EQ(got[k].type_text(), wanted[k].type_text()) << "output " << k;
    EXPECT_EQ(got[k].text(), wanted[k].text()) << "output " << k;
  }
}

TEST(FunctionFile, ATrainingStepGoesOn) {
  const Expr x = matrix("x", {"n", 2}), y = vector("y", {"n"}), rate = scalar("rate"), calls = iscalar("calls");
  for (Mode mode : {Mode::kNative, Mode::kReference, Mode::kDebug, Mode::kNanGuard}) {
    const Shared w(Tensor::vector({0.5, -0.5}), "layer/w");
    const Expr loss = mean(sqr(dot(x, w) - y));
    const std::vector<In> inputs = {x, y, In(rate, Tensor(0.25)),
                                    In(calls, InOptions{.value = Tensor(int64_t{3}), .update = calls + 1})};
    Function f = function(inputs, {{"loss", loss}, {"count", calls}, named(loss * 2, "twice")},
                          {{w, w - rate * grad(loss, w)}}, {.mode = mode, .name = "step"});
    const std::vector<Tensor> given = {Tensor::matrix({{1.0, 2.0}, {0.0, 1.0}, {1.0, 1.0}}),
                                       Tensor::vector({2.0, -1.0, 1.0})};
    f(given);
    Function g = again(f);
    EXPECT_EQ(g.name(), "step");
    EXPECT_EQ(g.identity(), f.identity());
    for (int call = 0; call < 2; ++call) expect_same(g(given), f(given));
    EXPECT_EQ(g({{"y", given[1]}, {"x", given[0]}})[1].text(), "6");
    EXPECT_EQ(g.named(given).at("twice").rank(), 0u);
    ASSERT_EQ(g.shared_variables().size(), 1u);
    const Shared loaded = g.shared_variables()[0];
    EXPECT_EQ(loaded.name(), "layer/w");
    EXPECT_NE(loaded.get_value().text(), w.get_value().text()) << "a variable of its own: two calls more";
    f(given);
    f(given);
    EXPECT_EQ(loaded.get_value().text(), w.get_value().text());
    Function shared = g.copy({{loaded, w}});
    shared(given);
    EXPECT_NE(loaded.get_value().text(), w.get_value().text());
  }
}

// Everything that a text of a graph leaves out, or that another leaf would change.
TEST(FunctionFile, EveryKindOfGraph) {
  const Expr x = matrix("x"), n = iscalar("n"), i = ivector("i");
  std::vector<double> long_values(100);
  for (size_t k = 0; k < long_values.size(); ++k) long_values[k] = 0.5 * static_cast<double>(k);
  const Expr table = make_constant(Tensor::of(long_values, {100}));
  const Shared data = Shared::of_lengths({"rows", 2}, Tensor::matrix({{1.0, 2.0}, {3.0, 4.0}}), "data");
  ScanOptions options;
  options.outputs_info = {zeros({}, DType::kFloat64)};
  options.sequences = {x[{all(), 0}]};
  options.n_steps = {};
  const auto [sums, updates] =
      scan([&](const Values& in) { return in[1] + in[0] * cast(n, DType::kFloat64); }, options);
  const Expr positive = x[gt(x, 0)];
  const Expr chosen = if_else(
      n > 1, [&] { return sum(x) * 2; }, [&] { return sum(x); });
  const OpFromGraph twice([](const Values& in) { return Values{in[0] * 2}; },
                          [](const Values&, const Values&, const Values& d) { return Values{3 * d[0]}; });
  const Expr made = grad(sum(twice({x})[0]), x);
  const std::vector<Out> outputs = {sums,
                                    positive,
                                    length(positive, 0),
                                    chosen,
                                    made,
                                    take(table, i),
                                    zeros({n, 2}) + 1,
                                    data + 1,
                                    print(sum(x), "the sum"),
                                    Out(x * 3, true)};
  const std::vector<Tensor> given = {Tensor::matrix({{1.0, -2.0}, {3.0, 4.0}, {0.0, 5.0}}), Tensor(int64_t{2}),
                                     Tensor::vector<int64_t>({99, 0, 7})};
  for (Mode mode : {Mode::kNative, Mode::kReference}) {
    Function f = function({x, n, i}, outputs, {{data, data * 2}}, {.mode = mode, .name = "f"});
    Function g = again(f);
    EXPECT_EQ(g.identity(), f.identity());
    EXPECT_EQ(g.info().from_cache, mode == Mode::kNative);
    testing::internal::CaptureStderr();
    const std::vector<Tensor> wanted = f(given), got = g(given);
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "the sum: float64[] 11\nthe sum: float64[] 11\n");
    expect_same(got, wanted);
    EXPECT_EQ(g.shared_variables()[0].get_value().text(), "[[2, 4], [6, 8]]");
    g.shared_variables()[0].set_value(Tensor::matrix({{1.0, 1.0}}));
    testing::internal::CaptureStderr();
    EXPECT_EQ(g(given)[7].text(), "[[2, 2]]");
    testing::internal::GetCapturedStderr();
    data.set_value(Tensor::matrix({{1.0, 2.0}, {3.0, 4.0}}));
  }
}

TEST(FunctionFile, GeneratorsAndMultivariateNormal) {
  RandomStreams rng(7);
  Function f = function({}, {rng.uniform({2}), rng.multivariate_normal({2}, zeros({2}), eye(2))});
  f({});
  Function g = again(f);
  for (int call = 0; call < 2; ++call) expect_same(g({}), f({}));
}

TEST(FunctionFile, OptionsAndErrorsAreThoseOfTheFunction) {
  const Expr x = vector("x", {"n"}), y = vector("y", {"n"});
  const Scope scope("net");
  const Expr sum = x + y;
  Function f = function({In(x, InOptions{.allow_downcast = true}), In(y, InOptions{.strict = true})}, {sum}, {},
                        {.level = Level::kStrict, .threads = 1, .name = "add", .without = {"merge"}});
  Function g = again(f);
  EXPECT_EQ(g({Tensor::vector({1, 2}).cast(DType::kFloat32), Tensor::vector({1.0, 2.0})})[0].text(), "[2, 4]");
  const auto text_of = [](Function& any, const Tensor& at) {
    return without_call(error_text([&] { any({Tensor::vector({1.0, 2.0}), at}); }));
  };
  EXPECT_EQ(text_of(g, Tensor::vector<int64_t>({1, 2})), text_of(f, Tensor::vector<int64_t>({1, 2})));
  const std::string lengths = text_of(g, Tensor::vector({1.0}));
  EXPECT_EQ(lengths, text_of(f, Tensor::vector({1.0})));
  EXPECT_NE(g.explain().graph.find("%2 = add"), std::string::npos);
  EXPECT_NE(g.identity(), function({x, y}, {sum}).identity());
}

OpFromFunction scaled(const std::string& name, const std::string& version, double factor) {
  return OpFromFunction({.name = name, .version = version, .compute = [factor](const std::vector<Tensor>& in) {
                           return std::vector<Tensor>{Tensor(factor * in[0].as_double())};
                         }});
}

TEST(FunctionFile, OpsOfUsersAreGivenAgain) {
  const Expr x = scalar("x");
  const OpFromFunction twice = scaled("my.scaled", "1", 2), other = scaled("my.scaled", "2", 5);
  Function f = function({x}, {twice({exp(x)})[0] + 1}, {}, {.name = "f"});
  Function g = again(f, {.ops = {scaled("unused", "1", 9), scaled("my.scaled", "1", 2)}});
  EXPECT_TRUE(g.info().from_cache);
  EXPECT_EQ(g({0.0})[0].text(), "3");
  TemporaryFolder folder;
  const std::string path = folder.path("f");
  f.save(path);
  const std::string start = "error: " + path +
                            ": the function needs the op my.scaled, which is not given\n"
                            "  expected: my.scaled of version 1\n",
                    hint =
                        "  hint:     give it as the program did that saved the function: "
                        "load_function(path, {.ops = {my_op}})";
  EXPECT_EQ(error_text([&] { load_function(path); }), start + hint);
  EXPECT_EQ(error_text([&] { load_function(path, {.ops = {other}}); }),
            start + "  got:      my.scaled of version 2\n" + hint);
  EXPECT_EQ(error_text([&] {
              function({x}, {twice({x})[0], other({x})[0]}, {}, {.name = "g"}).save(path);
            }),
            "error: g: two ops that C++ functions compute are called my.scaled, which a file cannot tell apart\n"
            "  hint:     give each a name of its own, or make one op and use it twice");
}

TEST(FunctionFile, WhatCannotBeSaved) {
  const Expr x = vector("x");
  TemporaryFolder folder;
  const std::string path = folder.path("f");
  const Pass pass{"mine", "", [](const Graph& graph, const PassContext&) { return graph; }};
  EXPECT_EQ(error_text([&] { function({x}, {x + 1}, {}, {.name = "f", .extra_passes = {pass}}).save(path); }),
            "error: f: a function with passes of its own cannot be saved\n  got:      mine");
  EXPECT_EQ(error_text([&] {
              function({x}, {x + 1}, {}, {.target = kernel::c99_target(), .name = "f"}).save(path);
            }).substr(0, 73),
            "error: f: a function for another target than this machine cannot be saved");
  EXPECT_EQ(error_text([&] { function({x}, {x + 1}).save(folder.path("no/f")); }),
            str("error: ", folder.path("no/f"), ": the file cannot be written\n  expected: a folder ",
                folder.path("no"), "\n  got:      no such folder\n  hint:     run: mkdir -p ", folder.path("no")));
}

// ---- files that are none -------------------------------------------------------------------------------------------

std::string with_trailer(const std::string& content) {
  return "thtrain function 1\n" + content + detail::entry_trailer("function", "", content);
}

TEST(FunctionFile, FilesThatAreNone) {
  TemporaryFolder folder;
  const std::string path = folder.path("f");
  const Expr x = vector("x", {3});
  Function f = function({x}, {tanh(x)}, {}, {.mode = Mode::kReference});
  f.save(path);
  const std::string whole = read_file(path), mark = "thtrain function 1\n";
  const auto text_of = [&](const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
    return error_text([&] { load_function(path); });
  };
  const std::string start = "error: " + path + ": ";
  EXPECT_EQ(text_of(whole), "no error");
  EXPECT_EQ(text_of(""), start + "this is no file of a function\n  expected: what Function::save() writes");
  EXPECT_EQ(text_of("PK\x03\x04"), start + "this is no file of a function\n  expected: what Function::save() writes");
  EXPECT_EQ(text_of("thtrain function 7\nabc"),
            start +
                "the function was saved by another version of thtrain\n  expected: version 1 of its file\n"
                "  got:      7\n  hint:     save it again with this one");
  const std::string damaged = start + "the file is cut or was changed\n  expected: what Function::save() wrote";
  EXPECT_EQ(text_of(whole.substr(0, whole.size() / 2)), damaged);
  EXPECT_EQ(text_of(whole.substr(0, whole.size() - 1)), damaged);
  for (size_t at = mark.size(); at < whole.size(); at += 7) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    EXPECT_EQ(text_of(changed), damaged) << "byte " << at;
  }
  EXPECT_EQ(error_text([&] { load_function(folder.path("none")); }),
            "error: " + folder.path("none") + ": no such file");
}

// A text as the file has it.
std::string with_length(const std::string& text) {
  return std::string({static_cast<char>(text.size()), 0, 0, 0, 0, 0, 0, 0}) + text;
}

// The hash is right, and what it is of is not.
TEST(FunctionFile, ContentsThatLie) {
  TemporaryFolder folder;
  const std::string path = folder.path("f");
  const Expr x = vector("x", {3});
  const Shared w(Tensor::vector({1.0, 2.0, 3.0}), "w");
  function({x}, {tanh(x) + w}, {}, {.mode = Mode::kReference}).save(path);
  const std::string whole = read_file(path), mark = "thtrain function 1\n";
  const size_t trailer = detail::entry_trailer("function", "", "").size();
  const std::string content = whole.substr(mark.size(), whole.size() - mark.size() - trailer);
  const auto text_of = [&](const std::string& from, const std::string& to) {
    std::string changed = content;
    const size_t at = changed.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    changed.replace(at, from.size(), to);
    std::ofstream(path, std::ios::binary) << with_trailer(changed);
    return error_text([&] { load_function(path); });
  };
  const std::string start = "error: " + path + ": the function in the file cannot be made\n";
  EXPECT_EQ(text_of("tanh(%0)", "tanh(%0)"), "no error");
  EXPECT_EQ(text_of("tanh(%0) : float64[3]", "tanh(%0) : float64[4]"),
            start + "  expected: float64[3]\n  got:      line 2, column 17: the type differs from the op's own");
  EXPECT_EQ(text_of("tanh(%0)", "tamh(%0)"),
            start + "  expected: the name of an op\n  got:      line 2, column 6: there is no op named tamh");
  EXPECT_EQ(text_of("tanh(%0)", "tanh(%9)"), start +
                                                 "  expected: a value that is defined above\n"
                                                 "  got:      line 2, column 11: this is not the text of a graph");
  EXPECT_EQ(text_of("shared %2 w : float64[3]", "shared %2 w : float64[2]"),
            start +
                "  expected: the text of the graph that the details are of\n"
                "  got:      line 3, column 25: this is not the text of a graph");
  EXPECT_EQ(text_of(with_length("w"), with_length("v")), "no error") << "another name";
  std::ofstream(path, std::ios::binary) << with_trailer(content + "x");
  EXPECT_EQ(error_text([&] { load_function(path); }),
            "error: " + path +
                ": the file is cut or was changed\n  expected: what Function::save() wrote\n"
                "  got:      lengths that do not fit");
}

}  // namespace
}  // namespace thtrain::function_file_test
