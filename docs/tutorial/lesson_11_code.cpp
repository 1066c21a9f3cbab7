// Lesson 11: code. The last stage: the program becomes C++. We read the text, compile it ourselves with the system's
// compiler, load it, and call it. There is no magic behind it: the text is the whole program.
// `./thtrain lesson 11` builds and runs it.
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "compiler/api.h"
#include "compiler/codegen/entry_abi.h"

using namespace thtrain;

static void expect(bool holds, const char* what) {
  std::printf("%-60s %s\n", what, holds ? "yes" : "NO");
  if (!holds) std::exit(1);
}

// Compiles a text to a shared object and gives its entry; null where there is no compiler.
static ThEntry compiled(const std::string& text) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("lesson_11_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  const std::string source = folder / "program.cpp", object = folder / "program.so";
  std::ofstream(source) << text;
  const std::string command = "g++ -std=c++17 -O2 -march=native -Wno-psabi -shared -fPIC -o " + object + " " + source;
  std::printf("$ g++ -std=c++17 -O2 -march=native -Wno-psabi -shared -fPIC -o program.so program.cpp\n");
  ThEntry entry = nullptr;
  if (std::system(command.c_str()) == 0)
    if (void* library = dlopen(object.c_str(), RTLD_NOW | RTLD_LOCAL))
      entry = reinterpret_cast<ThEntry>(dlsym(library, "thtrain_entry"));
  std::filesystem::remove_all(folder);
  return entry;
}

int main() {
  // A layer without a matrix product, so that the text is short: max(x + b, 0) / 2, and the mean of each row.
  Expr x = matrix("x", {"batch", 20}), b = vector("b", {20});
  Expr h = maximum(x + b, 0) * 0.5;
  Function f = function({x, b}, {h, mean(h, 1)}, {}, {.threads = 1});
  const std::string text = f.explain().cpp;

  // The text begins with the program: after the arguments and the interface come `thtrain_entry` and its steps, each
  // with its number and its formula; then the kernels that it calls; last the helpers.
  const size_t entry_at = text.find("int thtrain_entry("), first_kernel = text.find("\nstatic void k0_", entry_at),
               interface_at = text.find("struct ThContext"), helpers_at = text.find("// Definitions of the helpers");
  const size_t lines = static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
  std::printf("The program, of %zu lines in all:\n%s\n", lines,
              text.substr(entry_at, text.find("\n}\n", entry_at) + 3 - entry_at).c_str());
  expect(interface_at < entry_at && entry_at < first_kernel, "the entry comes before the kernels");
  expect(first_kernel < helpers_at, "the helpers are at the end");
  expect(text.find("// 0: ", entry_at) < first_kernel, "step 0 has its number and its formula");

  // A kernel is a loop. Its comment says what it computes, for one element.
  const size_t kernel_end = text.find("\n}\n", first_kernel) + 3, comment = text.rfind("\n\n", first_kernel) + 2;
  std::printf("\nIts first kernel:\n%s\n", text.substr(comment, kernel_end - comment).c_str());

  // Compile it, and call it as the runtime does: arguments are inputs, then outputs, each with its data and lengths.
  // The context has the memory for temporaries and what a program may ask for.
  ThEntry entry = compiled(text);
  expect(entry != nullptr, "the system's compiler takes the text as it is");
  constexpr long kRows = 3;
  RandomState random(7);
  std::vector<double> x_data = random.normal(0, 1, kRows * 20), b_data = random.normal(0, 1, 20);
  std::vector<double> h_data(kRows * 20), mean_data(kRows);
  const long x_dims[] = {kRows, 20}, b_dims[] = {20}, mean_dims[] = {kRows};
  const ThTensor arguments[] = {
      {x_data.data(), x_dims}, {b_data.data(), b_dims}, {h_data.data(), x_dims}, {mean_data.data(), mean_dims}};
  std::vector<char> memory(1 << 16);
  ThContext context{};
  context.version = TH_ABI_VERSION;
  context.threads = 1;
  context.arena = memory.data() + (64 - reinterpret_cast<uintptr_t>(memory.data()) % 64) % 64;
  context.fail = [](ThContext* c, int check, long, long) {
    std::printf("check %d failed\n", check);
    c->failure.word = check + 1;
  };
  expect(entry(&context, arguments) == 0, "our call ends with 0: done");

  const std::vector<Tensor> theirs = f({Tensor::of(x_data, {kRows, 20}), Tensor::of(b_data, {20})});
  expect(same_bits(theirs[0], Tensor::of(h_data, {kRows, 20})), "our h has the bits of the function's");
  bool close = true;
  for (long i = 0; i < kRows; ++i) close = close && std::abs(theirs[1].as_double(i) - mean_data[i]) < 1e-15;
  expect(close, "and the means agree");

  std::printf("\nTo try: change the 0.5 in the text before it is compiled. Then the numbers are yours.\n");
}
