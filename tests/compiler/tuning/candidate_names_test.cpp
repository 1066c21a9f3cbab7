// Names of candidates: what shared objects may declare, and what functions may take.
#include <gtest/gtest.h>

#include <stdlib.h>

#include <filesystem>
#include <regex>

#include "compiler/api.h"
#include "compiler/ops/linalg/matrix_product.h"
#include "compiler/tuning/machine.h"
#include "compiler/tuning/tuner.h"
#include "compiler/tuning/user_candidates.h"
#include "tests/support/error_text.h"
#include "tests/support/planted_candidates.h"

namespace thtrain {
namespace {

using kernel::ChoiceKey;

class CandidateNames : public testing::Test {
 protected:
  void SetUp() override {
    std::string made = (std::filesystem::temp_directory_path() / "thtrain-test-XXXXXX").string();
    ASSERT_NE(mkdtemp(made.data()), nullptr);
    root_ = made;
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  std::string plain(const std::string& text) const { return std::regex_replace(text, std::regex(root_ + "/"), ""); }
  // Of a file that declares one candidate by these words of C.
  std::string error_of(const std::string& file, const std::string& declared) const {
    const std::string path = built_object(root_, file,
                                          str(R"(#include "compiler/tuning/candidate_abi.h"
static long workspace(const char*) { return -1; }
static int compute(const ThCandidateCall*) { return 0; }
TH_CANDIDATES {
  static const ThCandidate it = {)",
                                              declared, R"(};
  list->add(list, &it);
}
)"));
    return plain(text_without_node([&] { load_candidates(path); }));
  }

  std::string root_;
};

TEST_F(CandidateNames, EachFieldThatIsWrongIsNamed) {
  const std::string rest = ", \"1\", TH_REORDERED, 0, workspace, compute";
  const std::string characters = "\n  expected: letters, digits, spaces within, and _ . + -; at most 60";
  for (const std::string none : {"\"\"", "0"})
    EXPECT_EQ(error_of("none", "\"matrix_product\", " + none + rest),
              "error: none.so: the name of a candidate is empty" + characters);
  EXPECT_EQ(error_of("long", str("\"matrix_product\", \"", std::string(300, 'a'), '"', rest)),
            "error: long.so: the name of a candidate has 300 characters" + characters);
  EXPECT_EQ(error_of("colours", "\"matrix_product\", \"\\033[31mred\"" + rest),
            "error: colours.so: the name of a candidate is \"\\x1b[31mred\"" + characters);
  EXPECT_EQ(error_of("blank", "\"matrix_product\", \" mine\"" + rest),
            "error: blank.so: the name of a candidate is \" mine\"" + characters);
  EXPECT_EQ(error_of("version", "\"conv\", \"of names\", \"\", TH_REORDERED, 0, workspace, compute"),
            "error: version.so: the candidate of names: its version is empty" + characters);
  const std::string computations = "\n  expected: matrix_product, conv, conv_input_gradient, conv_weight_gradient";
  for (const std::string other : {"pool", "matmul", ""})
    EXPECT_EQ(error_of("other", '"' + other + "\", \"of names\"" + rest),
              "error: other.so: the candidate of names is of no computation that may have some: \"" + other + "\"" +
                  computations);
  EXPECT_EQ(error_of("idle", "\"conv\", \"of names\", \"1\", TH_REORDERED, 0, workspace, 0"),
            "error: idle.so: the candidate of names has no function compute\n  expected: a pointer to one");
  EXPECT_EQ(error_of("spaceless", "\"conv\", \"of names\", \"1\", TH_REORDERED, 0, 0, compute"),
            "error: spaceless.so: the candidate of names has no function workspace\n  expected: a pointer to one");
  EXPECT_EQ(error_of("rounding", "\"conv\", \"of names\", \"1\", 7, 0, workspace, compute"),
            "error: rounding.so: the candidate of names has the rounding 7\n  expected: TH_REORDERED or TH_OTHER");
  EXPECT_EQ(error_of("bound", "\"conv\", \"of names\", \"1\", TH_OTHER, -1, workspace, compute"),
            "error: bound.so: the candidate of names has the error bound -1\n"
            "  expected: a finite number above 0 with TH_OTHER");
}

// The second would never be found.
TEST_F(CandidateNames, ANameIsOneCandidate) {
  const std::string rest = ", \"1\", TH_REORDERED, 0, workspace, compute", its_own = "\n  expected: a name of its own";
  for (const std::string name : {"library", "oneDNN", "tile 6x4x392", "loops"})
    EXPECT_EQ(
        error_of("copy", "\"matrix_product\", \"" + name + '"' + rest),
        "error: copy.so: the candidate " + name + " of matrix_product has the name of one of thtrain's own" + its_own);
  EXPECT_EQ(error_of("first", "\"conv\", \"of two files\"" + rest), "no error");
  EXPECT_EQ(error_of("second", "\"conv\", \"of two files\"" + rest),
            "error: second.so: the candidate of two files of conv has the name of one of first.so" + its_own);
  EXPECT_EQ(error_of("third", "\"conv_input_gradient\", \"of two files\"" + rest), "no error")
      << "of another computation";
  EXPECT_EQ(error_of("first", "\"conv\", \"of two files\", \"2\", TH_REORDERED, 0, workspace, compute"), "no error")
      << "the same file, built anew";
}

// ---- names that functions take -------------------------------------------------------------------------------------

TEST(TakenNames, AMisspeltOneIsAnErrorWithThoseThatThereAre) {
  auto error_of = [](const char* computation, const char* name) {
    return text_without_node([&] { Tuner({.taken = {{computation, name}}}); });
  };
  EXPECT_EQ(error_of("pool", "colums"),
            "error: there is no candidate colums of pool\n  expected: taps, columns, positions, cuDNN, cuDNN any "
            "maximum (# stands for a number)\n"
            "  got:      pool: colums");
  EXPECT_EQ(error_of("pool", ""),
            "error: there is no candidate  of pool\n  expected: taps, columns, positions, cuDNN, cuDNN any maximum (# "
            "stands for a number)\n"
            "  got:      pool: ");
  for (const char* name : {"taps", "columns"}) EXPECT_EQ(error_of("pool", name), "no error") << name;
  // Through a function, which does not get so far as to be compiled.
  Expr x = tensor("x", {1, 1, 4, 4}, DType::kFloat32);
  EXPECT_EQ(text_without_node([&] {
              function({x}, {pool(x, {.window = {2, 2}})}, {}, {.candidates = {{"pool", "colums"}}});
            }),
            "error: there is no candidate colums of pool\n  expected: taps, columns, positions, cuDNN, cuDNN any "
            "maximum (# stands for a number)\n"
            "  got:      pool: colums");
}

TEST(TakenNames, ANumberStandsForAnyNumber) {
  for (const auto& [name, matches] : {std::pair("tile 6x4x392", true),
                                      {"tile 1x1x1", true},
                                      {"tile 6x4", false},
                                      {"tile 6x4x392 ", false},
                                      {"tile x4x392", false},
                                      {"tile6x4x392", false},
                                      {"tile -6x4x392", false},
                                      {"", false}})
    EXPECT_EQ(matches_stated_name("tile #x#x#", name), matches) << name;
  EXPECT_TRUE(matches_stated_name("loops", "loops"));
  EXPECT_FALSE(matches_stated_name("loops", "loop"));
  EXPECT_FALSE(matches_stated_name("loops", "loopss"));
}

// What thtrain's sources offer, they state.
TEST(TakenNames, AllThatIsOfferedIsStated) {
  const std::vector<ChoiceKey> keys = {key_of({DType::kFloat32, 60, 500, 784, false, false, false}),
                                       key_of({DType::kFloat64, 1000, 1000, 60, true, false, true}),
                                       {"conv", "float32 b1 i4x8x8 k4x3x3 p1:1x1:1"},
                                       {"conv", "float64 b20 i1x28x28 k20x5x5"},
                                       {"conv_input_gradient", "float32 b20 i4x28x28 k20x5x5"},
                                       {"conv_weight_gradient", "float32 b20 i1x28x28 k20x5x5"},
                                       {"conv_weight_gradient", "float32 b1 i4x8x8 k4x3x3 p1:1x1:1"},
                                       {"pool", "max_pool float32 16x64x56x56 w2x2 s2x2 p0:0x0:0"}};
  for (const ChoiceKey& key : keys) {
    size_t own = 0;
    const std::vector<Candidate> offered = candidates_of(key, machine());
    for (const Candidate& candidate : offered) {
      if (candidate.is_added) continue;
      ++own;
      EXPECT_TRUE(is_own_candidate_name(key.computation, candidate.name)) << key.text() << ": " << candidate.name;
    }
    EXPECT_GT(own, 0u) << key.text();
    const Computation& computation = *find_computation(key.computation);
    for (const std::string& name : {computation.plain, computation.rule(key, machine(), 1, 0)})
      EXPECT_TRUE(is_own_candidate_name(key.computation, name)) << key.text() << ": " << name;
    EXPECT_FALSE(is_own_candidate_name(key.computation, "no such candidate"));
  }
  EXPECT_TRUE(is_own_candidate_name("conv_weight_gradient", "exchanged filters 6x4"));
  EXPECT_FALSE(is_own_candidate_name("conv_input_gradient", "exchanged filters 6x4"));
}

}  // namespace
}  // namespace thtrain
