/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The emulated wafer as a library, for C and what calls C: see README.md, and
 * wsec.hpp for C++.
 *
 * What returns an int returns 0, or another number for an error; what returns a
 * pointer, null. wsec_error() says what it was. Strings are UTF-8 and end with
 * a zero. Sessions are independent of one another; calls with one session
 * follow one another (the caller holds a lock if threads share it). */
#ifndef RUNTIME_LIBRARY_WSEC_H
#define RUNTIME_LIBRARY_WSEC_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** E.g. "0.1.0 (1f2e3d4c5b6a)", with the commit that was built. */
const char *wsec_version(void);

/** The last error of this thread, as "Class: message"; empty if there was none.
 * Until the next error of this thread. */
const char *wsec_error(void);
/** Its class alone, e.g. "BadTensor" (../README.md, Errors); empty where the
 * host is at fault, as without memory. */
const char *wsec_error_class(void);

/** Types of elements. Numbers of less than 8 bits, and floats of 8, are
 * WSEC_BITS8: a byte each. */
typedef enum wsec_type {
  WSEC_FLOAT32,
  WSEC_FLOAT16,
  WSEC_BFLOAT16,
  WSEC_INT32,
  WSEC_INT64,
  WSEC_BOOL,
  WSEC_FLOAT64,
  WSEC_INT8,
  WSEC_INT16,
  WSEC_UINT8,
  WSEC_UINT16,
  WSEC_UINT32,
  WSEC_UINT64,
  WSEC_BITS8
} wsec_type;
size_t wsec_type_bytes(wsec_type type);

/** A tensor, row major, little endian. */
typedef struct wsec_tensor {
  const char *name;
  wsec_type type;
  size_t rank;
  const int64_t *shape;
  const void *data; /**< null where only type and shape are told */
  size_t bytes;
} wsec_tensor;

/** A program on an emulated wafer. */
typedef struct wsec_session wsec_session;

typedef struct wsec_options {
  const char *const *weights; /**< folders of weight files, besides its own */
  size_t weight_count;
  const char *engine; /**< null: "burst"; "strips", "wavelet" */
  unsigned threads;   /**< 0: one a core */
} wsec_options;

/** Loads and checks a .wafer file and maps its weights. No options: null. */
wsec_session *wsec_open(const char *path, const wsec_options *options);
/** Null is let pass. */
void wsec_close(wsec_session *session);

/** Tensors of the program in the order of the model, without data; the pointers
 * in them live as long as the session. Null behind the last one. */
const wsec_tensor *wsec_input(const wsec_session *session, size_t index);
const wsec_tensor *wsec_output(const wsec_session *session, size_t index);

/** What can be called: "attend(length from 1 to 64)". Null behind the last. */
const char *wsec_entry(const wsec_session *session, size_t index);

typedef struct wsec_argument {
  const char *name;
  int64_t value;
} wsec_argument;

/** Gives an input, by its name; data is copied. It stays until it is given
 * anew. */
int wsec_bind(wsec_session *session, const wsec_tensor *tensor);
/** Calls an entry, of null "main" or the only one. Weights that stay on the
 * wafer come there before the first call. A call that fails changes neither
 * state nor outputs. */
int wsec_call(wsec_session *session, const char *entry,
              const wsec_argument *arguments, size_t argument_count);
/** An output, of the last call that wrote it. Its data lives until this output
 * is asked for again, or the session is closed. */
int wsec_fetch(wsec_session *session, const char *name, wsec_tensor *tensor);

typedef struct wsec_counts {
  double cycles;           /**< of the wafer */
  double seconds;          /**< of this computer */
  uint64_t streamed_bytes; /**< of weights and constants */
} wsec_counts;
/** Of the last call. */
int wsec_count(const wsec_session *session, wsec_counts *counts);
/** Of the last call: text for a terminal, or JSON (host/report.schema.json).
 * Until the next report of this session. */
const char *wsec_report(wsec_session *session, int as_json);

/** What persistent buffers hold. */
typedef struct wsec_state wsec_state;
/** A copy of it, which goes back as often as you like, to any session of this
 * program. */
wsec_state *wsec_keep(const wsec_session *session);
int wsec_restore(wsec_session *session, const wsec_state *state);
/** Null is let pass. */
void wsec_free(wsec_state *state);
/** To and from a file. */
int wsec_save(const wsec_session *session, const char *path);
int wsec_load(wsec_session *session, const char *path);
/** As before the first call. */
void wsec_clear(wsec_session *session);

#ifdef __cplusplus
}
#endif

#endif /* RUNTIME_LIBRARY_WSEC_H */
