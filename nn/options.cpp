#include "nn/options.h"

namespace thtrain {

void raise_findings(std::string_view what, const Findings& findings) {
  std::vector<Message> messages = findings.sorted();
  for (Message& message : messages) message.what = str(what, ": ", message.what);
  if (!messages.empty()) throw UserError(std::move(messages));
}

}  // namespace thtrain
