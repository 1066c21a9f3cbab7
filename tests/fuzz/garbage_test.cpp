// Whatever a program passes to a public function: it gives a result, or a UserError that says what is wrong.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <fstream>
#include <functional>
#include <regex>

#include "tests/fuzz/garbage_calls.h"
#include "tests/support/fuzz_settings.h"

namespace thtrain {
namespace {

std::vector<GarbageCall> all_calls() {
  std::vector<GarbageCall> calls;
  add_builders(calls);
  add_control(calls);
  add_array_builders(calls);
  add_sparse(calls);
  add_graphs(calls);
  add_streams(calls);
  add_objects(calls);
  const size_t others = calls.size();
  add_models(calls);  // of which errors name keys
  for (size_t i = others; i < calls.size(); ++i) calls[i].is_builder = false;
  return calls;
}

// ---- a case that ends the process, or does not end, names itself ----

char running[256] = "";
int standard_error = 2;  // while what the cases print there is captured

extern "C" void say_which(int signal) {
  const ssize_t ignored = ::write(standard_error, running, std::strlen(running));
  (void)ignored;
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

class NamedCase {
 public:
  NamedCase(const std::string& name, uint64_t seed) {
    const std::string text = str("\n", name, ", THTRAIN_FUZZ_SEED=", seed, " THTRAIN_FUZZ_CASES=1\n");
    std::strncpy(running, text.c_str(), sizeof running - 1);
    for (int signal : kSignals) std::signal(signal, say_which);
    ::alarm(60);
  }
  ~NamedCase() {
    ::alarm(0);
    for (int signal : kSignals) std::signal(signal, SIG_DFL);
  }

 private:
  static constexpr int kSignals[] = {SIGSEGV, SIGFPE, SIGABRT, SIGALRM, SIGBUS};
};

// ---- what is done with the expressions that a call gave ----

bool is_small(const Expr& value) {
  int64_t size = 1;
  for (const Dim& dim : value.dims()) {
    if (!dim.is_known()) continue;
    if (dim.value() > 100) return false;
    size *= dim.value();
  }
  return size < 10000;
}

// An argument for the input, mostly of lengths that fit.
Tensor argument_for(const Expr& input, Garbage& garbage) {
  if (garbage.one_in(10)) return garbage.draw<Tensor>();
  Shape shape;
  for (const Dim& dim : input.dims())
    shape.push_back(dim.is_known() ? std::clamp<int64_t>(dim.value(), 0, 100) : static_cast<int64_t>(garbage.below(4)));
  return Tensor::zeros(input.dtype(), shape);
}

void compute(const std::vector<Expr>& values, Garbage& garbage) {
  std::vector<Expr> roots;
  std::copy_if(values.begin(), values.end(), std::back_inserter(roots), [](const Expr& e) { return e.has_value(); });
  if (roots.empty() || garbage.is_huge() || !std::all_of(roots.begin(), roots.end(), is_small)) return;
  std::vector<In> inputs;
  std::vector<Tensor> arguments;
  for (const Expr& leaf : leaves_of(roots)) {
    if (!is_small(leaf)) return;
    if (!is_input(leaf)) continue;
    inputs.emplace_back(leaf);
    arguments.push_back(argument_for(leaf, garbage));
  }
  if (is_float(roots[0].dtype()) && garbage.one_in(3))
    for (const Expr& leaf : leaves_of(roots))
      if (is_float(leaf.dtype())) roots.push_back(grad(sum(roots[0]), leaf, {.disconnected = Disconnected::kZero}));
  const std::vector<Out> outputs(roots.begin(), roots.end());
  Function f = function(inputs, outputs, {}, {.mode = Mode::kReference, .unused_inputs = UnusedInputs::kAllowed});
  f(arguments);
}

// ---- whose line is named? ----

// A node that names a line of the library as the one that built it; "" where all are lines of the program.
std::string library_line(const std::vector<Expr>& values) {
  std::vector<Expr> roots;
  std::copy_if(values.begin(), values.end(), std::back_inserter(roots), [](const Expr& e) { return e.has_value(); });
  for (const Node* node : topological_order(roots))
    if (std::string_view(node->origin.file).find("compiler/") != std::string_view::npos)
      return str("a node ", node->op->name, " is ", node->origin.text());
  return "";
}

// These only look at what an expression is, as its members do.
const std::set<std::string> kWithoutLine = {"named", "vector_jacobian"};

// An error must not name a line of the library, and one of a builder must name a line of the program.
std::string fault_of_error(const GarbageCall& call, const UserError& error) {
  for (const Message& message : error.messages())
    if (message.node.find("compiler/") != std::string::npos) return error.what();
  const bool names_line = error.messages()[0].node.find("tests/") != std::string::npos;
  const bool must = call.is_builder && !kWithoutLine.contains(call.name);
  return must && !names_line ? str("no line of the program: ", error.what()) : "";
}

// What is wrong with the case; "" where nothing is.
std::string fault_of(const GarbageCall& call, uint64_t seed) {
  const NamedCase named(call.name, seed);
  Garbage garbage(seed);
  try {
    std::vector<Expr> values;
    try {
      values = call.run(garbage);
    } catch (const UserError& error) {
      return fault_of_error(call, error);
    }
    if (const std::string line = library_line(values); !line.empty()) return line;
    if (call.name != "print" && garbage.one_in(2)) compute(values, garbage);
  } catch (const UserError& error) {
    return error.messages()[0].node.find("compiler/") == std::string::npos ? "" : error.what();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

TEST(Garbage, GivesAResultOrAnErrorOfTheUser) {
  const FuzzSettings settings = fuzz_settings(1, 60);
  SCOPED_TRACE(settings.text());
  standard_error = ::dup(2);
  testing::internal::CaptureStderr();
  std::map<std::string, int> faults;
  std::string texts;
  for (const GarbageCall& call : all_calls())
    for (int64_t i = 0; i < settings.cases; ++i) {
      const uint64_t seed = settings.seed + static_cast<uint64_t>(i);
      const std::string fault = fault_of(call, seed);
      if (fault.empty() || ++faults[call.name] > 2) continue;
      texts += str(call.name, ", seed ", seed, ": ", fault, "\n");
    }
  testing::internal::GetCapturedStderr();
  ::close(std::exchange(standard_error, 2));
  EXPECT_EQ(texts, "");
}

// ---- is every function of the page among them? ----

// "add" of "Expr add(Operand a)", "Tensor.view" of a member of the class; "" of what is called by no one.
std::string function_named(const std::string& signature, const std::string& of_class) {
  static const std::regex form(R"(^(?:[\w:<>, &*]*[ &*>])?(operator[^(]*(?:\(\))?|[A-Za-z_]\w*)\()");
  std::smatch match;
  if (!std::regex_search(signature, match, form)) return "";
  return of_class.empty() ? std::string(match[1]) : str(of_class, '.', std::string(match[1]));
}

std::set<std::string> functions_of_the_page() {
  // Values that builders take, which are drawn.
  static const std::set<std::string> kValues = {"KeepDims",    "Ddof",           "Axes", "Index",  "ConvPadding",
                                                "OpFromGraph", "OpFromFunction", "Dim",  "Operand"};
  std::ifstream page("docs/library.md");
  std::set<std::string> out;
  std::string of_class, line;
  bool is_listed = false;
  while (std::getline(page, line)) {
    if (line.starts_with("<!--")) is_listed = line.find("begin builders") != std::string::npos;
    const bool is_member = line.starts_with("  - `");
    if (!is_listed || (!is_member && !line.starts_with("- `"))) continue;
    static const std::regex code("`([^`]*)`"), type("^- `(class|struct|enum class) (\\w+)");
    std::smatch match;
    if (std::regex_search(line, match, type)) {
      of_class = match[1] == "class" || match[2] == "In" || match[2] == "Out" ? std::string(match[2]) : "-";
      continue;
    }
    if (!is_member) of_class.clear();
    if (of_class == "-" || kValues.contains(of_class)) continue;
    const std::string signatures = line.substr(0, line.find("`: ") + 1);
    for (std::sregex_iterator at(signatures.begin(), signatures.end(), code), end; at != end; ++at)
      if (const std::string name = function_named((*at)[1], of_class); !name.empty()) out.insert(name);
  }
  return out;
}

TEST(Garbage, IsPassedToEveryFunctionOfTheLibrarysPage) {
  std::set<std::string> called;
  for (const GarbageCall& call : all_calls()) called.insert(call.name.substr(0, call.name.find('<', 9)));
  // Of nodes and raw memory, which no function can look at, and of nothing.
  called.insert({"Expr.Expr", "floatX", "Shared.Expr", "RandomState.uniforms", "RandomState.standard_normals",
                 "RandomState.from_words", "RandomState.to_words"});
  const std::set<std::string> listed = functions_of_the_page();
  EXPECT_GT(listed.size(), 250u);
  for (const std::string& name : listed)
    EXPECT_TRUE(called.contains(name)) << name << " of docs/library.md is in no list of tests/fuzz/garbage_*.cpp";
}

}  // namespace
}  // namespace thtrain
