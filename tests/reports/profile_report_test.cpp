#include "reports/profile_report.h"

#include <gtest/gtest.h>

#include "reports/json.h"

namespace thtrain {
namespace {

Profile example() {
  Profile out;
  out.function = "train";
  out.threads = 2;
  out.calls = 4;
  out.seconds = 4000e-6;
  out.steps = {{.step = "dot",
                .code = "gemm_f32",
                .scope = "hidden",
                .calls = 4,
                .seconds = 3000e-6,
                .flops = 75e6,
                .bytes = 3e6},
               {.step = "fused",
                .code = "kernel add_tanh",
                .scope = "hidden",
                .calls = 4,
                .seconds = 800e-6,
                .flops = 1e6,
                .bytes = 2e6},
               {.step = "row-major copy", .code = "kernel copy", .calls = 0}};
  out.time_line = {{.step = 0, .call = 0, .begin = 1e-6, .length = 750e-6},
                   {.step = 1, .call = 0, .begin = 752e-6, .length = 200e-6}};
  out.arena_bytes = 2048;
  out.memory_bound = 1024;
  return out;
}

Explanation explanation() {
  Explanation out;
  out.passes = {{.name = "merge", .stage = "canonical", .seconds = 0.25e-3}, {.name = "find_gemm", .seconds = 1e-3}};
  Expr none;
  out.fired = {{"canonicalize", "mul_by_one", none, none, Safety::kExact},
               {"find_gemm", "gemm", none, none, Safety::kReassociating},
               {"find_gemm", "gemm", none, none, Safety::kReassociating}};
  return out;
}

const MachineRates kRates{.flops = 200e9, .streams = {{32768, 100e9}, {16 << 20, 20e9}}};

TEST(ProfileReport, Table) {
  EXPECT_EQ("\n" + profile_table(example(), explanation(), {{.flops = 200e9, .streams = {{1 << 20, 20e9}}}}), R"(
profile of train: 4 calls, 2 threads, 1000.0 us a call, 50.0 of them between the steps
step   us a call    share   GFLOP/s     GB/s  of ceiling  code
   0      750.00   75.0 %     100.0      4.0      50.0 %  gemm_f32  [hidden]
   1      200.00   20.0 %       5.0     10.0      50.0 %  kernel add_tanh  [hidden]
   2        0.00    0.0 %                                 kernel copy
ceiling: 200.0 GFLOP/s; GB/s, by the bytes that a step moves: 20.0 (1 MiB)
layers:  hidden 95.0 %, (none) 0.0 %
passes:  merge 0.25 ms, find_gemm 1.00 ms
rules:   gemm 2, mul_by_one 1
memory:  2048 bytes of temporaries, 1024 live at the peak
)");
}

TEST(ProfileReport, StepsInsideLoopsAreNamedWithThem) {
  Profile profile = example();
  profile.steps[1].loop = "scan lstm";
  const std::string text = profile_table(profile, explanation(), {});
  EXPECT_NE(text.find("  kernel add_tanh  [hidden]  in scan lstm\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\nlayers:  hidden 95.0 %, (none) 0.0 %\nloops:   (none) 75.0 %, scan lstm 20.0 %\n"),
            std::string::npos)
      << text;
  const std::string json = profile_json(profile, explanation(), {});
  EXPECT_NE(json.find(R"("loop": "scan lstm", "calls": 4)"), std::string::npos) << json;
  EXPECT_NE(json.find(R"({"loop": "scan lstm", "seconds": 8e-04})"), std::string::npos) << json;
}

TEST(ProfileReport, SaysWhatBelongsToTheGradient) {
  Profile profile = example();
  profile.steps[0].role = "forward";
  profile.steps[1].role = "gradient+update";
  profile.steps[2].role = "update";
  const std::string text = profile_table(profile, explanation(), {});
  EXPECT_NE(text.find("  code, role\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  gemm_f32, forward  [hidden]\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  kernel add_tanh, gradient+update  [hidden]\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\nroles:   forward 75.0 %, gradient+update 20.0 %, update 0.0 %\nlayers:  "), std::string::npos)
      << text;
  auto values = read_json(profile_json(profile, explanation(), {}), "it");
  EXPECT_EQ(values.at("steps.1.role"), "gradient+update");
  EXPECT_EQ(values.at("roles.0.role"), "forward");
  EXPECT_EQ(values.at("roles.0.seconds"), "0.003");
}

TEST(ProfileReport, AStepIsHeldAgainstTheCeilingOfItsSize) {
  EXPECT_EQ(kRates.stream_rate(100), 100e9);
  EXPECT_EQ(kRates.stream_rate(2e6), 100e9);  // larger than a cache that was measured, smaller than the next size
  EXPECT_EQ(kRates.stream_rate(1e9), 20e9);
  EXPECT_EQ((MachineRates{.flops = 1, .streams = {{1000, 5e9}, {2000, 6e9}}}).stream_rate(1000), 6e9);
  Profile profile = example();
  std::string text = profile_table(profile, explanation(), kRates);
  EXPECT_NE(text.find("10.0      10.0 %  kernel add_tanh"), std::string::npos) << text;
  EXPECT_EQ(text.find("above 100 %"), std::string::npos) << text;
  profile.steps[1].bytes = 2e9;  // in 200 us
  text = profile_table(profile, explanation(), kRates);
  EXPECT_NE(text.find(" %  kernel add_tanh"), std::string::npos);
  EXPECT_NE(
      text.find("\n         above 100 %: the step found its data in a faster cache than arrays of its size usually "
                "have, or the machine was busier when the ceiling was measured\n"),
      std::string::npos)
      << text;
}

TEST(ProfileReport, StepsOfADeviceAreHeldAgainstItsCeilings) {
  Profile profile = example();
  profile.steps[0].is_on_device = true;
  profile.clock = "events of the NVIDIA H200";
  const MachineRates rates{.flops = 200e9, .streams = {{0, 20e9}}, .device = "the NVIDIA H200, by its attributes"};
  const std::string text = profile_table(profile, explanation(), rates);
  EXPECT_NE(text.find("\n   0      750.00   75.0 %     100.0      4.0      50.0 %  gemm_f32"), std::string::npos)
      << text;
  EXPECT_NE(text.find("\n   1      200.00   20.0 %       5.0     10.0              "), std::string::npos)
      << "of the host: " << text;
  EXPECT_NE(text.find("\nceiling of the NVIDIA H200, by its attributes: 200.0 GFLOP/s; GB/s: 20.0\n"),
            std::string::npos)
      << text;
  auto values = read_json(profile_json(profile, explanation(), rates), "it");
  EXPECT_EQ(values.at("ceiling_of"), "the NVIDIA H200, by its attributes");
  EXPECT_EQ(values.at("steps.0.of_ceiling"), "0.5");
  EXPECT_EQ(values.count("steps.1.of_ceiling"), 0U);
}

TEST(ProfileReport, Json) {
  auto values =
      read_json(profile_json(example(), explanation(), {{.flops = 200e9, .streams = {{1 << 20, 20e9}}}}), "it");
  EXPECT_EQ(values.at("ceiling_bytes.0.bytes_per_second"), "2e+10");
  EXPECT_EQ(values.at("calls"), "4");
  EXPECT_EQ(values.at("steps.0.code"), "gemm_f32");
  EXPECT_EQ(values.at("steps.0.of_ceiling"), "0.5");
  EXPECT_EQ(values.at("layers.0.layer"), "hidden");
  EXPECT_EQ(values.at("rules.0.fired"), "2");
  EXPECT_EQ(values.at("memory_bound"), "1024");
  EXPECT_EQ(read_json(profile_json(example(), explanation(), {}), "it").count("steps.0.of_ceiling"), 0u);
}

TEST(ProfileReport, Trace) {
  std::string trace = profile_trace(example());
  auto values = read_json(trace, "trace");
  std::vector<std::string> first;
  for (const char* key : {"name", "cat", "ph", "ts", "dur", "pid", "tid", "args.call", "args.step", "args.flops"})
    first.push_back(values.at(std::string("traceEvents.0.") + key));
  std::vector<std::string> expected{"gemm_f32", "hidden", "X", "1", "750", "1", "1", "0", "0", "7.5e+07"};
  EXPECT_EQ(first, expected);
  EXPECT_EQ(values.at("traceEvents.1.ts"), "752");
  EXPECT_EQ(values.count("traceEvents.2.name"), 0u);
}

}  // namespace
}  // namespace thtrain
