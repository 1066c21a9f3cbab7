# Projects of others against an installed thtrain. Takes PART, BUILD, SOURCE, GENERATOR, COMPILER and FLAGS. The part
# `install` fills <build>/package-test/installed, which the others use.
set(place ${BUILD}/package-test)
set(installed ${place}/installed)
set(package ${SOURCE}/tests/package)
if(NOT DEFINED ENV{THTRAIN_CACHE_DIR})
  set(ENV{THTRAIN_CACHE_DIR} ${place}/cache)
endif()

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ECHO STDOUT RESULT_VARIABLE code)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "ended with ${code}")
  endif()
endfunction()

# configure(<project> <folder> [<option>...]): stops unless it succeeds.
set(configure_command ${CMAKE_COMMAND} -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${COMPILER} "-DCMAKE_CXX_FLAGS=${FLAGS}"
    -DCMAKE_PREFIX_PATH=${installed})
function(configure project folder)
  file(REMOVE_RECURSE ${folder})
  run(${configure_command} -S ${project} -B ${folder} ${ARGN})
endfunction()

# What find_package says where it fails, spaces and line ends as single spaces.
function(configure_error variable)
  file(REMOVE_RECURSE ${place}/components)
  execute_process(COMMAND ${configure_command} -S ${package}/components -B ${place}/components ${ARGN}
                  RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE error)
  if(code EQUAL 0)
    message(FATAL_ERROR "${ARGN} was accepted: ${output}")
  endif()
  string(REGEX REPLACE "[ \n]+" " " error "${error}")
  set(${variable} "${error}" PARENT_SCOPE)
endfunction()

function(require_text text wanted)
  string(FIND "${text}" "${wanted}" at)
  if(at EQUAL -1)
    message(FATAL_ERROR "expected: ${wanted}\ngot: ${text}")
  endif()
endfunction()

# The text between ```<language> and ``` number `index` of a page.
function(page_block variable page language index)
  file(READ ${page} text)
  foreach(i RANGE ${index})
    string(FIND "${text}" "```${language}\n" at)
    if(at EQUAL -1)
      message(FATAL_ERROR "${page} has no ${language} block ${index}")
    endif()
    string(LENGTH "```${language}\n" length)
    math(EXPR at "${at} + ${length}")
    string(SUBSTRING "${text}" ${at} -1 text)
  endforeach()
  string(FIND "${text}" "```" at)
  string(SUBSTRING "${text}" 0 ${at} text)
  set(${variable} "${text}" PARENT_SCOPE)
endfunction()

if(PART STREQUAL "install")
  file(REMOVE_RECURSE ${installed})
  if(NOT COMPONENTS)
    run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${installed})
    foreach(text IN ITEMS bash-completion/completions/thtrain zsh/site-functions/_thtrain
                          fish/vendor_completions.d/thtrain.fish man/man1/thtrain.1)
      file(READ ${installed}/share/${text} written LIMIT 1000)
      require_text("${written}" "thtrain")
    endforeach()
  endif()
  foreach(component IN LISTS COMPONENTS)
    run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${installed} --component ${component})
  endforeach()

elseif(PART STREQUAL "compiler_alone")
  configure(${package}/compiler_alone ${place}/${PART} -DCMAKE_DISABLE_FIND_PACKAGE_ZLIB=ON
            -DCMAKE_DISABLE_FIND_PACKAGE_PNG=ON -DCMAKE_DISABLE_FIND_PACKAGE_Freetype=ON)
  run(${CMAKE_COMMAND} --build ${place}/${PART})
  run(${place}/${PART}/stranger)

