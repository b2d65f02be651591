// Table and reading.
#include "apps/verbatim/serve_options.h"

#include <fmt/format.h>

#include <filesystem>

#include "apps/verbatim/byte_size.h"
#include "apps/verbatim/model_options.h"

namespace verbatim::cli {
namespace {

constexpr std::string_view kNetwork = "Network";
constexpr std::string_view kScheduling = "Scheduling and memory";
constexpr std::string_view kLogging = "Logging";

// A name that people can type, not a path.
std::string ModelName(const CommandLine& line) {
  if (line.Given("served-model-name")) return line.Text("served-model-name");
  const std::filesystem::path path = line.Text("model");
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored)) return line.Text("model");
  const std::string name = std::filesystem::weakly_canonical(path, ignored).filename().string();
  return name.empty() ? line.Text("model") : name;
}

Expected<int64_t> MemoryOf(const CommandLine& line, std::string_view name) {
  if (line.Text(name) == "auto") return kFitMemory;
  return ParseByteSize(fmt::format("--{}", name), line.Text(name));
}

serve::LogLevel LevelOf(const CommandLine& line) {
  const std::string& name = line.Text("log-level");
  if (name == "error") return serve::LogLevel::kError;
  if (name == "warning") return serve::LogLevel::kWarning;
  return name == "debug" ? serve::LogLevel::kDebug : serve::LogLevel::kInfo;
}

std::vector<OptionSpec> NetworkSpecs() {
  const std::vector<Verb> verbs = {Verb::kServe};
  return {
      {.name = "host",
       .kind = ValueKind::kText,
       .value_name = "ADDRESS",
       .default_value = "127.0.0.1",
       .section = kNetwork,
       .verbs = verbs,
       .help = "Address to listen at; one that others reach needs a key (or --allow-public)"},
      {.name = "port",
       .kind = ValueKind::kInteger,
       .value_name = "N",
       .min = 0,
       .max = 65535,
       .default_value = "8080",
       .section = kNetwork,
       .verbs = verbs,
       .help = "Port; 0 takes any free one and says which"},
      {.name = "unix-socket",
       .aliases = {"uds"},
       .kind = ValueKind::kText,
       .value_name = "FILE",
       .section = kNetwork,
       .verbs = verbs,
       .help = "Listen at a Unix socket instead, which its owner alone may use"},
      {.name = "api-key-file",
       .kind = ValueKind::kText,
       .value_name = "FILE",
       .section = kNetwork,
       .verbs = verbs,
       .help = "Ask for one of these keys, one per line, as Bearer token or x-api-key"},
      {.name = "allow-public",
       .section = kNetwork,
       .verbs = verbs,
       .help = "Listen at a public address without a key: whoever reaches it may use it"},
      {.name = "cors-origin",
       .kind = ValueKind::kText,
       .value_name = "ORIGIN",
       .repeated = true,
       .section = kNetwork,
       .verbs = verbs,
       .help = "Let pages of this origin read answers (may be repeated; * for all)"},
      {.name = "max-body",
       .kind = ValueKind::kText,
       .value_name = "SIZE",
       .default_value = "32MiB",
       .section = kNetwork,
       .verbs = verbs,
       .help = "Largest body of a request"},
      {.name = "max-connections",
       .kind = ValueKind::kInteger,
       .value_name = "N",
       .min = 1,
       .max = 65536,
       .default_value = "1024",
       .section = kNetwork,
       .verbs = verbs,
       .help = "Connections at once; further ones get 503"},
      {.name = "drain-seconds",
       .kind = ValueKind::kInteger,
       .value_name = "N",
       .min = 0,
       .max = 86400,
       .default_value = "30",
       .section = kNetwork,
       .verbs = verbs,
       .help = "How long SIGTERM waits for answers before it fails what is left"},
      {.name = "config",
       .kind = ValueKind::kText,
       .value_name = "FILE",
       .section = kNetwork,
       .verbs = verbs,
       .help = "TOML file with options by their names (port = 8081); the command line goes first"},
  };
}

