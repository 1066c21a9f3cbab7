#include "tests/compiler/ops/library_page/header_reader.h"

#include <algorithm>
#include <regex>
#include <sstream>

namespace thtrain {
namespace {

std::string trimmed(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \n"), end = text.find_last_not_of(" \n");
  return begin == std::string::npos ? "" : text.substr(begin, end - begin + 1);
}

bool starts_with(const std::string& text, const std::string& prefix) {
  return text.compare(0, prefix.size(), prefix) == 0;
}

// The line without its comment, and the comment.
std::pair<std::string, std::string> split_comment(const std::string& line) {
  const size_t at = line.find("//");
  if (at == std::string::npos) return {line, ""};
  return {line.substr(0, at), trimmed(line.substr(at + 2))};
}

// Is there a parenthesis outside of angle brackets and before an initial value?
bool is_function(const std::string& text) {
  if (text.find("operator") != std::string::npos) return true;
  int depth = 0;
  for (size_t i = 0; i < text.size() && text[i] != '='; ++i) {
    depth += (text[i] == '<') - (text[i] == '>');
    if (text[i] == '(' && depth == 0) return true;
  }
  return false;
}

// A function's text without its body and initializers.
std::string before_body(const std::string& text) {
  int depth = 0;
  bool has_parameters = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '(') ++depth;
    if (text[i] == ')') --depth, has_parameters = true;
    if (depth > 0 || !has_parameters) continue;
    if (text[i] == '{' || text[i] == ';') return text.substr(0, i);
    if (text[i] == ':' && text[i - 1] == ' ' && text[i + 1] == ' ') return text.substr(0, i);
  }
  return text;
}

// Without `template <...>` and `requires ...`.
std::string without_template(std::string text) {
  while (starts_with(text, "template") || starts_with(text, "requires")) {
    const bool is_template = text[0] == 't';
    const bool is_block = starts_with(text, "requires requires");
    const char open = is_block ? '{' : is_template ? '<' : '(', close = is_block ? '}' : is_template ? '>' : ')';
    size_t end = text.find('\n');
    if (is_template || is_block || starts_with(text, "requires(")) {
      int depth = 0;
      for (end = text.find(open); end < text.size(); ++end) {
        if (text[end] == open) ++depth;
        if (text[end] == close && --depth == 0) break;
      }
      ++end;
    }
    text = trimmed(text.substr(end));
  }
  return text;
}

std::string tidy(const std::string& declaration) {
  static const std::regex location(",? ?std::source_location where( = std::source_location::current\\(\\))?");
  static const std::regex reference("const ([A-Za-z_:0-9]+(<[^()&]*>)?)&");
  static const std::regex prefix("^((inline|explicit|constexpr|virtual) )+");
  static const std::regex spaces("\\s+");
  std::string text = std::regex_replace(trimmed(declaration), spaces, " ");
  text = std::regex_replace(text, prefix, "");
  text = std::regex_replace(text, location, "");
  text = trimmed(std::regex_replace(text, reference, "$1"));
  return !text.empty() && text.back() == ';' ? text.substr(0, text.size() - 1) : text;
}

// Of "Expr add(Operand a, Operand b)": add; of "int threads = 0": threads.
std::string name_in(const std::string& signature) {
  static const std::regex function("(operator(\\(\\)|\\[\\]|[^ (]+| [^(]+)|~?[A-Za-z_0-9]+)\\(");
  static const std::regex field("([A-Za-z_0-9]+)( = .*)?$");
  static const std::regex pointer("\\(\\*([A-Za-z_0-9]+)\\)\\(");
  std::smatch match;
  if (std::regex_search(signature, match, pointer)) return match[1];
  if (std::regex_search(signature, match, function) || std::regex_search(signature, match, field)) return match[1];
  return "";
}

class Reader {
 public:
  Reader(std::string header, std::vector<Declared>& out) : header_(std::move(header)), out_(out) {}

  void read(const std::vector<std::string>& lines, const std::string& owner, bool is_public) {
    std::string doc, group;
    for (size_t i = 0; i < lines.size(); ++i) {
      const std::string line = trimmed(lines[i]);
      if (line.empty())
        doc.clear(), group.clear();
      else if (starts_with(line, "// ---- "))
        task_ = line.substr(8, line.find(" --", 8) - 8), doc.clear(), group.clear();
      else if (starts_with(line, "///"))
        doc += trimmed(line.substr(3)) + "\n";
      else if (starts_with(line, "//") || starts_with(line, "#") || starts_with(line, "namespace "))
        continue;
      else if (line == "public:")
        is_public = true;
      else if (line == "private:" || line == "protected:")
        is_public = false;
      else if (!starts_with(line, "}")) {
        const size_t begin = i;
        i = end_of_declaration(lines, i);
        if (!doc.empty() || !owner.empty()) group = doc;
        if (is_public) declare({lines.begin() + long(begin), lines.begin() + long(i) + 1}, owner, group);
        doc.clear();
      }
    }
  }

