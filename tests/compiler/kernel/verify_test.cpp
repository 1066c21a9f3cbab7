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

std::string fault_of(const Function& function, const Target& target) {
  try {
    verify(function, target);
  } catch (const InternalError& e) {
    const std::string text = e.what(), mark = "kernel f: ";
    const size_t from = text.find(mark);
    return from == std::string::npos ? text
                                     : text.substr(from + mark.size(), text.find('\n', from) - from - mark.size());
  }
  return "none";
}

std::string fault(const std::function<void(Code&)>& body, int vector_bytes = 32) {
  return fault_of(made(body), {.vector_bytes = vector_bytes});
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
  auto fault_of_loop = [&](const Term& begin, const Term& end, int64_t step) {
    return fault([&](Code& code) {
      code.loop("i", begin, end, step, LoopMark::kSequential, [&](const Term& i) { code.let("x", in(i)); });
    });
  };
  EXPECT_EQ(fault_of_loop(0, in(0), 1), "a loop's end that is no single int64");
  EXPECT_EQ(fault_of_loop(n, 0, -1), "a loop over i in steps that are not positive");
  EXPECT_EQ(fault([&](Code& code) { code.local_array("part", kFloat, 0); }), "an array of 0 elements");
  EXPECT_EQ(fault([&](Code& code) { code.local_array("part", kFloat, 200000); }), "local arrays of 800000 bytes");
  EXPECT_EQ(fault([&](Code& code) { code.let("x", -splat(in(0), 128)); }, 16), "a vector of 512 bytes");
  EXPECT_EQ(fault([&](Code& code) { code.fail(1, in(0, 8), 0); }), "a check shows a vector");
}

// ---- of devices

// The same with 64 threads in a block.
std::string device_fault(const std::function<void(Code&)>& body, int threads = 64) {
  Function function = made(body);
  function.threads = threads;
  return fault_of(function, emulated_cuda_target());
}

const Term kBlock = variable("block", {DType::kInt64, 1, 0}), kThread = variable("thread", {DType::kInt64, 1, 0});

TEST(VerifyDevice, AcceptsWhatIsRight) {
  EXPECT_EQ(device_fault([](Code& code) {
              const std::string part = code.shared_array("part", DType::kFloat32, 2);
              const Term warp = code.let("warp", kThread / Term(32)), lane = code.let("lane", kThread % Term(32));
              const Term acc = code.var("acc", constant(DType::kFloat32, 0));
              code.loop("i", 0, variable("n", {DType::kInt64, 1, 0}), 1, LoopMark::kSequential,
                        [&](const Term& i) { code.assign(acc, acc + in(i)); });
              code.if_(warp < Term(1), [&] { code.shuffle("other", acc, LaneChoice::kBehind, 16); });
              code.if_(lane == Term(0), [&] { code.store(part, warp, 1, acc); });
              code.barrier();
              code.if_(kBlock == Term(0), [&] { code.barrier(); });
            }),
            "none");
}

TEST(VerifyDevice, ABarrierIsWhereAllThreadsOfTheBlockCome) {
  const std::string expected = "a barrier where not all threads of a block come";
  const auto barrier = [](Code& code) { return [&code] { code.barrier(); }; };
  EXPECT_EQ(device_fault([&](Code& code) { code.if_(kThread < Term(7), barrier(code)); }), expected);
  // By way of a variable, of a load of what others may have written, and of a number of iterations.
  EXPECT_EQ(device_fault([&](Code& code) {
              const Term late = code.var("late", Term(0));
              code.loop("i", 0, 3, 1, LoopMark::kSequential, [&](const Term&) {
                code.if_(late < Term(2), barrier(code));
                code.assign(late, late + kThread);
              });
            }),
            expected);
  EXPECT_EQ(device_fault([&](Code& code) {
              code.if_(load("out0", DType::kFloat32, 1, 0, 1) < constant(DType::kFloat32, 1), barrier(code));
            }),
            expected);
  EXPECT_EQ(device_fault([&](Code& code) {
              code.loop("i", kThread, 100, 64, LoopMark::kSequential, [&](const Term&) { code.barrier(); });
            }),
            expected);
  // An element of a shared array is the same for all threads if its number is.
  const auto while_element = [](const Term& number) {
    return [number](Code& code) {
      code.shared_array("left", DType::kInt64, 64);
      code.while_(load("left", DType::kInt64, 1, number, 1) > Term(0), [&] { code.barrier(); });
    };
  };
  EXPECT_EQ(device_fault(while_element(3)), "none");
  EXPECT_EQ(device_fault(while_element(kThread)), expected);
  // A variable that is assigned in some of the threads differs from then on.
  EXPECT_EQ(device_fault([&](Code& code) {
              const Term flag = code.var("flag", Term(0));
              code.if_(kThread == Term(0), [&] { code.assign(flag, Term(1)); });
              code.if_(flag == Term(0), barrier(code));
            }),
            expected);
}

