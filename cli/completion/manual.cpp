// The manual page.
#include "cli/completion/completion.h"
#include "cli/help.h"
#include "compiler/base/build_info.h"
#include "compiler/base/str.h"

namespace thtrain {

// Text as roff takes it: dashes that can be copied, no line that begins like a request.
static std::string roff(const std::string& text) {
  std::string out;
  for (char c : text) {
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else if (c == '\'')
      out += "\\(aq";
    else if (c == '`')
      out += "\\(ga";
    else if (c == '^')
      out += "\\(ha";
    else if (c == '~')
      out += "\\(ti";
    else if (c == '\n')
      out += "\n.br\n";
    else
      out += c;
  }
  return out.starts_with('.') ? "\\&" + out : out;
}

static std::string entry(const std::string& head, const std::string& text) {
  return str(".TP\n", head, "\n", roff(text), "\n");
}

static std::string rows(const std::vector<HelpRow>& rows) {
  std::string out;
  for (const auto& [name, meaning] : rows) out += entry(str(".B ", roff(name)), meaning);
  return out;
}

// "thtrain train CONFIG [key=value ...]"
static std::string usage(const ListedCommand& command) {
  std::string out = str("\\fBthtrain ", roff(command.name), "\\fR");
  for (size_t i = 0; i < command.arguments.size(); ++i) {
    const ListedOption& argument = command.arguments[i];
    const bool is_last = i > 0 && i + 1 == command.arguments.size();
    const std::string name = str("\\fI", roff(argument.name), "\\fR");
    out += argument.required ? str(" ", name) : str(" [", name, is_last ? " ...]" : "]");
  }
  return out + (command.options.empty() ? "" : " [\\fIoptions\\fR]");
}

std::string manual_page(const Listing& listing) {
  std::string out = str(".TH THTRAIN 1 \"\" \"thtrain ", version, "\" \"thtrain\"\n",
                        ".SH NAME\nthtrain \\- train models that experiment files describe\n.SH SYNOPSIS\n");
  for (const ListedCommand& command : listing.commands) out += str(usage(command), "\n.br\n");
  out +=
      "\\fBthtrain\\fR \\-\\-version\n"
      ".SH DESCRIPTION\n"
      "thtrain trains models that experiment files in TOML describe: it turns a whole training step into one native "
      "program.\n"
      "\\fICONFIG\\fR is an experiment file, \\fIDIR\\fR the folder of a run.\n"
      "Every key of the file can be given on the command line, after the file; see KEYS.\n"
      "Options may be given anywhere after the command, as \\fB\\-\\-option\\fR \\fIVALUE\\fR or "
      "\\fB\\-\\-option=\\fIVALUE\\fR; after \\fB\\-\\-\\fR nothing is an option.\n"
      ".SH COMMANDS\n";
  for (const ListedCommand& command : listing.commands) {
    out += str(".SS ", usage(command), "\n", roff(command.about), "\n");
    for (const ListedOption& argument : command.arguments)
      if (!argument.about.empty()) out += entry(str(".I ", roff(argument.name)), argument.about);
    for (const ListedOption& option : command.options) {
      std::string text = option.about;
      if (!option.choices.empty() && text.find(option.choices.back()) == std::string::npos)
        text += str(": ", join(option.choices, ", "));
      out += entry(option.type.empty() ? str(".B ", roff(option.name))
                                       : str(".BI ", roff(option.name), " \" ", roff(option.type), '"'),
                   text);
    }
    if (!command.examples.empty()) out += ".PP\nExamples:\n";
    for (const auto& [line, meaning] : command.examples) out += entry(str(".B ", roff(line)), meaning);
  }
  out +=
      ".SH KEYS\n"
      "Keys that may be given as \\fIkey=value\\fR, from the sections of an experiment file. N stands for the number "
      "of "
      "a layer or a phase, from 0.\n";
  for (const ListedKey& key : listing.keys) {
    if (key.path.starts_with("phase.N.") && key.path.find('.', 8) != std::string::npos) continue;  // those of all
    std::string text = key.help;
    if (!key.choices.empty()) text += str(text.empty() ? "" : " ", "One of: ", join(key.choices, ", "), ".");
    out += entry(str(".B ", roff(key.path)), text.empty() ? key.path : text);
  }
  out += "Keys of data, model, loss and trainer may follow phase.N, too: they are those of one phase.\n";
  out += str(".SH ENVIRONMENT\n", rows(environment_variables()), ".SH EXIT STATUS\n", rows(exit_codes()));
  out += str(".SH EXAMPLES\n", rows(program_examples()));
  return out;
}

}  // namespace thtrain
