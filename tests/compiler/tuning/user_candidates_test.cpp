// Candidates of shared objects: good ones are taken, and none of the others does harm.
#include "compiler/tuning/user_candidates.h"

#include <gtest/gtest.h>

#include <stdlib.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <regex>

#include "compiler/api.h"
#include "compiler/ops/linalg/matrix_product.h"
#include "compiler/tuning/candidate_trials.h"
#include "compiler/tuning/machine.h"
#include "compiler/tuning/trial_process.h"
#include "tests/support/error_text.h"
#include "tests/support/planted_candidates.h"

namespace thtrain::user_candidates_test {
namespace {

using kernel::ChoiceKey;

// A number of threads that nothing else uses: what is remembered for it disturbs nobody.
constexpr int kThreads = 2;

class SharedCandidates : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    std::string made = (std::filesystem::temp_directory_path() / "thtrain-test-XXXXXX").string();
    ASSERT_NE(mkdtemp(made.data()), nullptr);
    root_ = made;
  }
  static void TearDownTestSuite() { std::filesystem::remove_all(root_); }

  // For products of so many columns: what one test loads stays in the process, and is nothing to the others.
  static std::string plant(const std::string& name, Planted planted, int64_t columns) {
    planted.name = name;
    if (columns > 0) planted.only = str("4x6x", columns, " NN");
    return planted_object(root_, name, planted);
  }
  // Without the folder of the tests.
  static std::string plain(const std::string& text) { return std::regex_replace(text, std::regex(root_ + "/"), ""); }

  static std::string root_;
};
std::string SharedCandidates::root_;

ChoiceKey product_key(int64_t columns = 11) {
  return key_of({DType::kFloat32, 4, columns, 6, false, false, false});
}

TrialVerdict verdict_of(const std::string& name, const ChoiceKey& key = product_key()) {
  const std::optional<Candidate> candidate = find_candidate(key, name, machine());
  EXPECT_TRUE(candidate) << name;
  return candidate ? try_candidate(*candidate, key, 1) : TrialVerdict{};
}

Function product(int64_t columns, const FunctionOptions& options) {
  Expr x = tensor("x", {4, 6}, DType::kFloat32), y = tensor("y", {6, columns}, DType::kFloat32);
  return function({x, y}, {dot(x, y)}, {}, options);
}

Tensor numbers(Shape shape) {
  Tensor out = Tensor::empty(DType::kFloat32, shape);
  for (int64_t i = 0; i < out.size(); ++i) out.data<float>()[i] = static_cast<float>(i % 7 - 3);
  return out;
}

std::string taken_by(const Function& f) {
  return f.info().choices.at(0).candidate;
}

TEST_F(SharedCandidates, AGoodOneIsTriedTimedAndTaken) {
  load_candidates(plant("good", {}, 11));
  const ChoiceKey key = product_key();
  const TrialVerdict verdict = verdict_of("good");
  EXPECT_EQ(verdict.refusal + verdict.unavailable, "");
  EXPECT_GT(verdict.seconds, 0);
  EXPECT_EQ(verdict.flops, 2 * 4 * 6 * 11);

  const std::vector<Candidate> usable = usable_candidates(key, 0);
  EXPECT_TRUE(std::any_of(usable.begin(), usable.end(), [](const Candidate& c) { return c.name == "good"; }));
  const std::vector<CandidateTrial> trials = time_candidates(key, usable, 1);
  EXPECT_EQ(trials.size(), usable.size());

  Function mine = product(11, {.threads = kThreads, .candidates = {{"matrix_product", "good"}}});
  Function others = product(11, {.threads = kThreads, .candidates = {{"matrix_product", "library"}}});
  EXPECT_EQ(taken_by(mine), "good");
  const Tensor x = numbers({4, 6}), y = numbers({6, 11});
  EXPECT_TRUE(same_bits(mine({x, y})[0], others({x, y})[0]));
  EXPECT_TRUE(
      std::regex_match(mine.info().choices.at(0).version, std::regex("1 of good\\.so [0-9a-f]{12} user_candidate 1")))
      << mine.info().choices.at(0).version;
  Function again = product(11, {.threads = kThreads, .candidates = {{"matrix_product", "good"}}});
  EXPECT_TRUE(again.info().from_cache);
  EXPECT_TRUE(same_bits(again({x, y})[0], others({x, y})[0]));
}

