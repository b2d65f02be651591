// Server: its start and end under clients that don't wait for either. Its answers are tested over
// the program, in tests/http.
#include "serve/server.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/serve/http/raw_client.h"
#include "tests/support/test_models.h"

namespace verbatim::serve {
namespace {

TEST(Server, EndsAmongQueuedScrapes) {
  const auto engine = *Engine::Load({.model = verbatim::testing::NanoModel().string(),
                                     .contract = ContractMode::kOff,
                                     .num_threads = 1,
                                     .context = 512});
  for (int round = 0; round < 10; ++round) {
    auto started =
        Server::Start(*engine, {}, {.num_task_threads = 1, .log = {.level = LogLevel::kError}});
    ASSERT_TRUE(started.ok()) << started.status().message();
    std::unique_ptr<Server> server = *std::move(started);
    std::vector<testing::RawClient> clients;
    for (int i = 0; i < 100; ++i) {
      clients.push_back(testing::RawClient::Tcp(server->port()));
      clients.back().Send("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
    }
    EXPECT_EQ(clients.front().Receive().status, 200);  // and dozens of pages are still to be made
    server.reset();
  }
}

}  // namespace
}  // namespace verbatim::serve
