# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Enums of vector instructions and functions for languages that cannot include
# their table, in its order.

set(table ${CMAKE_CURRENT_LIST_DIR}/Opcodes.def)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${table})
set(WSEC_OPCODES_FBS "")
set(WSEC_OPCODES_TD "")
set(WSEC_FUNCTIONS_TD "")
set(number 0)
file(STRINGS ${table} rows REGEX "^WSEC_")
foreach(row ${rows})
  string(REGEX MATCH "^WSEC_([A-Z]+)\\(([A-Za-z0-9]+), ([a-z0-9_]+)," matched "${row}")
  if(NOT matched)
    message(FATAL_ERROR "Opcodes.def: no row of the table: ${row}")
  endif()
  set(case "  I32EnumAttrCase<\"${CMAKE_MATCH_2}\", ${number}, \"${CMAKE_MATCH_3}\">,\n")
  string(APPEND WSEC_OPCODES_FBS "  ${CMAKE_MATCH_2},\n")
  string(APPEND WSEC_OPCODES_TD "${case}")
  if(CMAKE_MATCH_1 STREQUAL "FUNCTION")
    string(APPEND WSEC_FUNCTIONS_TD "${case}")
  endif()
  math(EXPR number "${number} + 1")
endforeach()