// Products that are added in place, by a scaled factor, of operands that lie transposed.
TEST_F(SharedCandidates, ComputeEveryFormOfAProduct) {
  load_candidates(plant("forms", {.workspace = 64}, 0));
  for (bool trans_a : {false, true})
    for (bool adds : {false, true}) {
      const TrialVerdict verdict = verdict_of("forms", key_of({DType::kFloat32, 5, 9, 8, trans_a, !trans_a, adds}));
      EXPECT_EQ(verdict.refusal + verdict.unavailable, "") << trans_a << adds;
    }
  EXPECT_FALSE(find_candidate(key_of({DType::kFloat64, 5, 9, 8, false, false, false}), "forms", machine()))
      << "it does not compute float64";
}

struct BadCase {
  const char* name;
  Planted planted;
  const char* refusal;
};

TEST_F(SharedCandidates, BadOnesAreRefusedWithTheReason) {
  const std::vector<BadCase> cases = {
      {"wrong",
       {.last = "*element(call->out, 1, 2) += 1e-3f;"},
       "wrong result: element \\[1, 2\\] is [-0-9.]+, and [-0-9.]+ by the candidate library"},
      {"segv",
       {.first = "*(volatile int*)0 = 1;"},
       "it was ended by SIGSEGV \\(Segmentation fault\\) in compute\\(\\)"},
      {"aborts", {.first = "std::abort();"}, "it was ended by SIGABRT \\(Aborted\\) in compute\\(\\)"},
      {"exits", {.first = "_exit(7);"}, "it ended the process in compute\\(\\), with status 7"},
      {"leaves", {.first = "_exit(0);"}, "it ended the process in compute\\(\\), with status 0"},
      {"hangs", {.first = "for (volatile int i = 0;;) i = 1;"}, "it did not end within 0.5 s in compute\\(\\)"},
      {"fails", {.first = "return 3;"}, "it failed: compute\\(\\) returned 3"},
      {"eats", {.last = "*element(call->a, 0, 0) += 1;"}, "it changed its arguments"},
      {"dirty",
       {.last = "*element(call->out, 0, 0) += *static_cast<unsigned char*>(call->workspace);", .workspace = 64},
       "wrong result: element \\[0, 0\\] is [-0-9.]+, and [-0-9.]+ by the candidate library"},
      {"dice",
       {.last = "static int n; if (n++ % 2) *element(call->out, 0, 0) = -*element(call->out, 0, 0);"},
       "wrong result: two calls with equal arguments gave different bits"},
      {"once",
       {.last = "static int n; if (n++ % 50 == 49) *element(call->out, 0, 0) += 1;"},
       "wrong result: two calls with equal arguments gave different bits"},
      {"vast", {.workspace = 1L << 50}, "its workspace of 1125899906842624 bytes is larger than this machine's memory"},
      {"throws", {.first = "throw 1;"}, "it was ended by SIGABRT \\(Aborted\\) in compute\\(\\)"},
      {"throws_text", {.first = "throw std::runtime_error(\"no memory\");"}, "it threw an exception: no memory"},
      {"late",
       {.last = "static int n; if (n++ > 2000) std::abort();"},
       "it was ended by SIGABRT \\(Aborted\\) in compute\\(\\), while it was timed"},
  };
  for (const BadCase& bad : cases) {
    const bool hangs = std::strstr(bad.refusal, "0.5 s") != nullptr;
    setenv("THTRAIN_TRIAL_LIMIT", hangs ? "0.5" : "20", 1);
    load_candidates(plant(bad.name, bad.planted, 12));
    const TrialVerdict verdict = verdict_of(bad.name, product_key(12));
    EXPECT_TRUE(std::regex_match(verdict.refusal, std::regex(bad.refusal)))
        << bad.name << ": " << verdict.refusal << verdict.unavailable;
    EXPECT_EQ(verdict.seconds, 0) << bad.name;
  }
  unsetenv("THTRAIN_TRIAL_LIMIT");
}

