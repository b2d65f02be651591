// VERBATIM_CHECK: abort on a broken invariant rather than serve wrong text. Not for bad input (use
// Status).
#ifndef VERBATIM_BASE_CHECK_H_
#define VERBATIM_BASE_CHECK_H_

#include <cstdio>
#include <cstdlib>

#define VERBATIM_CHECK(condition)                                                           \
  do {                                                                                      \
    if (!(condition)) {                                                                     \
      std::fprintf(stderr, "verbatim: broken invariant at %s:%d: %s\n", __FILE__, __LINE__, \
                   #condition);                                                             \
      std::abort();                                                                         \
    }                                                                                       \
  } while (false)

#endif  // VERBATIM_BASE_CHECK_H_
