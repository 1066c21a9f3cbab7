# What uses the compiler: layers, data, reports, training, benchmarks and the command line. They build graphs, and call
# what was compiled of them. `config` declares the fields of their configurations.
thtrain_room(config   config   COMPONENT config   LINKS base)
thtrain_room(nn       nn       COMPONENT nn       FLAGS ${THTRAIN_QUICK_FLAGS} LINKS compiler config)
thtrain_room(datasets datasets COMPONENT datasets FLAGS ${THTRAIN_QUICK_FLAGS}
             LINKS compiler config ZLIB::ZLIB PNG::PNG)
thtrain_room(reports  reports  COMPONENT reports  FLAGS ${THTRAIN_QUICK_FLAGS} LINKS nn datasets Freetype::Freetype)
thtrain_room(trainers trainers COMPONENT trainers FLAGS ${THTRAIN_QUICK_FLAGS} LINKS reports)
# Loops over every number of streamed examples and of augmented images, and the parser of every cell: a step may wait
# for them.
set_source_files_properties(datasets/elements.cpp datasets/csv.cpp datasets/csv_records.cpp datasets/csv_text.cpp
                            datasets/categories.cpp datasets/table_inputs.cpp datasets/images.cpp
                            datasets/augmentation.cpp datasets/sparse_examples.cpp PROPERTIES COMPILE_OPTIONS -O3
                            SKIP_PRECOMPILE_HEADERS ON)  # those are of other options
# Loops over all pairs of examples.
set_source_files_properties(trainers/show/tsne.cpp trainers/show/principal_components.cpp
                            PROPERTIES COMPILE_OPTIONS -O3 SKIP_PRECOMPILE_HEADERS ON)
thtrain_room(bench    bench    FLAGS ${THTRAIN_QUICK_FLAGS} LINKS trainers)
thtrain_define(bench "THTRAIN_PEERS_DIR=\"${CMAKE_SOURCE_DIR}/bench/peers\"")

# ---- The command line: all but main() is a library, so that its parts can be tested.
thtrain_room(cli_parts cli EXCLUDE cli/main.cpp FLAGS ${THTRAIN_QUICK_FLAGS} LINKS bench)
add_executable(thtrain_cli cli/main.cpp)
set_target_properties(thtrain_cli PROPERTIES OUTPUT_NAME thtrain)
target_link_libraries(thtrain_cli PRIVATE thtrain_cli_parts)
install(TARGETS thtrain_cli COMPONENT cli)

# ---- What shells complete command lines with, and the manual page: texts that the program prints.
set(texts ${CMAKE_BINARY_DIR}/installed_texts)
install(CODE "file(MAKE_DIRECTORY \"${texts}\")
  foreach(shell IN ITEMS bash zsh fish)
    execute_process(COMMAND \"$<TARGET_FILE:thtrain_cli>\" completion \${shell} OUTPUT_FILE \"${texts}/\${shell}\"
                    COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
  execute_process(COMMAND \"$<TARGET_FILE:thtrain_cli>\" man OUTPUT_FILE \"${texts}/thtrain.1\"
                  COMMAND_ERROR_IS_FATAL ANY)" COMPONENT cli)
install(FILES ${texts}/bash RENAME thtrain COMPONENT cli
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${texts}/zsh RENAME _thtrain COMPONENT cli DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES ${texts}/fish RENAME thtrain.fish COMPONENT cli
        DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
install(FILES ${texts}/thtrain.1 COMPONENT cli DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