// One line says so, training takes another, and a second start does not try again.
TEST_F(SharedCandidates, ARefusalIsSaidAndRemembered) {
  const std::string path = plant("crasher", {.first = "*(volatile int*)0 = 1;"}, 13);
  load_candidates(path);
  const ChoiceKey key = product_key(13);
  testing::internal::CaptureStderr();
  Function f = product(13, {.threads = kThreads, .candidates = {{"matrix_product", "crasher"}}});
  EXPECT_EQ(
      plain(testing::internal::GetCapturedStderr()),
      "thtrain: warning: the candidate crasher of crasher.so is not taken for matrix_product float32 4x6x13 NN: it "
      "was ended by SIGSEGV (Segmentation fault) in compute()\n");
  EXPECT_NE(taken_by(f), "crasher");
  EXPECT_EQ(f({numbers({4, 6}), numbers({6, 13})})[0].shape(), (Shape{4, 13}));
  const std::vector<Refused> refused = remembered(kThreads).refused_of(key.text());
  const auto at =
      std::find_if(refused.begin(), refused.end(), [](const Refused& r) { return r.candidate == "crasher"; });
  ASSERT_NE(at, refused.end());
  EXPECT_EQ(at->version, version_of(find_candidate(key, "crasher", machine()).value()));
  EXPECT_EQ(at->reason, "it was ended by SIGSEGV (Segmentation fault) in compute()");

  // What is remembered answers: with another reason there, nobody tried again. It was said once.
  TuningTable other;
  other.refuse(key.text(), {"crasher", at->version, "of another day"});
  remember(other, kThreads);
  testing::internal::CaptureStderr();
  product(13, {.threads = kThreads, .use_cache = false, .candidates = {{"matrix_product", "crasher"}}});
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(remembered(kThreads).refused_of(key.text()).at(0).reason, "of another day");
}

TEST_F(SharedCandidates, AFileThatChangedIsTriedAgain) {
  const std::string path = plant("mended", {.first = "return 3;"}, 14);
  load_candidates(path);
  const FunctionOptions options{.threads = kThreads, .candidates = {{"matrix_product", "mended"}}};
  EXPECT_NE(taken_by(product(14, options)), "mended");
  plant("mended", {}, 14);
  load_candidates(path);
  EXPECT_EQ(taken_by(product(14, options)), "mended");
  const std::vector<Candidate> all = candidates_of(product_key(14), machine());
  EXPECT_EQ(std::count_if(all.begin(), all.end(), [](const Candidate& c) { return c.name == "mended"; }), 1);
}

// Lists do not force what was refused; the debug mode computes with what is wrong, and names it.
TEST_F(SharedCandidates, DebugNamesAWrongOne) {
  load_candidates(plant("liar", {.last = "*element(call->out, 1, 2) += 1e-3f;"}, 15));
  FunctionOptions options{.threads = kThreads, .candidate_lists = {.only = {"liar"}}};
  EXPECT_NE(taken_by(product(15, options)), "liar");
  for (bool by_list : {true, false}) {
    FunctionOptions debug{.mode = Mode::kDebug, .threads = kThreads};
    if (by_list)
      debug.candidate_lists = {.only = {"liar"}};
    else
      debug.candidates = {{"matrix_product", "liar"}};
    Function f = product(15, debug);
    EXPECT_EQ(taken_by(f), "liar");
    std::string message;
    try {
      f({numbers({4, 6}), numbers({6, 15})});
    } catch (const UserError& error) {
      message = error.what();
    }
    EXPECT_NE(message.find("output 0, which the candidate liar computes"), std::string::npos) << message;
    EXPECT_NE(message.find("at [1, 2]"), std::string::npos) << message;
    EXPECT_TRUE(plain(message).ends_with("hint:     that candidate is of liar.so")) << message;
  }
}

