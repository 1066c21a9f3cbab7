#include "datasets/class_names.h"

#include <map>

#include "compiler/base/escape.h"
#include "compiler/base/file.h"
#include "datasets/content.h"
#include "datasets/csv_text.h"
#include "datasets/text_lines.h"

namespace thtrain {

static std::vector<std::string> names_in(const std::string& path) {
  InputFile file(path);
  const std::string beginning = file.beginning();
  if (Content content = content_of(beginning); content != Content::kText && content != Content::kEmpty)
    throw file_error(path, "these are no names of classes", "text: a name in each line", content_text(beginning));
  TextLines lines(file);
  std::vector<std::string> out;
  std::map<std::string, int64_t> line_of;
  int64_t empty = 0;  // the first empty line
  for (std::string_view line; lines.next(line);) {
    const std::string name(trimmed(line));
    if (name.empty()) {
      if (empty == 0) empty = lines.number();
      continue;
    }
    if (empty > 0) throw file_error(path, str("line ", empty, " is empty"), "a name in each line");
    auto [known, fresh] = line_of.emplace(name, lines.number());
    if (!fresh)
      throw file_error(path, str("line ", lines.number(), ": two classes have the same name"), "a name for each class",
                       str('"', excerpt(name, 40), "\", as in line ", known->second));
    out.push_back(name);
  }
  if (out.empty()) throw file_error(path, "there are no names of classes", "a name in each line", "no lines");
  return out;
}

std::vector<std::string> read_class_names(const std::string& path, const ConfigPosition& where) {
  try {
    return names_in(path);
  } catch (const UserError& error) {
    throw placed(error, where);
  }
}

void check_class_names(const std::vector<std::string>& names, const ConfigPosition& where, Targets targets,
                       int64_t known, const std::string& counted_in) {
  auto refuse = [&](const std::string& expected, const std::string& got, const std::string& hint) {
    throw UserError({.what = "data.class_names does not fit the data",
                     .expected = expected,
                     .got = got,
                     .config = where,
                     .hint = hint});
  };
  if (targets == Targets::kValues)
    refuse("classes or labels to name", "data.target = \"values\"", "values have no names: leave data.class_names out");
  const auto count = static_cast<int64_t>(names.size());
  if (known == 0 || known == count) return;
  const char* of = targets == Targets::kLabels ? "label" : "class";
  refuse(str(known, known == 1 ? " name" : " names", ", one for each ", of, " of the data"),
         str(count, count == 1 ? " name" : " names", ": ", excerpt(join(names, ", "), 60)),
         counted_in.empty()
             ? ""
             : str("the largest label of ", counted_in, " is ", known - 1, ", and labels are numbered from 0"));
}

}  // namespace thtrain
