// ResolveModel: a folder, or "org/name[@revision]" in the Hugging Face cache, to a folder. Reads
// only, never downloads.
#ifndef VERBATIM_CHECKPOINT_HUB_CACHE_H_
#define VERBATIM_CHECKPOINT_HUB_CACHE_H_

#include <filesystem>
#include <functional>
#include <string>

#include "verbatim/status.h"

namespace verbatim {

// Looks up an environment variable; nullptr if unset. Tests inject their own.
using GetEnv = std::function<const char*(const char* name)>;

// std::getenv.
GetEnv ProcessEnvironment();

// The cache folder: HF_HUB_CACHE, HUGGINGFACE_HUB_CACHE, $HF_HOME/hub,
// $XDG_CACHE_HOME/huggingface/hub, ~/.cache/huggingface/hub; the first variable that is set wins.
// Empty if none is, HOME included: a relative path would be a guess.
std::filesystem::path HubCacheFolder(const GetEnv& getenv);

// An existing folder wins; a name without a slash is a path, never a guess; org/name is looked up
// as models--org--name: a 40-digit revision is a commit, any other is read from refs/ (default
// main). Errors: kNotFound, listing what was looked for where; kInvalidArgument (a malformed id);
// kCorrupt (a refs file that holds no commit).
Expected<std::filesystem::path> ResolveModel(const std::string& model, const GetEnv& getenv);

}  // namespace verbatim

#endif  // VERBATIM_CHECKPOINT_HUB_CACHE_H_