TEST(VerifyDevice, ABarrierOrShuffleOfAWarpIsWhereAllItsThreadsCome) {
  const auto in_warp = [](Code& code) {
    code.if_(kThread / Term(32) == Term(1), [&] {
      code.barrier(Scope::kWarp);
      code.shuffle("x", kThread, LaneChoice::kNumber, 0);
    });
  };
  EXPECT_EQ(device_fault(in_warp), "none");
  EXPECT_EQ(device_fault([](Code& code) {
              code.if_(kThread / Term(16) == Term(1), [&] { code.shuffle("x", kThread, LaneChoice::kNumber, 0); });
            }),
            "a shuffle where not all threads of a warp come");
  EXPECT_EQ(device_fault([](Code& code) { code.while_(kThread < Term(5), [&] { code.barrier(Scope::kWarp); }); }),
            "a barrier of a warp where not all threads of a warp come");
  EXPECT_EQ(device_fault([](Code& code) { code.shuffle("x", kThread, LaneChoice::kBehind, 32); }),
            "a shuffle from lane 32 of 32");
}

TEST(VerifyDevice, NoThreadLeavesByACheckWhereOthersWaitForIt) {
  const auto checked = [](bool in_all) {
    return [in_all](Code& code) {
      code.if_(in_all ? kBlock < Term(3) : kThread < Term(3), [&] { code.fail(0, 1, 2); });
      code.barrier();
    };
  };
  EXPECT_EQ(device_fault(checked(true)), "none");
  EXPECT_EQ(device_fault(checked(false)), "a barrier in a kernel that single threads of a block leave by a check");
  const auto in_blocks = [](bool waits_later) {
    return [waits_later](Code& code) {
      code.if_(
          kBlock < Term(3), [&] { code.if_(kThread < Term(3), [&] { code.fail(0, 1, 2); }); }, [&] { code.barrier(); });
      if (waits_later) code.barrier();
    };
  };
  EXPECT_EQ(device_fault(in_blocks(false)), "none") << "those of other blocks wait";
  EXPECT_EQ(device_fault(in_blocks(true)), "a barrier in a kernel that single threads of a block leave by a check");
  EXPECT_EQ(device_fault([](Code& code) {
              code.loop("i", 4, [&](const Term& i) {
                code.barrier();
                code.if_(kThread < i, [&] { code.fail(0, 1, 2); });
              });
            }),
            "a barrier in a kernel that single threads of a block leave by a check");
}

TEST(VerifyDevice, IndicesOfSharedArraysStayInside) {
  const auto stored_at = [](const Term& index) {
    return [index](Code& code) {
      code.shared_array("part", DType::kFloat64, 64);
      code.store("part", index, 1, constant(DType::kFloat64, 0));
    };
  };
  EXPECT_EQ(device_fault(stored_at(kThread)), "none");
  EXPECT_EQ(device_fault(stored_at(kThread + Term(1))), "elements 1 to 64 of part, which has 0 to 63");
  EXPECT_EQ(device_fault(stored_at(kThread * Term(2))), "elements 0 to 126 of part, which has 0 to 63");
}

TEST(VerifyDevice, ABlockKeepsWithinTheLimitsOfTheDevice) {
  EXPECT_EQ(device_fault([](Code&) {}, 1024), "none");
  EXPECT_EQ(device_fault([](Code&) {}, 1056), "1056 threads in a block, which has at most 1024");
  EXPECT_EQ(device_fault([](Code& code) {
              code.shared_array("a", DType::kFloat64, 6144);
              code.shared_array("b", DType::kInt8, 1);
            }),
            "shared arrays of 49153 bytes, and a block has 49152");
  EXPECT_EQ(device_fault([](Code& code) { code.shared_array("a", DType::kFloat64, 0); }), "an array of 0 elements");
}

