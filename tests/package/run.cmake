# Installs thtrain into an empty folder, then configures, builds and runs the project beside this file against it.
# Takes BUILD, CONSUMER, GENERATOR, COMPILER and FLAGS.
set(place ${BUILD}/package-test)
file(REMOVE_RECURSE ${place})

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ECHO STDOUT RESULT_VARIABLE code)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "ended with ${code}")
  endif()
endfunction()

if(NOT DEFINED ENV{THTRAIN_CACHE_DIR})
  set(ENV{THTRAIN_CACHE_DIR} ${place}/cache)
endif()
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${place}/installed)
run(${CMAKE_COMMAND} -G ${GENERATOR} -S ${CONSUMER} -B ${place}/consumer -DCMAKE_CXX_COMPILER=${COMPILER}
    "-DCMAKE_CXX_FLAGS=${FLAGS}" -DCMAKE_PREFIX_PATH=${place}/installed)
run(${CMAKE_COMMAND} --build ${place}/consumer)
run(${place}/consumer/consumer)
