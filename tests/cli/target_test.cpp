// THTRAIN_TARGET and OPENBLAS_CORETYPE, as the program's user meets them.
#include <gtest/gtest.h>

#include "compiler/base/str.h"
#include "compiler/host/cpu.h"
#include "compiler/libraries/blas.h"
#include "tests/support/cli_support.h"
#include "tests/support/datasets_support.h"

namespace thtrain {
namespace {

std::string line_of(const std::string& text, const std::string& name) {
  const size_t at = text.find("\n  " + name + " ");
  return at == std::string::npos ? "" : text.substr(at + 1, text.find('\n', at + 1) - at - 1);
}

TEST(CliTarget, InfoShowsWhatIsForced) {
  EnvironmentVariable forced("THTRAIN_TARGET", "caches=32K/256K/4M,cores=3,store_prefetch=8");
  Workshop workshop;
  const Ended ended = workshop.run({"info"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(line_of(ended.out, "caches"), "  caches       32 KiB of data and 256 KiB a core, 4 MiB shared");
  EXPECT_EQ(line_of(ended.out, "memory"),
            "  memory       stores past the caches in loops of more than 2 MiB; lines prefetched: 0 there, 8 elsewhere "
            "(not measured: THTRAIN_TARGET names other caches)");
  EXPECT_EQ(
      line_of(ended.out, "kernels"),
      "  kernels      cycles of a vector's multiply-add 0.5, of one in a chain 4, of a load 0.5, across lines 1, of "
      "a shuffle 1; of a line of the second cache 4, prefetched 2, of the third 14, "
      "prefetched 4, copied 10, of memory 16, apart 28; of BLAS's multiply-add 0.57, in narrow products 0.5, of a "
      "packed line 10, of a call 1000; of a thread 4096 "
      "(not measured: THTRAIN_TARGET names other caches)");
  EXPECT_EQ(line_of(ended.out, "cores"), "  cores        3");
  const std::string target = one_json_line(workshop.run({"info", "--json"}).out)["target"];
  EXPECT_EQ(target.substr(target.find("caches=")),
            "caches=32K/256K/4M,cores=3,non_temporal=2M,store_prefetch=8,load_prefetch=0,"
            "rates=50/400/50/100/100/400/200/1400/400/1000/1600/2800/57/50/1000/100000/409600");
}

TEST(CliTarget, InfoSaysWhetherTheMemoryWasMeasuredNowOrBefore) {
  Workshop workshop;
  EnvironmentVariable cache("THTRAIN_CACHE_DIR", workshop.path("cache").c_str());
  if (cpu().last_cache_bytes == 0) GTEST_SKIP() << "nothing is measured where caches are unknown";
  const auto first = one_json_line(workshop.run({"info", "--json"}).out);
  const auto second = one_json_line(workshop.run({"info", "--json"}).out);
  EXPECT_EQ(first.at("target_from"), "measured now, and remembered");
  EXPECT_EQ(second.at("target_from"), "measured before");
  EXPECT_EQ(first.at("target"), second.at("target"));
}

TEST(CliTarget, AWrongTextIsBadInput) {
  Workshop workshop;
  for (auto [text, message] :
       {std::pair{"isa=avx9",
                  "error: THTRAIN_TARGET has no such isa\n"
                  "  expected: avx512, avx2, sse2, c99, cuda, cuda:1 or cuda-emulated\n"
                  "  got:      avx9\n"},
        {"core=2",
         "error: THTRAIN_TARGET has no entry core\n"
         "  expected: isa, vectors, caches, cores, non_temporal, store_prefetch, load_prefetch, rates\n"
         "  got:      core=2\n"
         "  hint:     did you mean cores?\n"}}) {
    EnvironmentVariable forced("THTRAIN_TARGET", text);
    const Ended ended = workshop.run({"info"});
    EXPECT_EQ(ended.code, 2);
    EXPECT_EQ(ended.err, message);
    EXPECT_EQ(ended.out, "");
  }
}

TEST(CliTarget, ALabTrainsAsScalarC99) {
  Workshop workshop;
  const std::string lab = THTRAIN_SOURCE_DIR "/configs/labs/logistic_digits.toml";
  {
    EnvironmentVariable forced("THTRAIN_TARGET", "isa=c99,cores=1");
    const Ended ended =
        workshop.run({"train", lab, "trainer.epochs=1", "data.n_train=200", "--run-dir", "run", "--quiet"});
    ASSERT_EQ(ended.code, 0) << ended.err;
    EXPECT_EQ(read_json(workshop.read("run/run.json"), "run.json")["target"], "isa=c99,cores=1");
  }
  const Ended resumed = workshop.run({"resume", "run", "trainer.epochs=2"});
  EXPECT_NE(resumed.err.find("vector_bytes: 1 then, "), std::string::npos) << resumed.err;
}

TEST(CliTarget, ScalarC99HasNothingToTune) {
  Workshop workshop;
  EnvironmentVariable forced("THTRAIN_TARGET", "isa=c99,cores=1");
  const Ended ended = workshop.run({"tune", THTRAIN_SOURCE_DIR "/configs/labs/logistic_digits.toml"});
  EXPECT_EQ(ended.code, 2);
  EXPECT_EQ(ended.err,
            "error: tune: scalar C99 has one implementation of each computation\n"
            "  expected: the target of a processor\n"
            "  got:      isa=c99,cores=1\n"
            "  hint:     unset THTRAIN_TARGET to time the implementations of this machine\n");
}

TEST(CliTarget, AnEmulatedDeviceHasNoVectors) {
  Workshop workshop;
  EnvironmentVariable forced("THTRAIN_TARGET", "isa=cuda-emulated,cores=1");
  EXPECT_NE(workshop.run({"info"}).out.find("none: emulated CUDA"), std::string::npos);
}

// A lab's training step and its error counts are those of a processor, but for roundings.
TEST(CliTarget, ALabTrainsOnAnEmulatedDevice) {
  Workshop workshop;
  EnvironmentVariable forced("THTRAIN_TARGET", "isa=cuda-emulated,cores=1");
  const Ended ended =
      workshop.run({"train", THTRAIN_SOURCE_DIR "/configs/labs/logistic_digits.toml", "trainer.epochs=1",
                    "data.n_train=200", "data.n_valid=100", "--run-dir", "run", "--quiet"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(read_json(workshop.read("run/run.json"), "run.json")["target"], "isa=cuda-emulated,cores=1");
}

TEST(CliTarget, ExplainPrintsKernelsForADevice) {
  Workshop workshop;
  const Ended ended =
      workshop.run({"explain", THTRAIN_SOURCE_DIR "/configs/labs/logistic_digits.toml", "--stage", "cuda"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_NE(ended.out.find("\nextern \"C\" __global__ void k0_"), std::string::npos) << ended.out;
  EXPECT_EQ(ended.out.find("thtrain_entry"), std::string::npos);
}

TEST(CliTarget, ExplainPrintsC99) {
  Workshop workshop;
  const std::string lab = THTRAIN_SOURCE_DIR "/configs/labs/logistic_digits.toml";
  const Ended ended = workshop.run({"explain", lab, "--stage", "c99"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(workshop.run({"explain", lab, "--stage", "c99", "compiler.device=emulated"}).out, ended.out);
  for (const char* line : {"\n#include <math.h>\n", "\nint thtrain_entry(ThContext* ctx, const ThTensor* args) {\n"})
    EXPECT_NE(ended.out.find(line), std::string::npos) << line;
}

// Two machines of the same width: other instructions, caches, stores and prefetches, and an epoch of the lab.
TEST(CliTarget, RunsOfALabOnTargetsOfOneWidthHaveTheSameBits) {
  if (cpu().widest_isa() != "avx512" && cpu().widest_isa() != "avx2") GTEST_SKIP() << "no AVX2 here";
  Workshop workshop;
  const char* const targets[] = {
      "isa=avx2,caches=16K/64K/512K,non_temporal=1K,store_prefetch=8,load_prefetch=32",
      "vectors=32,caches=48K/2M/64M,non_temporal=0,store_prefetch=0,load_prefetch=0",
  };
  for (size_t i = 0; i < 2; ++i) {
    EnvironmentVariable forced("THTRAIN_TARGET", targets[i]);
    const Ended ended = workshop.run({"train", THTRAIN_SOURCE_DIR "/configs/labs/mlp_digits.toml", "trainer.epochs=1",
                                      "data.n_train=1000", "--run-dir", str("run", i), "--quiet"});
    ASSERT_EQ(ended.code, 0) << ended.err;
  }
  EXPECT_EQ(workshop.read("run0/best.npz"), workshop.read("run1/best.npz"));
  EXPECT_EQ(without_seconds(workshop.read("run0/metrics.jsonl")), without_seconds(workshop.read("run1/metrics.jsonl")));
  for (size_t i = 0; i < 2; ++i) {
    const std::string target = read_json(workshop.read(str("run", i, "/run.json")), "run.json")["target"];
    EXPECT_NE(target.find(i == 0 ? "isa=avx2,vectors=32,caches=16K/64K/512K" : "vectors=32,caches=48K/2M/64M"),
              std::string::npos)
        << target;
  }
}

// The run keeps its limits and rates, and so its choices, though others are measured when it is resumed.
TEST(CliTarget, AResumptionKeepsWhatTheRunBeganWith) {
  const std::string kept =
      ",non_temporal=3M,store_prefetch=5,load_prefetch=7,rates=71/476/71/119/100/400/200/1400/400/1000/1600/2800/57/"
      "50/1000/119000/819200";
  Workshop workshop;
  EnvironmentVariable cache("THTRAIN_CACHE_DIR", workshop.path("cache").c_str());
  workshop.write("tiny.toml", tiny_experiment());
  {
    EnvironmentVariable forced("THTRAIN_TARGET", kept.substr(1).c_str());
    const Ended ended = workshop.run({"train", "tiny.toml", "--run-dir", "run", "trainer.epochs=1", "--quiet"});
    ASSERT_EQ(ended.code, 0) << ended.err;
  }
  const std::string target = read_json(workshop.read("run/run.json"), "run.json")["target"];
  EXPECT_TRUE(target.ends_with(kept)) << target;
  const std::string measured = one_json_line(workshop.run({"info", "--json"}).out)["target"];
  EXPECT_NE(measured, target);
  std::string config = workshop.read("run/config.toml");
  workshop.write("run/config.toml", config.replace(config.find("epochs = 1"), 10, "epochs = 2"));
  const Ended ended = workshop.run({"resume", "run", "--accept-edits"});
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(read_json(workshop.read("run/run.json"), "run.json")["target"], target);
}

// OpenBLAS 0.3.21 has Haswell's kernels, which a processor with AVX-512 has outgrown.
TEST(CliForcedKernels, AreToldByInfoAndVerbose) {
  if (!cpu().has_avx512()) GTEST_SKIP() << "Haswell's kernels are as good as this processor's";
  EnvironmentVariable forced("OPENBLAS_CORETYPE", "Haswell");
  Workshop workshop;
  workshop.write("tiny.toml", tiny_experiment());
  const std::string told = "OPENBLAS_CORETYPE=Haswell forces kernels older than this processor's";
  EXPECT_EQ(line_of(workshop.run({"info"}).out, "BLAS"),
            str("  BLAS         ", blas().version, ", kernels Haswell (", told, ")"));
  EXPECT_EQ(one_json_line(workshop.run({"info", "--json"}).out)["blas_forced"], told);
  const Ended ended = workshop.run({"train", "tiny.toml", "--verbose", "trainer.epochs=1"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_NE(ended.out.find("BLAS"), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find(told + "\n"), std::string::npos) << ended.out;
}

TEST(CliForcedKernels, GoodOnesAreNotToldOf) {
  if (!cpu().has_avx512()) GTEST_SKIP() << "no AVX-512 here";
  EnvironmentVariable forced("OPENBLAS_CORETYPE", "SkylakeX");
  Workshop workshop;
  EXPECT_EQ(line_of(workshop.run({"info"}).out, "BLAS"), str("  BLAS         ", blas().version, ", kernels SkylakeX"));
}

TEST(CliForcedKernels, NobodyIsMeasuredWithThem) {
  Workshop workshop;
  auto kernels = [&] { return one_json_line(workshop.run({"info", "--json"}).out)["blas_kernels"]; };
  EnvironmentVariable none("OPENBLAS_CORETYPE", nullptr);
  const std::string good = kernels();
  EnvironmentVariable forced("OPENBLAS_CORETYPE", "Prescott");
  EXPECT_EQ(kernels(), "Prescott");
  const Ended ended =
      workshop.run({"bench", "gemm", "--quick", "--repetitions", "1", "--rounds", "1", "--json", "--python",
                    "no-python", "--only", "thtrain", "--dtype", "float32", "--threads", "1"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_TRUE(
      ended.err.starts_with("OPENBLAS_CORETYPE=Prescott is left out: everybody is measured with the kernels that "
                            "fit the processor\n"))
      << ended.err;
  EXPECT_EQ(one_json_line(ended.out)["setting"], "openblas " + good);
}

}  // namespace
}  // namespace thtrain
