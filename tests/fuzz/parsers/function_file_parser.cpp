// Saved functions: the part of the file that its hash is of, under the right hash.
#include "compiler/runtime/function_file.h"

#include <unistd.h>

#include "compiler/api.h"
#include "compiler/base/file.h"
#include "compiler/store/entry_store.h"
#include "tests/fuzz/parsers/parser.h"
#include "tests/fuzz/parsers/scratch_file.h"

namespace thtrain::fuzz {
namespace {

constexpr std::string_view kMark = "thtrain function 1\n";

std::string trailer_of(const std::string& content) {
  return detail::entry_trailer("function", "", content);
}

bool parse(std::string_view bytes) {
  const std::string content(bytes);
  try {
    LoadedFunction parts = function_of_bytes(str(kMark, content, trailer_of(content)), "f", {});
    parts.options.mode = Mode::kReference;
    function(parts.inputs, parts.outputs, parts.updates, parts.options);
    return true;
  } catch (const UserError&) {
    return false;
  }
}

std::string content_of(const Function& f) {
  const std::string path = scratch_file().holding("") + ".function";  // save() puts a file of its own there
  f.save(path);
  const std::string whole = read_file(path);
  unlink(path.c_str());
  return whole.substr(kMark.size(), whole.size() - kMark.size() - trailer_of("").size());
}

std::vector<std::string> seeds() {
  const Expr x = vector("x", {"n"}), i = iscalar("i");
  const Shared w(Tensor::vector({1.0, 2.0}), "w");
  const FunctionOptions options{.mode = Mode::kReference, .name = "f"};
  return {content_of(function({}, {w}, {{w, w * 2}}, options)),
          content_of(function({x, In(i, InOptions{.value = Tensor(int64_t{1}), .update = i + 1})},
                              {{"y", x[i]}, zeros({i})}, {}, options))};
}

}  // namespace

const Parser kFunctionFile = {"function_file", parse, seeds};

}  // namespace thtrain::fuzz
