# Writes a .cpp with a raw string constant for each file of TEXTS (separated by |) to OUTPUT.
string(REPLACE "|" ";" TEXTS "${TEXTS}")
set(constants "")
foreach(path IN LISTS TEXTS)
  cmake_path(GET path FILENAME file)
  string(MAKE_C_IDENTIFIER ${file} name)
  file(READ ${path} text)
  if(text MATCHES "\\)th_text\"")
    message(FATAL_ERROR "${path} holds the end mark of the raw string that it is embedded in")
  endif()
  string(APPEND constants "constinit const std::string_view ${name} = R\"th_text(${text})th_text\";\n")
endforeach()
file(WRITE ${OUTPUT} "#include \"compiler/codegen/embedded_text.h\"

namespace thtrain::embedded {

${constants}
}  // namespace thtrain::embedded
")
