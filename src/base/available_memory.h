// AvailableMemoryBytes: what the system says can still be taken without swapping. Not what it has.
#ifndef VERBATIM_BASE_AVAILABLE_MEMORY_H_
#define VERBATIM_BASE_AVAILABLE_MEMORY_H_

#include <cstdint>

namespace verbatim {

// MemAvailable of /proc/meminfo, but not more than the process's own limit of address space. 0
// where the system does not tell.
int64_t AvailableMemoryBytes();

}  // namespace verbatim

#endif  // VERBATIM_BASE_AVAILABLE_MEMORY_H_
