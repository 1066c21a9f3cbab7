# Writes the headers of a component as they are installed: <output>/<component>/<path>, the includes of thtrain's own
# headers as <thtrain/path>. Runs while installing; takes component, roots (the trees that headers are in) and output.
file(GLOB_RECURSE stale RELATIVE ${output}/${component} ${output}/${component}/*.h)
foreach(root IN LISTS roots)
  file(GLOB_RECURSE headers RELATIVE ${root} ${root}/${component}/*.h)
  if(component STREQUAL "compiler" AND EXISTS ${root}/thtrain/thtrain.h)
    list(APPEND headers thtrain/thtrain.h)
  endif()
  foreach(header IN LISTS headers)
    if(header MATCHES "/device_text/")  # for generated programs
      continue()
    endif()
    file(READ ${root}/${header} text)
    string(REGEX REPLACE
      "#include \"((compiler|config|nn|datasets|reports|trainers)/[^\"]*)\"" "#include <thtrain/\\1>"
      text "${text}")
    string(REGEX REPLACE "^thtrain/" "" installed ${header})
    list(REMOVE_ITEM stale ${installed})
    set(before "")
    if(EXISTS ${output}/${component}/${installed})
      file(READ ${output}/${component}/${installed} before)
    endif()
    if(NOT text STREQUAL before)  # what did not change keeps its time: nobody compiles it again
      file(WRITE ${output}/${component}/${installed} "${text}")
    endif()
  endforeach()
endforeach()
list(TRANSFORM stale PREPEND ${output}/${component}/)
if(stale)
  file(REMOVE ${stale})
endif()
