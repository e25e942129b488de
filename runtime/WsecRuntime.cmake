# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# One line per folder of the runtime, which needs neither LLVM nor MLIR.

# wsec_runtime_library(Name SOURCES a.cpp ... [LINK libraries ...])
function(wsec_runtime_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
  add_library(Wsec${name} STATIC ${arg_SOURCES})
  target_compile_features(Wsec${name} PUBLIC cxx_std_17)
  target_compile_options(Wsec${name} PRIVATE -Wall -Wextra -Werror)
  target_include_directories(Wsec${name} PUBLIC
    ${WSEC_SOURCE_ROOT} ${WSEC_BUILD_ROOT})
  target_link_libraries(Wsec${name} PUBLIC ${arg_LINK})
endfunction()

# wsec_unittest(NameTest SOURCES a.cpp ... [LINK libraries ...])
# One GoogleTest program, registered with ctest under its own name. Built
# without NDEBUG, so that asserts in headers fire.
function(wsec_unittest name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
  find_package(GTest REQUIRED)
  add_executable(${name} ${arg_SOURCES})
  target_compile_options(${name} PRIVATE -Wall -Wextra -Werror -UNDEBUG)
  target_link_libraries(${name} PRIVATE ${arg_LINK} GTest::gtest_main)
  add_test(NAME ${name} COMMAND ${name})
endfunction()