// With tune = always the tuner times them with the others, and takes one that is the fastest.
TEST_F(SharedCandidates, TheTunerTakesTheFastest) {
  load_candidates(plant("slow", {.first = "usleep(2000);"}, 16));
  load_candidates(plant("bad", {.first = "return 1;"}, 16));
  testing::internal::CaptureStderr();
  Function f = product(16, {.threads = kThreads, .tune = Tune::kAlways});
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("the candidate bad of "), std::string::npos) << said;
  const TuningTable table = remembered(kThreads);
  const std::vector<Measured>& measured = table.of(product_key(16).text());
  auto seconds = [&](const std::string& name) {
    for (const Measured& m : measured)
      if (m.candidate == name) return m.seconds;
    return 0.0;
  };
  EXPECT_GT(seconds("slow"), 2e-3);
  EXPECT_EQ(seconds("bad"), 0);
  EXPECT_EQ(taken_by(f), measured.at(0).candidate);
  testing::internal::CaptureStderr();
  product(16, {.threads = kThreads, .use_cache = false, .tune = Tune::kAlways});
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << "nothing is timed again";
}

std::string load_error(const std::string& path) {
  return text_without_node([&] { load_candidates(path); });
}

TEST_F(SharedCandidates, FilesThatAreNoneAreErrors) {
  const std::string there = "\n  expected: a shared object with candidates";
  EXPECT_EQ(plain(load_error(root_ + "/none.so")), "error: none.so: cannot be read: no such file or folder" + there);
  EXPECT_EQ(plain(load_error(root_)), "error: " + root_ + ": is no file" + there);
  std::ofstream(root_ + "/text.so") << "text\n";
  EXPECT_EQ(plain(load_error(root_ + "/text.so")),
            "error: text.so: cannot be loaded" + there + ": g++ -shared -fPIC\n  hint:     text.so: file too short");
  EXPECT_EQ(plain(load_error(built_object(root_, "empty", "int nothing;\n"))),
            "error: empty.so: exports no thtrain_candidates_version\n"
            "  expected: a shared object that defines TH_CANDIDATES { ... } of candidate_abi.h");
  const std::string foreign = built_object(root_, "foreign", "int nothing;\n");
  std::fstream(foreign, std::ios::in | std::ios::out | std::ios::binary)
      .seekp(18)
      .write("\x02", 2);  // e_machine: SPARC
  EXPECT_EQ(plain(load_error(foreign)),
            "error: foreign.so: is built for another processor" + there + ": g++ -shared -fPIC");
  EXPECT_EQ(plain(load_error(built_object(root_, "half", "extern \"C\" const int thtrain_candidates_version = 1;\n"))),
            "error: half.so: exports no thtrain_candidates\n"
            "  expected: a shared object that defines TH_CANDIDATES { ... } of candidate_abi.h");
  EXPECT_EQ(plain(load_error(built_object(root_, "old",
                                          "extern \"C\" {\nextern const int thtrain_candidates_version;\n"
                                          "const int thtrain_candidates_version = 7;\n"
                                          "void thtrain_candidates(void*) { __builtin_trap(); }\n}\n"))),
            "error: old.so: is built for version 7 of the interface of candidates\n  expected: version 1\n"
            "  hint:     build it again with the headers of this thtrain");
  const std::string what = "\n  expected: constructors, destructors and a thtrain_candidates() that return";
  EXPECT_EQ(
      plain(load_error(plant("boom", {.at_load = "*(volatile int*)0 = 1;"}, 18))),
      "error: boom.so: cannot be loaded: it was ended by SIGSEGV (Segmentation fault) while it was loaded" + what);
  EXPECT_EQ(plain(load_error(plant("leaver", {.at_load = "std::atexit([] { std::abort(); });"}, 18))),
            "error: leaver.so: cannot be loaded: it was ended by SIGABRT (Aborted) when the process ended" + what);
  setenv("THTRAIN_TRIAL_LIMIT", "0.5", 1);
  EXPECT_EQ(plain(load_error(plant("sleeper", {.at_load = "for (volatile int i = 0;;) i = 1;"}, 18))),
            "error: sleeper.so: cannot be loaded: it did not end within 0.5 s while it was loaded" + what);
  unsetenv("THTRAIN_TRIAL_LIMIT");
  EXPECT_EQ(plain(load_error(plant("bad;name", {}, 18))),
            "error: bad;name.so: the name of a candidate is \"bad;name\"\n"
            "  expected: letters, digits, spaces within, and _ . + -; at most 60");
  EXPECT_EQ(plain(load_error(plant("twice",
                                   {.at_load = "static const ThCandidate two = {\"matrix_product\", \"twice\", "
                                               "\"1\", TH_REORDERED, 0, workspace, compute};\n"
                                               "list->add(list, &two);"},
                                   18))),
            "error: twice.so: the candidate twice is added twice for matrix_product\n"
            "  expected: each name once for a computation");
  EXPECT_EQ(plain(load_error(plant("nothing", {.at_load = "return;"}, 18))),
            "error: nothing.so: adds no candidates\n"
            "  expected: list->add(list, &candidate) in TH_CANDIDATES");
}