std::vector<OptionSpec> SchedulingSpecs() {
  const std::vector<Verb> verbs = {Verb::kServe};
  return {
      {.name = "served-model-name",
       .aliases = {"alias"},
       .kind = ValueKind::kText,
       .value_name = "NAME",
       .section = kScheduling,
       .verbs = verbs,
       .help = "The model's name for clients; else the folder's, or the id"},
      {.name = "chat-template",
       .aliases = {"chat-template-file"},
       .kind = ValueKind::kText,
       .value_name = "FILE",
       .section = kScheduling,
       .verbs = verbs,
       .help = "Jinja template instead of the model's own"},
      {.name = "parallel",
       .aliases = {"max-num-seqs"},
       .kind = ValueKind::kInteger,
       .value_name = "N",
       .min = 1,
       .max = 1024,
       .default_value = "8",
       .section = kScheduling,
       .verbs = verbs,
       .help = "Answers that take part in a step at once; further ones wait"},
      {.name = "max-queue",
       .kind = ValueKind::kInteger,
       .value_name = "N",
       .min = 0,
       .max = 65536,
       .default_value = "256",
       .section = kScheduling,
       .verbs = verbs,
       .help = "Answers that may wait; further requests get 429 with Retry-After"},
      {.name = "max-rows",
       .aliases = {"max-num-batched-tokens"},
       .kind = ValueKind::kInteger,
       .value_name = "N|auto",
       .min = 1,
       .max = 65536,
       .words = {{"auto", "auto", 0}},
       .default_value = "auto",
       .section = kScheduling,
       .verbs = verbs,
       .help = "Rows of a step, of prompts and blocks together; auto is what they can need"},
      {.name = "prefill-chunk",
       .aliases = {"ubatch-size"},
       .kind = ValueKind::kInteger,
       .value_name = "N",
       .min = 1,
       .max = 65536,
       .default_value = "64",
       .section = kScheduling,
       .verbs = verbs,
       .help = "Prompt tokens per step; running answers wait for no more than that"},
      {.name = "kv-memory",
       .kind = ValueKind::kText,
       .value_name = "SIZE|auto",
       .default_value = "auto",
       .section = kScheduling,
       .verbs = verbs,
       .help =
           "Memory of KV pages, such as 2GiB; auto is whole contexts for --parallel answers, at "
           "most half of what is free once the weights are loaded"},
      {.name = "prefix-cache-memory",
       .kind = ValueKind::kText,
       .value_name = "SIZE|auto",
       .default_value = "auto",
       .section = kScheduling,
       .verbs = verbs,
       .help =
           "Memory of kept states for prompts that begin alike; 0 keeps none, auto is 1 GiB, at "
           "most an eighth of what is free"},
      {.name = "spec",
       .aliases = {"spec-type"},
       .kind = ValueKind::kWord,
       .value_name = "auto|off|mtp|ngram",
       .words = {{"auto", "auto"},
                 {"off", "off"},
                 {"mtp", "mtp"},
                 {"ngram", "ngram"},
                 {"none", "off"},
                 {"draft-mtp", "mtp"},
                 {"ngram-simple", "ngram"}},
       .default_value = "auto",
       .section = "Speculation",
       .verbs = verbs,
       .help = "Who drafts for requests that name nobody; auto is the MTP head if there is one"},
      {.name = "draft-tokens",
       .aliases = {"spec-draft-n-max", "draft-max", "draft"},
       .kind = ValueKind::kInteger,
       .value_name = "N|auto",
       .min = 1,
       .max = kMaxDraftTokens,
       .words = {{"auto", "auto", 0}},
       .default_value = "auto",
       .section = "Speculation",
       .verbs = verbs,
       .help = "Drafts per block, 1 to 15; auto chooses from measured acceptance and cost"},
  };
}

