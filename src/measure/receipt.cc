// From a request and its result to a receipt, and its file. Not the JSON (receipt_json.cc,
// receipt_parse.cc) and not the replay (receipt_replay.cc).
#include "measure/receipt.h"

#include <fmt/format.h>

#include <charconv>
#include <span>

#include "base/mapped_file.h"
#include "base/sha256.h"
#include "text/utf8.h"
#include "verbatim/version.h"

namespace verbatim {
namespace {

bool IsUtf8(std::string_view bytes) {
  Utf8Stream stream;
  std::string text;
  stream.Append(bytes, text);
  stream.Finish(text);
  return text == bytes;
}

// Splits "<profile>-<version>/kv-<type>".
Status SetNumerics(const std::string& name, Receipt* receipt) {
  const size_t slash = name.rfind("/kv-");
  const std::string_view profile = std::string_view(name).substr(0, slash);
  const size_t dash = profile.rfind('-');
  if (slash == std::string::npos || dash == std::string::npos) {
    return MakeError(StatusCode::kInternal, "numerics", "<profile>-<version>/kv-<type>", name);
  }
  receipt->numerics_profile = profile.substr(0, dash);
  const std::string_view version = profile.substr(dash + 1);
  std::from_chars(version.data(), version.data() + version.size(), receipt->numerics_version);
  for (const KvCacheType type : {KvCacheType::kBF16, KvCacheType::kF16, KvCacheType::kF32}) {
    if (name.substr(slash + 4) == KvCacheTypeName(type)) receipt->kv_type = type;
  }
  return {};
}

}  // namespace

std::string Receipt::NumericsName() const {
  return fmt::format("{}-{}/kv-{}", numerics_profile, numerics_version, KvCacheTypeName(kv_type));
}

Status CheckReceiptRequest(const Request& request) {
  const auto check = [](std::span<const std::string> texts, std::string_view what) -> Status {
    for (const std::string& text : texts) {
      if (IsUtf8(text)) continue;
      return MakeError(StatusCode::kInvalidArgument, what, "UTF-8, which a receipt can hold",
                       "other bytes");
    }
    return {};
  };
  VERBATIM_RETURN_IF_ERROR(check(std::span(&request.constraint.text, 1), "constraint"));
  VERBATIM_RETURN_IF_ERROR(check(request.stop, "stop"));
  return check(request.sampling.banned_strings, "banned_strings");
}

Expected<Receipt> MakeReceipt(const EngineInfo& info, const ModelIdentity& identity,
                              const Request& request, const Result& result) {
  VERBATIM_RETURN_IF_ERROR(CheckReceiptRequest(request));
  const bool ended =
      result.finish_reason == FinishReason::kStop || result.finish_reason == FinishReason::kLength;
  if (!ended || result.token_ids.empty()) {
    return MakeError(StatusCode::kInvalidArgument, "receipt", "a request that ended by itself",
                     FinishReasonName(result.finish_reason));
  }
  if (result.position_digests.size() != result.token_ids.size()) {
    return MakeError(
        StatusCode::kInvalidArgument, "receipt", "a digest for each token",
        fmt::format("{} for {} tokens", result.position_digests.size(), result.token_ids.size()),
        "Request::position_digests");
  }
  Receipt receipt;
  const bool off = request.speculation.kind == SpeculationKind::kOff;
  receipt.origin = {.verbatim_version = std::string(Version()),
                    .speculation = std::string(SpeculationKindName(request.speculation.kind)),
                    .draft_tokens = off ? 0 : request.speculation.draft_tokens,
                    .automatic = request.speculation.automatic,
                    .stats = result.speculation,
                    .contract = std::string(ContractModeName(info.contract)),
                    .contract_held = std::string(ContractModeName(info.contract_held)),
                    .backend = info.backend,
                    .target = info.target,
                    .threads = info.num_threads,
                    .cached_prompt_tokens = result.cached_prompt_tokens};
  receipt.model = identity;
  receipt.model_type = info.model_type;
  VERBATIM_RETURN_IF_ERROR(SetNumerics(info.numerics, &receipt));
  receipt.prompt_token_ids = request.prompt_token_ids;
  receipt.max_tokens = request.max_tokens;
  receipt.context = info.context;
  receipt.stop = request.stop;
  receipt.ignore_eos = request.ignore_eos;
  receipt.eos_token_ids = info.eos_token_ids;
  receipt.sampling = request.sampling;
  receipt.sampling.logprobs = -1;
  receipt.constraint = request.constraint;
  receipt.token_ids = result.token_ids;
  receipt.finish_reason = result.finish_reason;
  for (const Sha256Bytes& digest : result.position_digests) {
    receipt.position_digests.push_back(HexOf(std::span(digest).first(kPositionDigits / 2)));
  }
  receipt.logits_sha256 = HexOf(result.position_digests.back());
  return receipt;
}

Expected<Receipt> ReadReceipt(const std::filesystem::path& path) {
  VERBATIM_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path, kMaxReceiptBytes));
  return ParseReceipt(text, path.string());
}

}  // namespace verbatim