// As the constructor does that -ffast-math links.
TEST_F(SharedCandidates, LoadingOneLeavesHowTheProcessorRounds) {
  const std::string flush = "__builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040);";
  load_candidates(plant("flushes", {.at_load = flush}, 21));
  const auto rounding = __builtin_ia32_stmxcsr();
  Function f = product(21, {.threads = kThreads, .candidates = {{"matrix_product", "flushes"}}});
  EXPECT_EQ(taken_by(f), "flushes");
  EXPECT_EQ(f({numbers({4, 6}), numbers({6, 21})})[0].shape(), (Shape{4, 21}));
  EXPECT_EQ(__builtin_ia32_stmxcsr() & ~0x3Fu, rounding & ~0x3Fu) << "but for what happened";
}

TEST_F(SharedCandidates, AWorkspaceFunctionThatCrashesIsAWarning) {
  load_candidates(plant("shaky", {.workspace_code = "if (std::strstr(properties, \"x17 \")) std::abort();"}, 17));
  testing::internal::CaptureStderr();
  EXPECT_FALSE(find_candidate(product_key(17), "shaky", machine()));
  EXPECT_EQ(plain(testing::internal::GetCapturedStderr()),
            "thtrain: warning: the candidates of shaky.so are not taken for matrix_product float32 4x6x17 NN: it was "
            "ended by SIGABRT (Aborted) in workspace()\n");
}

// A file that is gone is not taken any more; what is loaded goes on.
TEST_F(SharedCandidates, AFileThatIsGoneIsAWarning) {
  const std::string path = plant("gone", {}, 19);
  load_candidates(path);
  std::filesystem::remove(path);
  testing::internal::CaptureStderr();
  EXPECT_FALSE(find_candidate(product_key(19), "gone", machine()));
  EXPECT_EQ(plain(testing::internal::GetCapturedStderr()),
            "thtrain: warning: the candidates of gone.so are not taken for matrix_product float32 4x6x19 NN: gone.so: "
            "cannot be read: no such file or folder\n");
}

