// Which instructions the built backend holds: vector code only in functions of its target, so that
// no shared inline function brings in what a processor lacks, and none of the instructions whose
// arithmetic differs (numerics.md 12).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <memory>
#include <string>

namespace verbatim::cpu {
namespace {

using testing::IsEmpty;

bool Contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

struct Findings {
  std::string forbidden, vex_vnni, vnni_elsewhere, zmm_elsewhere, vex_elsewhere;  // first one each
  int functions = 0;
  int vnni = 0;
};

void Note(std::string& finding, const std::string& function, const std::string& instruction) {
  if (finding.empty()) finding = function + " " + instruction;
}

void Look(const std::string& function, const std::string& instruction, Findings& found) {
  const bool avx2 = Contains(function, "N_AVX2::");
  const bool avx3 = Contains(function, "N_AVX3::");
  for (const char* name :
       {"vcvtneps2bf16", "vcvtne2ps2bf16", "vdpbf16ps", "vrcp14", "vrsqrt14", "rcpps", "rsqrtps"}) {
    if (Contains(instruction, name)) Note(found.forbidden, function, instruction);
  }
  if (Contains(instruction, "vpdpbusd")) {
    ++found.vnni;
    if (!Contains(function, "VnniDot")) Note(found.vnni_elsewhere, function, instruction);
    if (!Contains(instruction, "%zmm")) Note(found.vex_vnni, function, instruction);
  }
  if (Contains(instruction, "%zmm") && !avx3) Note(found.zmm_elsewhere, function, instruction);
  // "\tv": every AVX mnemonic starts with v, of the others verr and verw do.
  if (Contains(instruction, "\tv") && !Contains(instruction, "\tver") && !avx2 && !avx3) {
    Note(found.vex_elsewhere, function, instruction);
  }
}

TEST(InstructionSet, VectorCodeStaysInItsTarget) {
#if !defined(__x86_64__)
  GTEST_SKIP() << "looks at x86-64 instructions";
#endif
  const std::string command = "objdump -d -C --no-show-raw-insn " VERBATIM_BACKEND_LIBRARY;
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  ASSERT_NE(pipe, nullptr);
  Findings found;
  std::string function;
  std::string line;
  char part[4096];
  while (std::fgets(part, sizeof(part), pipe.get()) != nullptr) {
    line += part;
    if (line.back() != '\n') continue;
    line.pop_back();
    if (line.ends_with(">:")) {
      function = line;
      ++found.functions;
    } else if (Contains(line, ":\t")) {
      Look(function, line.substr(line.find(":\t") + 1), found);
    }
    line.clear();
  }
  if (found.functions == 0) GTEST_SKIP() << "objdump (binutils) is not installed";
  EXPECT_GT(found.vnni, 0) << "the VNNI kernels are gone";
  EXPECT_THAT(found.forbidden, IsEmpty());
  EXPECT_THAT(found.vex_vnni, IsEmpty()) << "AVX-VNNI, which few processors with AVX-512 have";
  EXPECT_THAT(found.vnni_elsewhere, IsEmpty());
  EXPECT_THAT(found.zmm_elsewhere, IsEmpty());
  EXPECT_THAT(found.vex_elsewhere, IsEmpty());
}

}  // namespace
}  // namespace verbatim::cpu
