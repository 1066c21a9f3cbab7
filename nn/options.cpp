#include "nn/options.h"

namespace thtrain {

void raise_findings(std::string_view what, const Findings& findings) {
  std::vector<Message> messages = findings.sorted();
  for (Message& message : messages) message.what = str(what, ": ", message.what);
  if (!messages.empty()) throw UserError(std::move(messages));
}

void check_declared(std::string_view what, const Schema& schema, const void* object, void* fresh) {
  Findings findings;
  read_config(schema, fresh, resolved_config(schema, object), findings);
  raise_findings(what, findings);
}

}  // namespace thtrain
