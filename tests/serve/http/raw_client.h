// RawClient: a socket that sends any bytes and reads what comes back, for tests of the server. Not
// an HTTP client: it knows just enough to find where a response ends.
#ifndef VERBATIM_TESTS_SERVE_HTTP_RAW_CLIENT_H_
#define VERBATIM_TESTS_SERVE_HTTP_RAW_CLIENT_H_

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace verbatim::serve::testing {

// Far more than anything here takes, also under a sanitizer on a busy machine.
constexpr std::chrono::milliseconds kPatience{20'000};

struct RawResponse {
  int status = 0;
  std::string head;  // with the empty line
  std::string body;  // chunks joined
  bool whole = false;
  // The value of the first header of that name (lower case), or "-" without one.
  std::string Header(std::string_view name) const;
};

class RawClient {
 public:
  static RawClient Tcp(int port, const char* host = "127.0.0.1", int receive_buffer = 0);
  static RawClient Unix(const std::string& path);
  RawClient(RawClient&& other) noexcept;
  RawClient& operator=(RawClient&& other) noexcept;
  ~RawClient() { Close(); }

  bool connected() const { return fd_ >= 0; }
  // False if the server no longer takes it.
  bool Send(std::string_view bytes);
  void EndSending();  // closes the sending side alone
  void Close();
  void Reset();  // closes with a TCP reset

  // The next response. Reads no further than needed; whole is false if the connection ended or
  // kPatience passed. `head`: of a HEAD request.
  RawResponse Receive(bool head = false);
  // Everything until the server closes; nothing if it doesn't within kPatience.
  std::optional<std::string> ReceiveAll();
  // True if the server closes (or resets) without another byte within kPatience.
  bool Closed();
  // One byte or more into the buffer; false at the end.
  bool Fill();

 private:
  RawClient() = default;
  int fd_ = -1;
  std::string buffer_;
};

}  // namespace verbatim::serve::testing

#endif  // VERBATIM_TESTS_SERVE_HTTP_RAW_CLIENT_H_
