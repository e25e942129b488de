/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Rows that stay on the wafer from call to call: cache.mlir of the tutorial of
 * PE programs. Usage: cache CACHE.WAFER STATE */
#include <wsec.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void need(int holds, const char *what) {
  if (!holds) {
    fprintf(stderr, "%s: %s\n", what, wsec_error());
    exit(1);
  }
}

/* The sum over the first rows of the cache, everywhere the same. */
static float attend(wsec_session *session, int64_t length) {
  const wsec_argument argument = {"length", length};
  wsec_tensor y;
  size_t i;
  need(!wsec_call(session, "attend", &argument, 1), "attend");
  need(!wsec_fetch(session, "y", &y), "y");
  need(y.type == WSEC_FLOAT32 && y.rank == 2 && y.shape[0] == 4 &&
           y.bytes == 16 * sizeof(float),
       "the type of y");
  for (i = 1; i < 16; ++i)
    need(((const float *)y.data)[i] == ((const float *)y.data)[0], "equal");
  return ((const float *)y.data)[0];
}

static void append(wsec_session *session, int64_t position, float value) {
  const wsec_argument argument = {"position", position};
  const int64_t shape[] = {64, 16};
  static float rows[64 * 16];
  wsec_tensor x = {"x", WSEC_FLOAT32, 2, shape, rows, sizeof rows};
  size_t i;
  for (i = 0; i < 64 * 16; ++i)
    rows[i] = value;
  need(!wsec_bind(session, &x), "bind");
  need(!wsec_call(session, "append", &argument, 1), "append");
}

static void refusals(wsec_session *session) {
  const wsec_argument beyond = {"length", 65};
  const int64_t shape[] = {64, 16};
  const float few[3] = {1, 2, 3};
  const wsec_options folders = {NULL, 1, NULL, 1};
  wsec_tensor x = {"x", WSEC_FLOAT32, 2, shape, few, sizeof few};
  wsec_tensor none;
  need(wsec_bind(session, &x) && !strcmp(wsec_error_class(), "BadTensor"),
       "a tensor without its bytes");
  puts(wsec_error());
  x.shape = NULL;
  need(wsec_bind(session, &x) && !strcmp(wsec_error_class(), "BadCall"),
       "a tensor without a shape");
  need(wsec_call(session, "attend", &beyond, 1) &&
           !strcmp(wsec_error_class(), "BadCall"),
       "a length out of range");
  puts(wsec_error());
  need(wsec_fetch(session, "z", &none) != 0, "no such output");
  puts(wsec_error());
  need(wsec_call(NULL, NULL, NULL, 0) != 0, "no session");
  puts(wsec_error());
  need(!wsec_open("nothing.wafer", &folders), "no folders");
  puts(wsec_error());
  need(!wsec_open("nothing.wafer", NULL), "no file");
  puts(wsec_error());
}

int main(int argc, char **argv) {
  const wsec_options options = {NULL, 0, "wavelet", 1};
  wsec_session *session, *other;
  wsec_state *two;
  wsec_counts counts;
  size_t i;
  need(argc == 3, "usage: cache CACHE.WAFER STATE");
  session = wsec_open(argv[1], &options);
  need(session != NULL, "open");
  need(wsec_count(session, &counts) != 0, "counts before a call");
  need(wsec_report(session, 1) == NULL, "a report before a call");
  for (i = 0; wsec_entry(session, i); ++i)
    puts(wsec_entry(session, i));
  need(!wsec_call(session, "load", NULL, 0), "load");
  printf("two rows: %g\n", attend(session, 2));
  two = wsec_keep(session);
  need(two && !wsec_save(session, argv[2]), "keep");
  append(session, 2, 3);
  printf("three rows: %g\n", attend(session, 3));
  need(!wsec_restore(session, two), "restore");
  append(session, 2, 7);
  printf("other three rows: %g\n", attend(session, 3));
  refusals(session);
  printf("still: %g\n", attend(session, 3));
  need(!wsec_count(session, &counts) && counts.cycles > 0, "counts");
  need(strstr(wsec_report(session, 1), "\"cycles\"") != NULL, "report");
  wsec_clear(session);
  other = wsec_open(argv[1], NULL);
  need(other && !wsec_load(other, argv[2]), "load a state");
  printf("from a file: %g\n", attend(other, 2));
  wsec_free(two);
  wsec_free(NULL);
  wsec_close(session);
  wsec_close(other);
  wsec_close(NULL);
  return 0;
}
