// What a lowering can get wrong, and how the verifier says it.
#include "compiler/kernel/verify.h"

#include <gtest/gtest.h>

#include <functional>

#include "compiler/base/error.h"
#include "compiler/kernel/step_builder.h"

namespace thtrain::kernel {
namespace {

constexpr TermType kFloat{DType::kFloat32, 1, 0};

// A kernel with an input of 10 floats, an output of 10 and a length n.
Function made(const std::function<void(Code&)>& body) {
  Function out;
  out.name = "f";
  out.buffers = {{"in0", DType::kFloat32, false, ElementRange{0, 9}},
                 {"out0", DType::kFloat32, true, ElementRange{0, 9}}};
  out.lengths = {"n"};
  out.length_texts = {"n"};
  Code code;
  body(code);
  out.body = code.take();
  return out;
}

std::string fault(const std::function<void(Code&)>& body, int vector_bytes = 32) {
  try {
    verify(made(body), {.vector_bytes = vector_bytes});
  } catch (const InternalError& e) {
    const std::string text = e.what(), mark = "kernel f: ";
    const size_t from = text.find(mark);
    return from == std::string::npos ? text
                                     : text.substr(from + mark.size(), text.find('\n', from) - from - mark.size());
  }
  return "none";
}

Term in(Term index, int lanes = 1, Term stride = 1, Term count = {}) {
  return load("in0", DType::kFloat32, lanes, std::move(index), std::move(stride), std::move(count));
}

TEST(Verify, AcceptsWhatIsRight) {
  EXPECT_EQ(fault([](Code& code) {
              const Term part = code.local_array("part", kFloat, 4);
              code.loop("i", 0, 10, 2, LoopMark::kSequential, [&](const Term& i) {
                code.store("part", 3, 1, in(Term(9) - i));
                code.store("out0", i + 1, 1, load("part", DType::kFloat32, 1, 3, 1));
              });
              code.loop("i", 0, variable("n", {DType::kInt64, 1, 0}), 1, LoopMark::kSequential,
                        [&](const Term& i) { code.store("out0", i, 1, in(i)); });
              code.store("out0", 8, 1, in(8, 8, 1, 2), 2);
            }),
            "none");
}

TEST(Verify, NamesAreDefinedOnceAndBeforeTheyAreUsed) {
  EXPECT_EQ(fault([](Code& code) { code.store("out0", 0, 1, variable("x", kFloat)); }), "x is not defined here");
  EXPECT_EQ(fault([](Code& code) {
              code.if_(variable("n", {DType::kInt64, 1, 0}) > Term(0), [&] { code.var("x", in(0)); });
              code.store("out0", 0, 1, variable("x", kFloat));
            }),
            "x is not defined here");
  EXPECT_EQ(fault([](Code& code) { code.var("n", Term(0)); }), "n is defined twice");
  EXPECT_EQ(fault([](Code& code) { code.assign(code.let("x", in(0)), in(1)); }), "x is assigned, and no variable");
  EXPECT_EQ(fault([](Code& code) {
              code.var("x", in(0));
              code.store("out0", 0, 1, cast(variable("x", {DType::kFloat64, 1, 0}), DType::kFloat32));
            }),
            "x is used with another type");
}

TEST(Verify, BuffersHaveDtypesAndAreWrittenOrNot) {
  EXPECT_EQ(fault([](Code& code) { code.store("in0", 0, 1, in(0)); }), "a store to in0, which is not written");
  EXPECT_EQ(fault([](Code& code) { code.store("out0", 0, 1, cast(in(0), DType::kFloat64)); }),
            "a float64 is stored to out0 of float32");
  EXPECT_EQ(
      fault([](Code& code) { code.let("x", load("in0", DType::kInt32, 1, 0, 1) + constant_int(DType::kInt32, 1)); }),
      "a load of int32 from in0 of float32");
  EXPECT_EQ(fault([](Code& code) { code.let("x", -load("n", DType::kInt64, 1, 0, 1)); }),
            "a load of n, which is no buffer");
  EXPECT_EQ(fault([](Code& code) { code.prefetch("n", 0, Prefetch::kL1); }), "a prefetch of n, which is no buffer");
}

TEST(Verify, AffineIndicesStayInside) {
  EXPECT_EQ(fault([](Code& code) {
              code.loop("i", 0, 10, 1, LoopMark::kSequential,
                        [&](const Term& i) { code.store("out0", i + 1, 1, in(i)); });
            }),
            "elements 1 to 10 of out0, which has 0 to 9");
  EXPECT_EQ(fault([](Code& code) {
              code.loop("i", 0, 3, 2, LoopMark::kSequential, [&](const Term& i) {
                const Term at = code.let("at", Term(3) * i - Term(1));
                code.store("out0", i, 1, in(at));
              });
            }),
            "elements -1 to 5 of in0, which has 0 to 9");
  EXPECT_EQ(fault([](Code& code) { code.store("out0", 4, 1, in(0, 8)); }),
            "elements 4 to 11 of out0, which has 0 to 9");
  EXPECT_EQ(fault([](Code& code) { code.store("out0", 0, 2, in(0, 8)); }),
            "elements 0 to 14 of out0, which has 0 to 9");
  EXPECT_EQ(fault([](Code& code) {
              code.loop("i", 0, 10, 1, LoopMark::kSequential, [&](const Term& i) {
                code.loop("k", 0, 10, 1, LoopMark::kSequential,
                          [&](const Term& k) { code.store("out0", (i + k) - i, 1, in(Term(10) - k)); });
              });
            }),
            "elements 1 to 10 of in0, which has 0 to 9");
  EXPECT_EQ(fault([](Code& code) {
              code.loop("i", 0, 12, 1, LoopMark::kSequential,
                        [&](const Term& i) { code.if_(i < Term(10), [&] { code.store("out0", i, 1, in(i)); }); });
            }),
            "none")
      << "the condition keeps it inside";
}

TEST(Verify, NumbersConditionsAndLimits) {
  const Term n = variable("n", {DType::kInt64, 1, 0});
  EXPECT_EQ(fault([&](Code& code) { code.if_(n, [] {}); }), "a condition that is no single bool");
  EXPECT_EQ(fault([&](Code& code) { code.loop("i", 0, in(0), 1, LoopMark::kSequential, [](const Term&) {}); }),
            "a loop's end that is no single int64");
  EXPECT_EQ(fault([&](Code& code) { code.loop("i", n, 0, -1, LoopMark::kSequential, [](const Term&) {}); }),
            "a loop over i in steps that are not positive");
  EXPECT_EQ(fault([&](Code& code) { code.local_array("part", kFloat, 0); }), "an array of 0 elements");
  EXPECT_EQ(fault([&](Code& code) { code.local_array("part", kFloat, 200000); }), "local arrays of 800000 bytes");
  EXPECT_EQ(fault([&](Code& code) { code.let("x", -splat(in(0), 128)); }, 16), "a vector of 512 bytes");
  EXPECT_EQ(fault([&](Code& code) { code.fail(1, in(0, 8), 0); }), "a check shows a vector");
}

}  // namespace
}  // namespace thtrain::kernel