TEST(VerifyDevice, AtomicOperationsAreThoseOfLargeIntegersThatAreWritten) {
  const auto added = [](const std::string& to, const Term& value) {
    return [to, value](Code& code) {
      code.shared_array("sums", value.dtype(), 8);
      code.atomic(to, 7, value, AtomicKind::kAdd);
    };
  };
  EXPECT_EQ(device_fault(added("sums", constant_int(DType::kUInt32, 1))), "none");
  EXPECT_EQ(device_fault(added("sums", constant(DType::kFloat32, 1))),
            "an atomic operation on elements of float32: integers of 32 and 64 bits have them");
  EXPECT_EQ(device_fault(added("sums", constant_int(DType::kInt16, 1))),
            "an atomic operation on elements of int16: integers of 32 and 64 bits have them");
  EXPECT_EQ(device_fault(added("in0", constant(DType::kFloat32, 1))),
            "an atomic operation on in0, which is not written");
  EXPECT_EQ(device_fault(added("out0", constant_int(DType::kInt32, 1))),
            "an atomic operation with an element of int32 on out0 of float32");
}

// A device loads and stores them, of 16 bytes at most, and computes with none.
TEST(VerifyDevice, VectorsAreLoadedAndStored) {
  const auto copied = [](int lanes, const std::function<Term(Term)>& made) {
    return [lanes, made](Code& code) {
      code.local_array("own", {DType::kFloat32, lanes, 0}, 1);
      code.if_(is_aligned("in0", 0, 16), [&] { code.store("own", 0, 1, made(in(0, lanes))); });
    };
  };
  const auto as_it_is = [](Term x) { return x; };
  EXPECT_EQ(device_fault(copied(4, as_it_is)), "none");
  EXPECT_EQ(device_fault(copied(8, as_it_is)), "a vector of 32 bytes on a device");
  EXPECT_EQ(device_fault(copied(3, as_it_is)), "a vector of 12 bytes on a device");
  EXPECT_EQ(device_fault(copied(4, [](Term x) { return x + x; })), "a vector that a device computes");
  EXPECT_EQ(device_fault([](Code& code) { code.if_(is_aligned("n", 0, 16), [] {}); }),
            "the address of n, which is no buffer");
}

TEST(VerifyDevice, StatementsOfDevicesAreForDevicesAlone) {
  const std::vector<std::pair<std::function<void(Code&)>, std::string>> kinds{
      {[](Code& code) { code.barrier(); }, "a barrier"},
      {[](Code& code) { code.shared_array("a", DType::kFloat32, 8); }, "a shared array"},
      {[](Code& code) { code.shuffle("x", Term(1), LaneChoice::kNumber, 0); }, "a shuffle"},
      {[](Code& code) { code.atomic("out0", 0, constant(DType::kFloat32, 1), AtomicKind::kAdd); },
       "an atomic operation"},
      {[](Code& code) { code.if_(is_aligned("in0", 0, 16), [] {}); }, "the alignment of an address"}};
  for (const auto& [body, what] : kinds) EXPECT_EQ(fault(body), what + " in a kernel of a processor");
  Function of_device = made([](Code&) {});
  of_device.threads = 32;
  EXPECT_EQ(fault_of(of_device, {.vector_bytes = 32}), "written for a device, and the target is a processor");
  EXPECT_EQ(fault_of(made([](Code&) {}), emulated_cuda_target()),
            "written for a processor, and the target is a device");
}

TEST(VerifyDevice, ASharedArrayIsOutsideOfLoopsAndBranches) {
  Function function = made([](Code&) {});
  function.threads = 32;
  function.body = {If{kBlock == Term(0), {SharedArray{"a", DType::kFloat32, 8}}, {}}};
  EXPECT_EQ(fault_of(function, emulated_cuda_target()), "a shared array within a loop or branch");
}

}  // namespace
}  // namespace thtrain::kernel
