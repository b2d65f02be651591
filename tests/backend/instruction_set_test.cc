// Which instructions the built backend holds: those beyond the baseline only in functions of their
// target, so that no shared inline function brings in what a processor lacks, and none whose
// arithmetic differs (numerics.md 12). Reads what it was built for, x86-64 or aarch64.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <initializer_list>
#include <memory>
#include <string>

namespace verbatim::cpu {
namespace {

using testing::IsEmpty;

bool Contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

void Note(std::string& finding, const std::string& function, const std::string& instruction) {
  if (finding.empty()) finding = function + " " + instruction;
}

#if defined(__x86_64__)

struct Findings {
  std::string forbidden, vex_vnni, vnni_elsewhere, zmm_elsewhere, vex_elsewhere;  // first one each
  int vnni = 0;
};

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

void Expect(const Findings& found) {
  EXPECT_GT(found.vnni, 0) << "the VNNI kernels are gone";
  EXPECT_THAT(found.forbidden, IsEmpty());
  EXPECT_THAT(found.vex_vnni, IsEmpty()) << "AVX-VNNI, which few processors with AVX-512 have";
  EXPECT_THAT(found.vnni_elsewhere, IsEmpty());
  EXPECT_THAT(found.zmm_elsewhere, IsEmpty());
  EXPECT_THAT(found.vex_elsewhere, IsEmpty());
}

#else  // aarch64

struct Findings {
  std::string forbidden, sdot_elsewhere, beyond_baseline;  // first one each
  int sdot = 0;
  int fma = 0;
};

bool IsOneOf(const std::string& mnemonic, std::initializer_list<const char*> names) {
  return std::find(names.begin(), names.end(), mnemonic) != names.end();
}

void Look(const std::string& function, const std::string& instruction, Findings& found) {
  const size_t end = instruction.find_first_of("\t ", 1);  // after the tab before the mnemonic
  const std::string mnemonic = instruction.substr(1, end - 1);
  if (IsOneOf(mnemonic, {"frecpe", "frecps", "frsqrte", "frsqrts", "bfdot", "bfmmla", "bfcvt",
                         "bfcvtn", "bfcvtn2", "fmlal", "fmlal2"})) {
    Note(found.forbidden, function, instruction);
  }
  // FEAT_DotProd and FEAT_I8MM.
  if (IsOneOf(mnemonic, {"sdot", "udot", "usdot", "sudot", "smmla", "ummla", "usmmla"})) {
    ++found.sdot;
    if (mnemonic != "sdot" || !Contains(function, "SdotDot")) {
      Note(found.sdot_elsewhere, function, instruction);
    }
  }
  // AES, SHA, large system extensions, half precision arithmetic (".8h" of a float), SVE registers.
  const bool half = mnemonic.starts_with("f") && !mnemonic.starts_with("fcvt") &&
                    (Contains(instruction, ".8h") || Contains(instruction, ".4h"));
  const bool sve = Contains(instruction, "\tz") || Contains(instruction, ", z");
  if (mnemonic.starts_with("aes") || mnemonic.starts_with("sha1") ||
      mnemonic.starts_with("sha256") || mnemonic.starts_with("cas") ||
      mnemonic.starts_with("ldadd") || half || sve) {
    Note(found.beyond_baseline, function, instruction);
  }
  if (IsOneOf(mnemonic, {"fmla", "fmadd"})) ++found.fma;
}

void Expect(const Findings& found) {
  EXPECT_GT(found.sdot, 0) << "the dot product kernels are gone";
  EXPECT_GT(found.fma, 0) << "fma is not an instruction";
  EXPECT_THAT(found.forbidden, IsEmpty());
  EXPECT_THAT(found.sdot_elsewhere, IsEmpty());
  EXPECT_THAT(found.beyond_baseline, IsEmpty());
}

#endif

TEST(InstructionSet, VectorCodeStaysInItsTarget) {
  const std::string command =
      VERBATIM_OBJDUMP " -d -C --no-show-raw-insn " VERBATIM_BACKEND_LIBRARY;
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  ASSERT_NE(pipe, nullptr);
  Findings found;
  int functions = 0;
  std::string function;
  std::string line;
  char part[4096];
  while (std::fgets(part, sizeof(part), pipe.get()) != nullptr) {
    line += part;
    if (line.back() != '\n') continue;
    line.pop_back();
    if (line.ends_with(">:")) {
      function = line;
      ++functions;
    } else if (Contains(line, ":\t")) {
      Look(function, line.substr(line.find(":\t") + 1), found);
    }
    line.clear();
  }
  if (functions == 0) GTEST_SKIP() << VERBATIM_OBJDUMP << " (binutils) is not installed";
  Expect(found);
}

}  // namespace
}  // namespace verbatim::cpu
