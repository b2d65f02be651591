// libedit with its reading of characters replaced: signals arrive only while it waits for one, so
// that none can get lost or meet a half-drawn line.
#include "apps/verbatim/line_editor.h"

#include <histedit.h>
#include <langinfo.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <clocale>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "apps/verbatim/chat_history.h"

namespace verbatim::cli {
namespace {

std::atomic<bool> resized{false};
std::atomic<bool> continued_after_stop{false};

extern "C" void OnResize(int /*signal*/) { resized = true; }
extern "C" void OnContinue(int /*signal*/) { continued_after_stop = true; }

void SetHandler(int signal, void (*handler)(int), struct sigaction* before) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigaction(signal, &action, before);
}

// libedit measures and writes characters by the locale; a C locale would break every other script.
void UseUtf8Locale() {
  const char* chosen = std::setlocale(LC_CTYPE, "");
  if (chosen != nullptr && std::strcmp(nl_langinfo(CODESET), "UTF-8") == 0) return;
  std::setlocale(LC_CTYPE, "C.UTF-8");
}

constexpr wchar_t kReplacement = 0xFFFD;

std::wstring ToWide(std::string_view utf8) {
  std::wstring wide;
  for (size_t i = 0; i < utf8.size();) {
    const auto first = static_cast<unsigned char>(utf8[i]);
    const size_t length = first < 0x80 ? 1 : first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
    wchar_t code = length == 1 ? first : first & (0x7F >> length);
    bool good = first < 0x80 || (first >= 0xC2 && first < 0xF5);
    size_t used = 1;
    while (good && used < length) {
      good = i + used < utf8.size() && (static_cast<unsigned char>(utf8[i + used]) & 0xC0) == 0x80;
      if (good) code = code << 6 | (utf8[i + used++] & 0x3F);
    }
    wide += good ? code : kReplacement;
    i += used;
  }
  return wide;
}

std::string ToUtf8(std::wstring_view wide) {
  std::string utf8;
  for (const wchar_t character : wide) {
    const uint32_t code = static_cast<char32_t>(character);
    if (code < 0x80) {
      utf8 += static_cast<char>(code);
    } else if (code < 0x800) {
      utf8 += static_cast<char>(0xC0 | code >> 6);
    } else if (code < 0x10000) {
      utf8 += static_cast<char>(0xE0 | code >> 12);
      utf8 += static_cast<char>(0x80 | (code >> 6 & 0x3F));
    } else {
      utf8 += static_cast<char>(0xF0 | code >> 18);
      utf8 += static_cast<char>(0x80 | (code >> 12 & 0x3F));
      utf8 += static_cast<char>(0x80 | (code >> 6 & 0x3F));
    }
    if (code >= 0x80) utf8 += static_cast<char>(0x80 | (code & 0x3F));
  }
  return utf8;
}

}  // namespace

struct LineEditor::Impl {
  EditLine* editor = nullptr;
  HistoryW* history = nullptr;
  FILE* output = nullptr;
  std::wstring prompt;
  std::wstring continued_prompt;
  bool show_continued = false;
  DeferredSignals* signals = nullptr;
  struct sigaction resize_before = {};
  struct sigaction continue_before = {};

  static Impl& Of(EditLine* editor) {
    void* self = nullptr;
    el_wget(editor, EL_CLIENTDATA, &self);
    return *static_cast<Impl*>(self);
  }

  static wchar_t* Prompt(EditLine* editor) {
    Impl& self = Of(editor);
    return self.show_continued ? self.continued_prompt.data() : self.prompt.data();
  }

  // One byte; 0 at the end of the input or after a signal that ends the line.
  int ReadByte(unsigned char* byte) {
    sigset_t none;
    sigemptyset(&none);
    for (;;) {
      if (signals->exit_code() != 0) return 0;
      if (continued_after_stop.exchange(false)) {
        el_wset(editor, EL_PREP_TERM, 1);  // the shell has set the terminal to its own mode
        el_wset(editor, EL_REFRESH);
      }
      if (resized.exchange(false)) {
        el_resize(editor);
        el_wset(editor, EL_REFRESH);
      }
      struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
      const int ready = ppoll(&input, 1, nullptr, &none);  // the one place where signals arrive
      if (ready < 0 && errno == EINTR) continue;
      if (ready < 0) return 0;
      const ssize_t count = ::read(STDIN_FILENO, byte, 1);
      if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      return count == 1 ? 1 : 0;
    }
  }