std::vector<OptionSpec> LoggingSpecs() {
  const std::vector<Verb> verbs = {Verb::kServe};
  return {
      {.name = "log-level",
       .kind = ValueKind::kWord,
       .value_name = "error|warning|info|debug",
       .words = {{"error", "error"}, {"warning", "warning"}, {"info", "info"}, {"debug", "debug"}},
       .default_value = "info",
       .section = kLogging,
       .verbs = verbs,
       .help = "What is logged; info has a line for each request, never its text"},
      {.name = "log-format",
       .kind = ValueKind::kWord,
       .value_name = "text|json",
       .words = {{"text", "text"}, {"json", "json"}},
       .default_value = "text",
       .section = kLogging,
       .verbs = verbs,
       .help = "Lines for people, or JSON objects"},
      {.name = "log-file",
       .kind = ValueKind::kText,
       .value_name = "FILE",
       .section = kLogging,
       .verbs = verbs,
       .help = "Append the log to a file instead of standard error"},
  };
}

}  // namespace

std::vector<OptionSpec> ServeOptionSpecs() {
  std::vector<OptionSpec> all;
  for (const auto& part : {NetworkSpecs(), SchedulingSpecs(), LoggingSpecs()}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

Expected<ServeSettings> ReadServeSettings(const CommandLine& line) {
  ServeSettings settings;
  VERBATIM_ASSIGN_OR_RETURN(settings.engine, ReadEngineOptions(line));
  EngineOptions& engine = settings.engine;
  const std::string& spec = line.Text("spec");
  const bool off = engine.contract == ContractMode::kOff;
  if (off && (spec == "mtp" || spec == "ngram")) {
    return MakeError(StatusCode::kInvalidArgument, "--contract",
                     fmt::format("exact, strict or greedy beside --spec {}", spec), "off",
                     "--contract exact");
  }
  engine.with_mtp = spec == "mtp";
  engine.mtp_if_present = !off;
  engine.max_sequences = static_cast<int>(line.Number("parallel"));
  engine.max_rows = static_cast<int>(line.Number("max-rows"));
  engine.prefill_chunk = line.Number("prefill-chunk");
  engine.chat_template = line.Text("chat-template");
  VERBATIM_ASSIGN_OR_RETURN(engine.kv_memory, MemoryOf(line, "kv-memory"));
  VERBATIM_ASSIGN_OR_RETURN(engine.prefix_cache_memory, MemoryOf(line, "prefix-cache-memory"));

  serve::ServerOptions& server = settings.server;
  server.http.host = line.Text("host");
  server.http.port = static_cast<int>(line.Number("port"));
  server.http.unix_socket = line.Text("unix-socket");
  if (line.Given("unix-socket") && (line.Given("host") || line.Given("port"))) {
    return MakeError(StatusCode::kInvalidArgument, "--unix-socket", "no --host or --port beside it",
                     "both", "one of them");
  }
  VERBATIM_ASSIGN_OR_RETURN(const int64_t max_body,
                            ParseByteSize("--max-body", line.Text("max-body")));
  server.http.max_body_bytes = static_cast<size_t>(max_body);
  server.http.max_total_body_bytes =
      std::max(server.http.max_total_body_bytes, 2 * server.http.max_body_bytes);
  server.http.max_connections = static_cast<int>(line.Number("max-connections"));
  if (line.Given("api-key-file")) {
    VERBATIM_ASSIGN_OR_RETURN(server.api_keys, serve::ApiKeys::Read(line.Text("api-key-file")));
  }
  server.allow_public = line.Given("allow-public");
  server.cors_origins = line.Texts("cors-origin");
  server.model_name = ModelName(line);
  server.max_jobs = engine.max_sequences + static_cast<int>(line.Number("max-queue"));
  server.speculation = {.kind = off || spec == "off" ? SpeculationKind::kOff
                                : spec == "ngram"    ? SpeculationKind::kNgram
                                                     : SpeculationKind::kMtp,
                        .draft_tokens = static_cast<int>(line.Number("draft-tokens")),
                        .automatic = line.Number("draft-tokens") == 0};
  if (server.speculation.automatic) server.speculation.draft_tokens = kMaxDraftTokens;
  server.log = {.level = LevelOf(line),
                .json = line.Text("log-format") == "json",
                .file = line.Text("log-file")};
  settings.drain_seconds = line.Number("drain-seconds");
  return settings;
}

}  // namespace verbatim::cli