elseif(PART STREQUAL "every_component")
  # Whatever a header includes is there, below thtrain/ or the compiler's own.
  file(GLOB_RECURSE headers ${installed}/include/*.h)
  foreach(header IN LISTS headers)
    file(STRINGS ${header} includes REGEX "^#include")
    foreach(include IN LISTS includes)
      if(include MATCHES "#include <(thtrain/[^>]+)>" AND NOT EXISTS ${installed}/include/${CMAKE_MATCH_1})
        message(FATAL_ERROR "${header}: ${include}: not installed")
      elseif(include MATCHES "#include \"" OR include MATCHES "png|zlib|ft2build|toml|CLI")
        message(FATAL_ERROR "${header}: ${include}")
      endif()
    endforeach()
  endforeach()
  configure(${package}/every_component ${place}/${PART})
  run(${CMAKE_COMMAND} --build ${place}/${PART})
  execute_process(COMMAND ./stranger WORKING_DIRECTORY ${place}/${PART} RESULT_VARIABLE code)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "the stranger's program ended with ${code}")
  endif()

elseif(PART STREQUAL "guide")
  # The programs of the pages, with the CMake text that the guide has beside them.
  page_block(cmake ${SOURCE}/docs/library.md cmake 0)
  foreach(page IN ITEMS docs/library.md README.md)
    set(folder ${place}/guide_of_${page})
    page_block(program ${SOURCE}/${page} cpp 0)
    file(WRITE ${folder}/CMakeLists.txt "${cmake}")
    file(WRITE ${folder}/main.cpp "${program}")
    configure(${folder} ${folder}/build)
    run(${CMAKE_COMMAND} --build ${folder}/build)
    execute_process(COMMAND ${folder}/build/mine RESULT_VARIABLE code OUTPUT_VARIABLE output)
    if(NOT code EQUAL 0)
      message(FATAL_ERROR "the program of ${page} ended with ${code}")
    endif()
    if(page STREQUAL "docs/library.md")
      page_block(wanted ${SOURCE}/${page} text 0)
    else()
      set(wanted "[2, 4]\n")
    endif()
    if(NOT output STREQUAL wanted)
      message(FATAL_ERROR "the program of ${page} printed ${output}")
    endif()
  endforeach()

  # The shared object with a candidate, by the command of the page.
  page_block(candidate ${SOURCE}/docs/library.md c++ 0)
  set(folder ${place}/guide_of_candidates)
  file(WRITE ${folder}/my_product.cpp "${candidate}")
  separate_arguments(flags UNIX_COMMAND "${FLAGS}")
  run(${COMPILER} ${flags} -std=c++20 -O3 -march=native -shared -fPIC -I ${installed}/include ${folder}/my_product.cpp
      -o ${folder}/my_product.so)
  file(WRITE ${folder}/e.toml "[data]\nsource = \"digits\"\nn_train = 40\nn_valid = 20\nn_test = 20\n"
       "[[model.layers]]\ntype = \"softmax\"\n[trainer]\nbatch_size = 20\n"
       "[compiler]\ncandidate_files = [\"my_product.so\"]\nonly_candidates = [\"mine\"]\n")
  execute_process(COMMAND ${installed}/bin/thtrain explain ${folder}/e.toml --stage program RESULT_VARIABLE code
                  OUTPUT_VARIABLE output)
  require_text("${output}" "candidate mine of my_product.so")

elseif(PART STREQUAL "components_that_are_not_there")
  configure_error(error -DASKED=compilr)
  require_text("${error}"
               "thtrain has no component \"compilr\": its components are compiler, nn, datasets, reports and trainers")
  configure_error(error -DASKED=datasets -DCMAKE_DISABLE_FIND_PACKAGE_ZLIB=ON)
  require_text("${error}" "the component \"datasets\" of thtrain needs ZLIB, which is not found")
  configure_error(error -DASKED=trainers -DCMAKE_DISABLE_FIND_PACKAGE_Freetype=ON)
  require_text("${error}" "the component \"trainers\" of thtrain needs Freetype, which is not found")
  execute_process(COMMAND ${configure_command} -S ${package}/components -B ${place}/components -DASKED=compiler
                  -DOPTIONAL=compilr RESULT_VARIABLE code OUTPUT_VARIABLE output)
  require_text("${output}" "compiler: found")
  require_text("${output}" "compilr: not found")
  # A place where only the compiler was installed.
  file(REMOVE_RECURSE ${place}/compiler_only)
  run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${place}/compiler_only --component compiler)
  file(GLOB programs RELATIVE ${place}/compiler_only/bin ${place}/compiler_only/bin/*)
  if(EXISTS ${place}/compiler_only/include/thtrain/nn OR NOT programs STREQUAL "thtrain-trial")
    message(FATAL_ERROR "the component compiler installs more than the compiler")
  endif()
  set(configure_command ${CMAKE_COMMAND} -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${COMPILER}
      -DCMAKE_PREFIX_PATH=${place}/compiler_only)
  configure_error(error -DASKED=trainers)
  require_text("${error}" "the component \"nn\" of thtrain is not installed in ${place}/compiler_only")
  configure(${package}/components ${place}/components)  # none named: those that are there

elseif(PART STREQUAL "build_compiler_only")
  # thtrain itself, where the trainer's libraries are missing.
  configure(${SOURCE} ${place}/${PART} -DTHTRAIN_COMPILER_ONLY=ON -DCMAKE_DISABLE_FIND_PACKAGE_ZLIB=ON
            -DCMAKE_DISABLE_FIND_PACKAGE_PNG=ON -DCMAKE_DISABLE_FIND_PACKAGE_Freetype=ON)
  file(STRINGS ${place}/${PART}/CMakeCache.txt looked_for REGEX "tomlplusplus|cli11")
  if(looked_for)
    message(FATAL_ERROR "the compiler alone looks for ${looked_for}")
  endif()
  execute_process(COMMAND ${CMAKE_COMMAND} --build ${place}/${PART} --target help OUTPUT_VARIABLE targets)
  require_text("${targets}" "thtrain_runtime")
  foreach(absent IN ITEMS thtrain_nn thtrain_trainers thtrain_cli)
    if(targets MATCHES "${absent}:")
      message(FATAL_ERROR "${absent} is a target of the compiler alone")
    endif()
  endforeach()

else()
  message(FATAL_ERROR "no part ${PART}")
endif()