// Convolutions without zeros around them, and one with errors that it bounds.
TEST_F(SharedCandidates, ConvolutionsAreJudgedByTheirBound) {
  auto conv = [](const std::string& name, double bound, double error) {
    return built_object(root_, name,
                        str(R"(#include "compiler/tuning/candidate_abi.h"
#include <cstring>
static long workspace(const char* properties) { return std::strcmp(properties, "float32 b2 i3x8x9 k4x3x2") ? -1 : 0; }
static float& at(const ThArray& x, long i, long j, long k, long l) {
  return static_cast<float*>(x.data)[i * x.strides[0] + j * x.strides[1] + k * x.strides[2] + l * x.strides[3]];
}
static int compute(const ThCandidateCall* call) {
  const long *n = call->out.lengths, *w = call->b.lengths;
  for (long i = 0; i < n[0]; ++i) for (long f = 0; f < n[1]; ++f)
    for (long y = 0; y < n[2]; ++y) for (long x = 0; x < n[3]; ++x) {
      float sum = 0;
      for (long c = 0; c < w[1]; ++c) for (long p = 0; p < w[2]; ++p) for (long q = 0; q < w[3]; ++q)
        sum += at(call->a, i, c, y + p, x + q) * at(call->b, f, c, p, q);
      at(call->out, i, f, y, x) = sum + )",
                            error, R"(f;
    }
  return 0;
}
TH_CANDIDATES {
  static const ThCandidate it = {"conv", ")",
                            name, R"(", "1", TH_OTHER, )", bound, R"(, workspace, compute};
  list->add(list, &it);
}
)"));
  };
  const ChoiceKey key{"conv", "float32 b2 i3x8x9 k4x3x2"};
  load_candidates(conv("loose", 1e-2, 1e-3));
  load_candidates(conv("looser", 1e-6, 1e-1));
  EXPECT_EQ(verdict_of("loose", key).refusal, "");
  EXPECT_GT(verdict_of("loose", key).seconds, 0);
  EXPECT_TRUE(verdict_of("looser", key).refusal.starts_with("wrong result: element [0, 0, 0, 0] is "))
      << verdict_of("looser", key).refusal;
  auto is_usable = [&](double tolerance) {
    const std::vector<Candidate> all = usable_candidates(key, tolerance);
    return std::any_of(all.begin(), all.end(), [](const Candidate& c) { return c.name == "loose"; });
  };
  EXPECT_TRUE(is_usable(1e-2));
  EXPECT_FALSE(is_usable(0.9e-2));
}

// For a copy of this program in another folder, which the next test runs: says whether the candidate is offered.
TEST_F(SharedCandidates, DISABLED_OfAnotherProgram) {
  load_candidates(std::getenv("THTRAIN_TEST_OBJECT"));
  std::printf("offered: %d\n", find_candidate(product_key(20), "far", machine()).has_value());
}

// A program with no thtrain-trial next to it finds it by THTRAIN_TRIAL.
TEST_F(SharedCandidates, WithoutAProgramThatTriesNothingIsTaken) {
  const std::string object = plant("far", {}, 20), copy = root_ + "/test";
  std::filesystem::copy_file("/proc/self/exe", copy);
  auto output = [&](const std::string& trial) {
    const std::string command =
        str("THTRAIN_TRIAL='", trial, "' THTRAIN_TEST_OBJECT='", object, "' '", copy,
            "' --gtest_also_run_disabled_tests --gtest_filter=*OfAnotherProgram 2>&1 | grep -e offered -e warning");
    std::string out;
    std::FILE* pipe = popen(command.c_str(), "r");
    for (int c; pipe && (c = std::fgetc(pipe)) != EOF;) out += static_cast<char>(c);
    if (pipe) pclose(pipe);
    return plain(out);
  };
  const std::string in_folder =
      std::filesystem::read_symlink("/proc/self/exe").parent_path().string() + "/thtrain-trial";
  EXPECT_EQ(output(in_folder), "offered: 1\n");
  for (const char* none : {"", "/no/such/program"})
    EXPECT_EQ(
        output(none),
        "thtrain: warning: the candidates of far.so are neither tried nor taken: there is no thtrain-trial next to "
        "this program, and THTRAIN_TRIAL does not name it\noffered: 0\n");
  EXPECT_EQ(output("/bin/true"),
            "thtrain: warning: the candidates of far.so are neither tried nor taken: /bin/true did not answer: exit "
            "status 0\noffered: 0\n");
}

TEST_F(SharedCandidates, TheLimitIsANumber) {
  setenv("THTRAIN_TRIAL_LIMIT", "soon", 1);
  EXPECT_EQ(text_without_node([] { trial_limit(); }),
            "error: THTRAIN_TRIAL_LIMIT is not a time\n"
            "  expected: seconds that one call into a user's candidate may take, or 0 for no limit\n"
            "  got:      soon");
  setenv("THTRAIN_TRIAL_LIMIT", "1.5", 1);
  EXPECT_EQ(trial_limit(), 1.5);
  unsetenv("THTRAIN_TRIAL_LIMIT");
  EXPECT_EQ(trial_limit(), 20);
}

}  // namespace
}  // namespace thtrain::user_candidates_test
