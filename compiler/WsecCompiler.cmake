# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# One line per folder of the compiler. Every library sees the source and the
# build root, and links libMLIR.so only: a static MLIR library beside it would
# give two copies of every type id.

add_custom_target(wsec-docs)
# Headers TableGen writes; every MLIR library of ours waits for all of them.
add_custom_target(wsec-generated)

# Built with RTTI and without exceptions, as the packaged MLIR is.
add_library(WsecCompilerOptions INTERFACE)
target_include_directories(WsecCompilerOptions INTERFACE
  ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
target_include_directories(WsecCompilerOptions SYSTEM INTERFACE
  ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
target_compile_options(WsecCompilerOptions INTERFACE
  -Wall -Wextra -Wno-unused-parameter -Werror)
target_link_libraries(WsecCompilerOptions INTERFACE MLIR LLVM)

# What the sources of the dialects and the compiler include most.
wsec_precompiled_headers(WsecCompilerHeaders
  HEADERS dialects/onnx/Onnx.h dialects/wse/Wse.h dialects/pe/Pe.h
    mlir/Dialect/Arith/IR/Arith.h mlir/Dialect/Func/IR/FuncOps.h
    mlir/Dialect/Math/IR/Math.h mlir/IR/DialectImplementation.h
    mlir/Pass/PassManager.h
  LINK WsecCompilerOptions)
add_dependencies(WsecCompilerHeaders wsec-generated)

# Runs TableGen on FILE of this folder and adds the result to wsec-generated.
function(wsec_tablegen file output)
  get_filename_component(stem ${file} NAME_WE)
  set(LLVM_TARGET_DEFINITIONS ${file})
  mlir_tablegen(${output} ${ARGN} -I${PROJECT_SOURCE_DIR} -I${PROJECT_BINARY_DIR} -I${MLIR_INCLUDE_DIRS})
  string(MAKE_C_IDENTIFIER "wsec-generate-${output}-${CMAKE_CURRENT_SOURCE_DIR}" target)
  add_public_tablegen_target(${target})
  add_dependencies(wsec-generated ${target})
endfunction()

# wsec_library(Name SOURCES a.cpp ... [LINK libraries ...])
function(wsec_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
  add_library(Wsec${name} STATIC ${arg_SOURCES})
  target_link_libraries(Wsec${name} PUBLIC WsecCompilerOptions ${arg_LINK})
  target_precompile_headers(Wsec${name} REUSE_FROM WsecCompilerHeaders)
  wsec_compile_together(Wsec${name})
  add_dependencies(Wsec${name} wsec-generated)
endfunction()

# wsec_plain_library(Name SOURCES a.cpp ... [LINK libraries ...]): a part of the
# compiler without MLIR, which builds in seconds.
function(wsec_plain_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
  add_library(Wsec${name} STATIC ${arg_SOURCES})
  target_compile_options(Wsec${name} PRIVATE -Wall -Wextra -Werror)
  target_include_directories(Wsec${name} PUBLIC
    ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
  target_link_libraries(Wsec${name} PUBLIC ${arg_LINK})
  wsec_compile_together(Wsec${name})
endfunction()

# wsec_dialect(onnx SOURCES ... [LINK ...]): a folder with <Name>Dialect.td,
# <Name>Attrs.td and <Name>Ops.td; makes library Wsec<Name>Dialect.
function(wsec_dialect dialect)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
  string(SUBSTRING ${dialect} 0 1 first)
  string(TOUPPER ${first} first)
  string(SUBSTRING ${dialect} 1 -1 rest)
  set(name ${first}${rest})
  foreach(kind decls defs)
    if(kind STREQUAL decls)
      set(suffix h)
    else()
      set(suffix cpp)
    endif()
    wsec_tablegen(${name}Ops.td ${name}Dialect.${suffix}.inc -gen-dialect-${kind} -dialect=${dialect})
    wsec_tablegen(${name}Ops.td ${name}Ops.${suffix}.inc -gen-op-${kind})
    wsec_tablegen(${name}Ops.td ${name}Enums.${suffix}.inc -gen-enum-${kind})
    wsec_tablegen(${name}Ops.td ${name}Attrs.${suffix}.inc -gen-attrdef-${kind} -attrdefs-dialect=${dialect})
    wsec_tablegen(${name}Ops.td ${name}Types.${suffix}.inc -gen-typedef-${kind} -typedefs-dialect=${dialect})
  endforeach()
  wsec_library(${name}Dialect SOURCES ${arg_SOURCES} LINK ${arg_LINK})
  set(reference ${PROJECT_BINARY_DIR}/docs/${dialect}.md)
  add_custom_command(OUTPUT ${reference}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/docs
    COMMAND ${MLIR_TABLEGEN_EXE} -gen-dialect-doc -dialect=${dialect}
            ${CMAKE_CURRENT_SOURCE_DIR}/${name}Ops.td -I${PROJECT_SOURCE_DIR} -I${PROJECT_BINARY_DIR}
            -I${CMAKE_CURRENT_SOURCE_DIR} -I${MLIR_INCLUDE_DIRS} -o ${reference}
    DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${name}Ops.td)
  add_custom_target(wsec-docs-${dialect} DEPENDS ${reference})
  add_dependencies(wsec-docs wsec-docs-${dialect})
endfunction()

# wsec_phase(Import SOURCES ... [LINK ...]): a phase with a Passes.td, whose
# passes register as registerWsec<Name>Passes().
function(wsec_phase name)
  wsec_tablegen(Passes.td Passes.h.inc -gen-pass-decls -name ${name})
  wsec_library(${name} ${ARGN})
  set(reference ${PROJECT_BINARY_DIR}/docs/${name}Passes.md)
  add_custom_command(OUTPUT ${reference}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/docs
    COMMAND ${MLIR_TABLEGEN_EXE} -gen-pass-doc ${CMAKE_CURRENT_SOURCE_DIR}/Passes.td
            -I${PROJECT_SOURCE_DIR} -I${MLIR_INCLUDE_DIRS} -o ${reference}
    DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/Passes.td)
  add_custom_target(wsec-docs-${name} DEPENDS ${reference})
  add_dependencies(wsec-docs wsec-docs-${name})
endfunction()

# wsec_tool(wse-opt SOURCES main.cpp LINK ...)
# MLIR comes first: the loader looks for its many symbols library by library,
# which took 8 of the 50 ms of a small compilation.
function(wsec_tool name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_options(${name} PRIVATE $<TARGET_FILE:MLIR> $<TARGET_FILE:LLVM>)
  target_link_libraries(${name} PRIVATE WsecCompilerOptions ${arg_LINK})
  target_precompile_headers(${name} REUSE_FROM WsecCompilerHeaders)
  wsec_compile_together(${name})
  add_dependencies(${name} wsec-generated)
  set_target_properties(${name} PROPERTIES
    INSTALL_RPATH "${LLVM_LIBRARY_DIR}" BUILD_RPATH "${LLVM_LIBRARY_DIR}")
  install(TARGETS ${name} RUNTIME DESTINATION bin COMPONENT ${name})
endfunction()
