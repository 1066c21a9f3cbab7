// `thtrain bench`, shortened: what it prints and writes, and how it speaks with its workers.
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "compiler/base/str.h"
#include "compiler/host/cpu.h"
#include "tests/support/cli_support.h"
#include "tests/support/datasets_support.h"

namespace thtrain {
namespace {

using Line = std::map<std::string, std::string>;

class CliBench : public testing::Test {
 protected:
  // The JSON lines of a run with a Python that is none, so that there are no peers.
  std::vector<Line> rows(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "bench");
    for (const char* word : {"--quick", "--repetitions", "1", "--rounds", "1", "--json", "--python", "no-python"})
      arguments.push_back(word);
    Ended ended = workshop.run(arguments);
    EXPECT_EQ(ended.code, 0) << ended.err;
    notes = ended.err;
    std::vector<Line> out;
    std::istringstream lines(ended.out);
    for (std::string line; std::getline(lines, line);) out.push_back(read_json(line, "standard output"));
    return out;
  }
  Workshop workshop;
  std::string notes;
};

TEST_F(CliBench, EveryBenchmarkGivesItsNumbers) {
  const std::map<std::string, std::pair<std::string, size_t>> wanted = {
      {"mlp", {"examples/s", 2}}, {"logreg", {"examples/s", 2}}, {"elementwise", {"elements/s", 3}},
      {"gemm", {"GFLOP/s", 2}},   {"conv", {"GFLOP/s", 6}},      {"convnet", {"examples/s", 2}},
      {"compile", {"nodes/s", 2}}};
  for (const auto& [name, of] : wanted) {
    std::vector<Line> found = rows({name, "--dtype", "float64", "--threads", "1"});
    EXPECT_EQ(found.size(), of.second) << name;
    for (Line& row : found) {
      EXPECT_EQ(row["bench"], name);
      EXPECT_EQ(row["dtype"], "float64");
      EXPECT_EQ(row["threads"], "1");
      EXPECT_EQ(row["unit"], of.first);
      EXPECT_EQ(row["kind"], "");
      EXPECT_GT(std::stod(row["value"]), 0);
      EXPECT_LE(std::stod(row["low"]), std::stod(row["value"]));
      EXPECT_GE(std::stod(row["high"]), std::stod(row["value"]));
      for (const char* key : {"case", "form", "implementation", "setting", "version", "chosen"})
        EXPECT_TRUE(row.contains(key));
    }
    ASSERT_FALSE(found.empty());
    EXPECT_EQ(found[0]["implementation"], "thtrain");
    EXPECT_NE(notes.find("no-python does not run "), std::string::npos) << notes;
  }
}

TEST_F(CliBench, FormsDtypesThreadsAndCasesAreThoseAskedFor) {
  std::vector<Line> found = rows({"elementwise", "--case", "a+1/500,sigm_tanh/300", "--dtype", "float32", "--threads",
                                  "1,2", "--only", "thtrain"});
  std::vector<std::string> seen;
  for (Line& row : found) seen.push_back(str(row["case"], ' ', row["threads"], ' ', row["form"]));
  EXPECT_EQ(seen, (std::vector<std::string>{"a+1/500 1 owned", "a+1/500 1 borrowed", "sigm_tanh/300 1 owned",
                                            "sigm_tanh/300 1 borrowed", "a+1/500 2 owned", "a+1/500 2 borrowed",
                                            "sigm_tanh/300 2 owned", "sigm_tanh/300 2 borrowed"}));
}

TEST_F(CliBench, ConvolutionsAreGivenAsConfigurations) {
  const std::vector<std::string> cases = {"i3x9x8,k4x3x2,b2,p1x0/fprop", "i3x9x8,k4x3x2,b2,p1x0/inputs",
                                          "i3x9x8,k4x3x2,b2,p1x0/weights"};
  std::vector<std::string> seen;
  for (Line& row :
       rows({"conv", "i3x9x8,k4x3x2,b2,p1x0", "--dtype", "float32", "--threads", "1", "--only", "thtrain"})) {
    seen.push_back(row["case"]);
    EXPECT_NE(row["chosen"], "");
  }
  EXPECT_EQ(seen, cases);
}

TEST_F(CliBench, ThePaperGivesTablesAndFigures) {
  Ended ended = workshop.run(
      {"bench", "paper", "--quick", "--repetitions", "1", "--rounds", "1", "--python", "no-python", "--all"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  for (const char* part :
       {"mlp, float64, 1 thread, examples/s\n", "elementwise, float64, 1 thread, elements/s\n", "| 20-15-10/12 |",
        "| poly2/1000 | owned |", "convnet, float64, 1 thread, examples/s\n", "| convsmall/1 | float64 | 1 | ",
        " | 569 | ", "figures: fig5.png, fig5.svg, fig6.png, fig6.svg, fig7.png, fig7.svg\n"})
    EXPECT_NE(ended.out.find(part), std::string::npos) << part << "\n" << ended.out;
  EXPECT_EQ(workshop.list(),
            (std::vector<std::string>{"fig5.png", "fig5.svg", "fig6.png", "fig6.svg", "fig7.png", "fig7.svg"}));
}

TEST_F(CliBench, MathsGivesTheErrorsOfFunctions) {
  Ended ended = workshop.run({"bench", "maths", "--quick", "--case", "tanh", "--dtype", "float32,float64"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  for (const char* part : {"| tanh | float32 | ", "| tanh | float64 | "})
    EXPECT_NE(ended.out.find(part), std::string::npos) << part << "\n" << ended.out;
  ended = workshop.run({"bench", "maths", "--case", "tangh"});
  EXPECT_EQ(ended.code, 2);
  EXPECT_EQ(ended.err.find("error: bench maths: there is no function tangh\n  expected: exp, exp2,"), 0u) << ended.err;
}

// Before, a case that was none was a note, and the exit code 0.
TEST_F(CliBench, IsaHoldsEverybodyToItsInstructions) {
  if (cpu().architecture != "x86-64") GTEST_SKIP() << "isa names instructions of x86-64";
  for (const char* isa : {"sse2", "avx2"}) {
    if (std::string(isa) == "avx2" && cpu().widest_isa() == "sse2") continue;
    for (Line& row : rows({"gemm", "--isa", isa, "--dtype", "float32", "--threads", "1", "--only", "thtrain"}))
      EXPECT_EQ(row["setting"], std::string(isa) == "avx2" ? "openblas Haswell" : "openblas Prescott");
  }
  const Ended maths = workshop.run({"bench", "maths", "--isa", "avx2"});
  EXPECT_EQ(maths.code, 2);
  EXPECT_EQ(maths.err, "error: bench maths: --isa has no effect\n  expected: --vector-bytes\n");
  if (cpu().widest_isa() == "avx512") return;
  const Ended wide = workshop.run({"bench", "gemm", "--isa", "avx512"});
  EXPECT_EQ(wide.code, 2);
  EXPECT_EQ(wide.err,
            "error: THTRAIN_TARGET names instructions that this processor does not have\n  expected: at most " +
                cpu().widest_isa() + "\n  got:      avx512\n");
}

// Before, the reference implementation was measured.
TEST_F(CliBench, MeasuresNothingWithoutACompiler) {
  EnvironmentVariable none("THTRAIN_CXX", "");
  const Ended ended = workshop.run({"bench", "gemm", "--quick", "--only", "thtrain", "--threads", "1"});
  EXPECT_EQ(ended.code, 2);
  EXPECT_EQ(ended.err,
            "error: bench gemm: nothing was measured\n"
            "  got:      thtrain: not measured: there is no native code: THTRAIN_CXX is empty\n");
}

TEST_F(CliBench, ACaseThatIsNoneEndsTheProgramBeforeAnythingIsMeasured) {
  Ended ended = workshop.run({"bench", "gemm", "--case", "6x7x5/TN,foo", "--python", "no-python"});
  EXPECT_EQ(ended.code, 2);
  EXPECT_EQ(ended.out, "");
  EXPECT_EQ(ended.err,
            "error: bench gemm: there is no case foo\n"
            "  expected: rows, inner length, columns, and N or T for each operand, such as 60x784x500/NN\n"
            "            the cases of gemm: 2048x2048x2048/NN, 60x784x500/NN, 784x60x500/TN, 60x500x784/NT, "
            "32x256x256/NN, 1x256x256/NN\n");
}

TEST_F(CliBench, DeviceComparesResultsAndCountsLaunches) {
  const std::vector<Line> found = rows({"device", "emulated"});
  ASSERT_EQ(found.size(), 25U);
  for (Line row : found) {
    EXPECT_GT(std::stod(row["seconds"]), 0) << row["case"];
    EXPECT_GT(std::stod(row["value"]), 0) << row["case"];
    EXPECT_EQ(row["host_steps"], "0") << row["case"];
    const bool is_training = row["unit"] == "examples/s", is_drawn = row["unit"] == "1e9 numbers/s";
    EXPECT_EQ(row.contains("difference"), !is_training && !is_drawn) << row["case"];
    EXPECT_EQ(row.contains("of_copy"), row["unit"] == "GB/s") << row["case"];
    if (row.contains("difference")) {
      EXPECT_LT(std::stod(row["difference"]), 5e-6) << row["case"];
    }
    if (row["unit"] == "GB/s") {
      EXPECT_EQ(row["kernels"], "1") << row["case"];
    }
    if (row["case"].starts_with("conv/")) {
      EXPECT_EQ(row["by"], "cuDNN") << row["case"];
    }
    if (is_training) {
      EXPECT_EQ(row["graphs"], "1") << row["case"];
      EXPECT_GE(std::stod(row["nodes"]), 5) << row["case"];
    }
  }
}

// Scripts that are given are asked on the emulated device too: one that has some cases, one that fails, and one that is
// not installed.
TEST_F(CliBench, DevicePeersAreInTheRowsOfTheirCases) {
  const std::string folder = workshop.path("peers");
  std::filesystem::create_directory(folder);
  std::ofstream(folder + "/worker.py") << R"(import json, sys
def say(**what): print(json.dumps(what), flush=True)
name = sys.argv[2]
if name == "--list":
    for one in ("fast", "broken", "absent"): say(name=one, kind="user", form="none", needs="numpy")
    sys.exit()
if name == "absent":
    say(missing="no module")
    sys.exit()
say(ready=name, version=name + " 1.0", setting="")
for line in sys.stdin:
    if name == "broken": say(error="out of order" if line.startswith("copy") else "not measured")
    elif line.startswith("mlp"): say(error="not measured")
    else: say(value=1.0, low=1.0, high=1.0)
)";
  const Ended ended = workshop.run({"bench", "device", "emulated", "--quick", "--peers", folder});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_TRUE(ended.out.starts_with(
      "device: emulated device, sm_75; driver: 12.4; kernels by: the host's compiler\n"
      "others: fast (fast 1.0), broken (broken 1.0): us, and how many times as long as thtrain; "
      "nobody uses TF32\n\n"
      "| float32 | us | rate | of the copy | by | kernels | graphs | nodes | on the host | off by "
      "| fast | broken |\n"))
      << ended.out;
  std::istringstream lines(ended.out);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("| copy/")) {
      EXPECT_TRUE(std::regex_search(line, std::regex(R"( \d+\.\d \(\d+\.\d\d\) \| \|$)"))) << line;
    }
    if (line.starts_with("| mlp/")) {
      EXPECT_TRUE(line.ends_with(" | | |")) << line;
    }
  }
  EXPECT_TRUE(ended.out.ends_with("\nabsent: not measured: no module\nbroken: copy/1000: out of order\n")) << ended.out;
  EXPECT_EQ(workshop.run({"bench", "device", "emulated", "--quick", "--peers", folder, "--only", "slow,fast"}).err,
            "error: bench device: --only: nobody is called slow\n"
            "  expected: absent, broken, fast, thtrain\n");
}

TEST_F(CliBench, DevicesThatThereAreNot) {
  const Ended ended = workshop.run({"bench", "device", "gpu"});
  EXPECT_EQ(ended.code, 2);
  EXPECT_EQ(ended.err,
            "error: bench device: there is no device gpu\n"
            "  expected: cuda, cuda:0 to cuda:7, or emulated\n"
            "  hint:     thtrain info lists the devices\n");
  EXPECT_EQ(workshop.run({"bench", "device", "--case", "x"}).err,
            "error: bench device: --case has no effect\n"
            "  expected: nothing, or the name of a device: thtrain bench device emulated\n");
}

}  // namespace
}  // namespace thtrain
