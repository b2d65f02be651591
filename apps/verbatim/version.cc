// The verb version: what this build is and what it would run on here.
#include "verbatim/version.h"

#include <fmt/format.h>

#include <cstdlib>

#include "apps/verbatim/json_writer.h"
#include "apps/verbatim/verbs.h"
#include "backend/cpu/targets.h"
#include "git_commit.h"
#include "numerics/profile.h"

namespace verbatim::cli {
namespace {

#if defined(__clang__)
constexpr std::string_view kCompiler = "clang " __clang_version__;
#else
constexpr std::string_view kCompiler = "g++ " __VERSION__;
#endif

}  // namespace

std::string_view BuildDate() { return kGitDate; }

Expected<int> RunVersion(const CommandLine& line, Terminal& terminal) {
  const std::vector<cpu::Target> available = cpu::TargetsFor(cpu::DetectCpuFeatures());
  const char* forced = std::getenv("VERBATIM_TARGET");
  VERBATIM_ASSIGN_OR_RETURN(const cpu::Target target,
                            cpu::ChooseTarget("", forced == nullptr ? "" : forced, available));
  if (line.Given("json")) {
    JsonWriter json;
    json.BeginObject();
    json.Key("version").String(Version()).Key("commit").String(kGitCommit);
    json.Key("compiler").String(kCompiler);
    json.Key("targets").BeginArray();
    for (cpu::Target known : available) json.String(cpu::TargetName(known));
    json.EndArray().Key("target").String(cpu::TargetName(target));
    json.Key("profile").String(kProfileName).Key("profile_version").Integer(kProfileVersion);
    json.EndObject();
    VERBATIM_RETURN_IF_ERROR(terminal.Write(json.Take() + "\n"));
    return kExitOk;
  }
  std::string targets;
  for (cpu::Target known : available) {
    targets += fmt::format("{}{}", targets.empty() ? "" : ", ", cpu::TargetName(known));
  }
  VERBATIM_RETURN_IF_ERROR(terminal.Write(fmt::format(
      "verbatim {}\ncommit    {}\ncompiler  {}\ntargets   {} (chosen: {})\nnumerics  {} (KV cache "
      "bf16, f16 or f32: {}, ...)\n",
      Version(), kGitCommit, kCompiler, targets, cpu::TargetName(target), kProfileId,
      NumericsName("bf16"))));
  return kExitOk;
}

}  // namespace verbatim::cli