 private:
  static size_t end_of_declaration(const std::vector<std::string>& lines, size_t i) {
    long depth = 0;
    bool in_requirement = false;  // requires requires(...) {: its brace ends no declaration
    for (; i < lines.size(); ++i) {
      const std::string code = trimmed(split_comment(lines[i]).first);
      if (depth == 0 && starts_with(code, "requires requires")) in_requirement = true;
      for (char c : code) depth += (c == '{' || c == '(') - (c == '}' || c == ')');
      if (depth != 0 || code.empty() || (code.back() != ';' && code.back() != '}')) continue;
      if (!in_requirement) return i;
      in_requirement = false;
    }
    return lines.size() - 1;
  }

  void declare(const std::vector<std::string>& lines, const std::string& owner, const std::string& doc) {
    std::string text;
    for (const std::string& line : lines) text += split_comment(line).first + "\n";
    text = without_template(trimmed(text));
    static const std::regex left_out(
        "^(using|friend|extern|concept|struct [A-Za-z]+;|class [A-Za-z]+;|enum class [A-Za-z]+;)");
    if (std::regex_search(text, left_out)) return;
    static const std::regex type("^(class|struct|enum class) ([A-Za-z_]+)");
    std::smatch match;
    if (std::regex_search(text, match, type)) {
      if (!owner.empty()) return;
      const bool is_enum = match[1] == "enum class";
      add(match[2], is_enum ? tidy(std::regex_replace(text, std::regex(",\\s*\\}"), " }")) : match.str(), owner, doc,
          "", true);
      if (!is_enum && lines.size() > 1) read({lines.begin() + 1, lines.end() - 1}, match[2], match[1] == "struct");
      return;
    }
    const std::string signature = tidy(is_function(text) ? before_body(text) : text);
    const std::string name = name_in(is_function(text) ? signature : signature.substr(0, signature.find(" = ")));
    const bool is_defined_elsewhere = signature.find("::" + name + "(") != std::string::npos;
    const bool is_special = signature.find("= default") != std::string::npos || name[0] == '~';
    const bool is_deleted = text.find("= delete") != std::string::npos;
    const bool is_assignment = owner.size() && name == "operator=";
    if (is_defined_elsewhere || is_special || is_deleted || is_assignment) return;
    add(name, signature, owner, doc, split_comment(lines.back()).second, false);
  }

  void add(std::string name, std::string signature, const std::string& owner, std::string doc, std::string remark,
           bool is_type) {
    const bool is_overload = !out_.empty() && out_.back().owner == owner && out_.back().name == name;
    if (doc.empty() && remark.empty() && is_overload) doc = out_.back().doc;
    out_.push_back({header_, task_, owner, std::move(name), std::move(signature), doc, std::move(remark), is_type});
  }

  std::string header_, task_;
  std::vector<Declared>& out_;
};

}  // namespace

std::vector<Declared> declarations_of(const std::string& header, const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  std::vector<Declared> out;
  Reader(header, out).read(lines, "", true);
  return out;
}

std::string first_sentence(const std::string& doc) {
  std::string line = doc.substr(0, doc.find("\n\n"));
  std::replace(line.begin(), line.end(), '\n', ' ');
  // No sentence ends in "...", in a product "l . l^T" or after an initial "N. Higham".
  const auto goes_on = [&line](size_t dot) {
    const bool initial = std::isupper(static_cast<unsigned char>(line[dot - 1])) != 0 &&
                         (dot == 1 || std::string(" (").find(line[dot - 2]) != std::string::npos);
    return line[dot - 1] == '.' || line[dot - 1] == ' ' || initial;
  };
  size_t end = line.find(". ");
  while (end != std::string::npos && end > 0 && goes_on(end)) end = line.find(". ", end + 1);
  line = trimmed(line.substr(0, end));
  while (!line.empty() && (line.back() == '.' || line.back() == ':')) line.pop_back();
  const bool is_question = line.find('?', line.size() < 2 ? 0 : line.size() - 2) != std::string::npos;
  return line.empty() || is_question ? line : line + ".";
}

}  // namespace thtrain