  static int ReadCharacter(EditLine* editor, wchar_t* character) {
    Impl& self = Of(editor);
    std::array<unsigned char, 4> bytes{};
    if (self.ReadByte(bytes.data()) != 1) return 0;
    size_t length = bytes[0] >= 0xF0 ? 4 : bytes[0] >= 0xE0 ? 3 : bytes[0] >= 0xC0 ? 2 : 1;
    for (size_t i = 1; i < length; ++i) {
      if (self.ReadByte(&bytes[i]) != 1) return 0;
      if ((bytes[i] & 0xC0) != 0x80) length = i + 1;  // no continuation: both become one mark
    }
    const std::wstring wide =
        ToWide(std::string_view(reinterpret_cast<const char*>(bytes.data()), length));
    *character = wide[0];
    return 1;
  }
};

LineEditor::LineEditor(FILE* output, bool color, DeferredSignals& signals)
    : impl_(std::make_unique<Impl>()) {
  UseUtf8Locale();
  Impl& self = *impl_;
  self.output = output;
  self.signals = &signals;
  // \1 marks what takes no room on the screen.
  self.prompt = color ? L"\1\x1b[1;32m\1>\1\x1b[0m\1 " : L"> ";
  self.continued_prompt = color ? L"\1\x1b[2m\1.\1\x1b[0m\1 " : L". ";
  SetHandler(SIGWINCH, OnResize, &self.resize_before);
  SetHandler(SIGCONT, OnContinue, &self.continue_before);
  self.editor = el_init("verbatim", stdin, output, stderr);
  self.history = history_winit();
  HistEventW event;
  history_w(self.history, &event, H_SETSIZE, static_cast<int>(ChatHistory::kMaxLines));
  history_w(self.history, &event, H_SETUNIQUE, 1);
  el_wset(self.editor, EL_CLIENTDATA, &self);
  el_wset(self.editor, EL_GETCFN, &Impl::ReadCharacter);
  el_wset(self.editor, EL_PROMPT_ESC, &Impl::Prompt, L'\1');
  el_wset(self.editor, EL_HIST, history_w, self.history);
  el_wset(self.editor, EL_EDITOR, L"emacs");
  // What terminals send for these keys, where terminfo does not say so.
  constexpr std::array<std::array<const wchar_t*, 2>, 8> kKeys = {{
      {L"^R", L"em-inc-search-prev"},
      {L"\\e[3~", L"ed-delete-next-char"},
      {L"\\e[1~", L"ed-move-to-beg"},
      {L"\\e[4~", L"ed-move-to-end"},
      {L"\\e[H", L"ed-move-to-beg"},
      {L"\\e[F", L"ed-move-to-end"},
      {L"\\e[1;5D", L"ed-prev-word"},
      {L"\\e[1;5C", L"em-next-word"},
  }};
  for (const auto& [keys, command] : kKeys) {
    el_wset(self.editor, EL_BIND, keys, command, nullptr);
  }
  el_source(self.editor, nullptr);  // ~/.editrc, if there is one
}

LineEditor::~LineEditor() {
  history_wend(impl_->history);
  el_end(impl_->editor);
  sigaction(SIGWINCH, &impl_->resize_before, nullptr);
  sigaction(SIGCONT, &impl_->continue_before, nullptr);
}

ReadLine LineEditor::Read(bool continued) {
  Impl& self = *impl_;
  self.show_continued = continued;
  sigset_t waiting;
  sigset_t before;
  sigemptyset(&waiting);
  for (const int signal : {SIGINT, SIGTERM, SIGWINCH, SIGCONT}) sigaddset(&waiting, signal);
  sigprocmask(SIG_BLOCK, &waiting, &before);
  if (resized.exchange(false)) el_resize(self.editor);
  // libedit itself would show the prompt first; a key pressed in between was echoed twice, and a
  // Ctrl-D lost.
  el_wset(self.editor, EL_PREP_TERM, 1);
  int count = 0;
  const wchar_t* line = el_wgets(self.editor, &count);
  ReadLine result;
  if (const int code = self.signals->Take(); code != 0) {
    std::fputs("^C\n", self.output);
    result.kind = code == 128 + SIGINT ? ReadLine::Kind::kInterrupted : ReadLine::Kind::kTerminated;
  } else if (line == nullptr || count <= 0) {
    std::fputs("\n", self.output);
    result.kind = ReadLine::Kind::kEnd;
  } else {
    std::wstring_view text(line, static_cast<size_t>(count));
    while (text.ends_with(L'\n') || text.ends_with(L'\r')) text.remove_suffix(1);
    result = {ReadLine::Kind::kLine, ToUtf8(text)};
  }
  std::fflush(self.output);
  sigprocmask(SIG_SETMASK, &before, nullptr);  // the terminal is in its normal mode again
  return result;
}

void LineEditor::AddHistory(const std::string& line) {
  HistEventW event;
  history_w(impl_->history, &event, H_ENTER, ToWide(line).c_str());
}

}  // namespace verbatim::cli
