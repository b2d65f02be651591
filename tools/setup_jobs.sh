#!/usr/bin/env bash
# Prints how many compile jobs fit this machine: one per core, and 2 GB of free memory for each. Not a load monitor.
# 2 GB: room for a translation unit that instantiates one kernel file for five SIMD targets with sanitizers on.
set -u
readonly GB_PER_JOB=2
cores="$(nproc)"
kilobytes="$(sed -n 's/^MemAvailable: *\([0-9]*\) kB$/\1/p' /proc/meminfo 2>/dev/null)"
[[ -n "$kilobytes" ]] || kilobytes=$((cores * GB_PER_JOB * 1024 * 1024))  # unknown: cores decide
limit="$(cat /sys/fs/cgroup/memory.max 2>/dev/null)"  # a container's own limit, bytes or "max"
if [[ "$limit" =~ ^[0-9]+$ ]] && ((limit / 1024 < kilobytes)); then kilobytes=$((limit / 1024)); fi
jobs=$((kilobytes / (GB_PER_JOB * 1024 * 1024)))
((jobs > cores)) && jobs="$cores"
((jobs < 1)) && jobs=1
printf '%s\n' "$jobs"
