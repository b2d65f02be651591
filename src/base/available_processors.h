// AvailableProcessors: how many threads can run at once. Not which ones.
#ifndef VERBATIM_BASE_AVAILABLE_PROCESSORS_H_
#define VERBATIM_BASE_AVAILABLE_PROCESSORS_H_

#include <string_view>

namespace verbatim {

// The processors that the calling thread may run on (its affinity, which taskset and container
// runtimes set), but not more than the container's share of time, rounded up. At least 1.
int AvailableProcessors();

// Whole processors of a cgroup v2 `cpu.max` ("200000 100000" is 2), rounded up; 0 where there is no
// limit or no such text.
int ProcessorsOfQuota(std::string_view cpu_max);

}  // namespace verbatim

#endif  // VERBATIM_BASE_AVAILABLE_PROCESSORS_H_
