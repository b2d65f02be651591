// libedit with its reading of characters replaced: signals arrive only while it waits for one, so
// that none can get lost or meet a half-drawn line, and pasted text never comes to it as keys.
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
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "apps/verbatim/bracketed_paste.h"
#include "apps/verbatim/chat_history.h"
#include "apps/verbatim/saved_lines.h"
#include "apps/verbatim/signal_keys.h"
#include "apps/verbatim/wide_text.h"

namespace verbatim::cli {
namespace {

std::atomic<bool> resized{false};
std::atomic<bool> continued_after_stop{false};
std::atomic<bool> stop_asked{false};

extern "C" void OnResize(int /*signal*/) { resized = true; }
extern "C" void OnContinue(int /*signal*/) { continued_after_stop = true; }
extern "C" void OnStop(int /*signal*/) { stop_asked = true; }

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

// What the editor is told when pasted text waits. No terminal sends this control character as a
// key, and bound to a command it is obeyed only where a command may be given: also behind a search.
constexpr wchar_t kPasteKey = 0x9E;
constexpr std::array<wchar_t, 2> kPasteKeyText = {kPasteKey, L'\0'};

}  // namespace

struct LineEditor::Impl {
  EditLine* editor = nullptr;
  HistoryW* history = nullptr;
  FILE* output = nullptr;
  std::wstring prompt;
  std::wstring continued_prompt;
  bool show_continued = false;
  bool can_paste = false;  // the terminal knows escape sequences
  DeferredSignals* signals = nullptr;
  struct sigaction resize_before = {};
  struct sigaction continue_before = {};
  SignalKeys signal_keys;
  std::string received;  // bytes from `next_received` on are not looked at yet
  size_t next_received = 0;
  PasteParser parser;
  std::string keys;  // from `next_key` on, for libedit
  size_t next_key = 0;
  std::wstring pasted;  // for libedit, which is told of it until it takes it
  int told = 0;
  bool too_large = false;
  SavedLines saved_lines;

  static Impl& Of(EditLine* editor) {
    void* self = nullptr;
    el_wget(editor, EL_CLIENTDATA, &self);
    return *static_cast<Impl*>(self);
  }

  static wchar_t* Prompt(EditLine* editor) {
    Impl& self = Of(editor);
    return self.show_continued ? self.continued_prompt.data() : self.prompt.data();
  }

  void KeepLine() {
    const std::span<wchar_t> line = Line();
    saved_lines.Keep({line.data(), line.size()});
  }

  // libedit's history, watched for the moment before a line is left.
  static int History(void* self, HistEventW* event, int operation, ...) {
    Impl& impl = *static_cast<Impl*>(self);
    if (operation == H_FIRST) impl.KeepLine();
    va_list arguments;
    va_start(arguments, operation);
    const bool number = operation == H_SET || operation == H_SETSIZE || operation == H_SETUNIQUE;
    const int result =
        number ? history_w(impl.history, event, operation, va_arg(arguments, int))
               : history_w(impl.history, event, operation, va_arg(arguments, const char*));
    va_end(arguments);
    return result;
  }

  std::span<wchar_t> Line() const {
    const LineInfoW* line = el_wline(editor);
    const auto size = static_cast<size_t>(line->lastchar - line->buffer);
    return {const_cast<wchar_t*>(line->buffer), size};  // libedit's own, which it would let us see
  }

  void SetPasteMode(bool on) const {
    if (!can_paste) return;
    const std::string_view sequence = on ? kPasteModeOn : kPasteModeOff;
    std::fwrite(sequence.data(), 1, sequence.size(), output);
    std::fflush(output);
  }

  void EnterTerminal() const {
    el_wset(editor, EL_PREP_TERM, 1);
    SetPasteMode(true);
  }

  void LeaveTerminal() const {
    SetPasteMode(false);
    el_wset(editor, EL_PREP_TERM, 0);
  }

  // Stops the program, with the terminal as it was found, and goes on when it is continued.
  void Stop() {
    LeaveTerminal();
    struct sigaction handler = {};
    SetHandler(SIGTSTP, SIG_DFL, &handler);
    raise(SIGTSTP);
    sigset_t stop;
    sigset_t before;
    sigemptyset(&stop);
    sigaddset(&stop, SIGTSTP);
    sigprocmask(SIG_UNBLOCK, &stop, &before);  // here it stops
    sigprocmask(SIG_SETMASK, &before, nullptr);
    sigaction(SIGTSTP, &handler, nullptr);
    continued_after_stop = true;  // also where nobody could have continued it, and it did not stop
  }

  // What the keys of SignalKeys mean outside of a paste.
  void Obey(int signal) {
    parser.Reset();
    if (signal == SIGQUIT) LeaveTerminal();
    SendToJob(signal);
    if (signal == SIGQUIT) EnterTerminal();  // ignored by who started the program
  }

  // Reads what there is, up to a page.
  bool Receive() {
    received.resize(4096);
    next_received = 0;
    ssize_t count = ::read(STDIN_FILENO, received.data(), received.size());
    const bool again = count < 0 && (errno == EINTR || errno == EAGAIN);
    received.resize(count > 0 ? static_cast<size_t>(count) : 0);
    return count > 0 || again;
  }

  // One byte; none at the end of the input or after a signal that ends the line.
  std::optional<char> ReadByte() {
    sigset_t none;
    sigemptyset(&none);
    // A paste whose end does not come would take every key. After this long without a byte, the
    // next is a person's: pastes come in one go.
    constexpr struct timespec kPause = {.tv_sec = 1, .tv_nsec = 0};
    bool paused = false;
    for (;;) {
      if (signals->exit_code() != 0) return std::nullopt;
      if (stop_asked.exchange(false)) Stop();
      if (continued_after_stop.exchange(false)) {
        LeaveTerminal();  // the shell has set the terminal to its own mode: libedit must notice
        EnterTerminal();
        el_wset(editor, EL_REFRESH);
      }
      if (resized.exchange(false)) {
        el_resize(editor);
        el_wset(editor, EL_REFRESH);
      }
      if (next_received == received.size()) {
        struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
        const struct timespec* patience = parser.in_paste() ? &kPause : nullptr;
        const int ready = ppoll(&input, 1, patience, &none);  // where signals arrive
        if (ready == 0) paused = true;
        if (ready == 0 || (ready < 0 && errno == EINTR)) continue;
        if (ready < 0 || !Receive()) return std::nullopt;
        continue;
      }
      const char byte = received[next_received++];
      const int signal = parser.in_paste() && !paused ? 0 : signal_keys.SignalOf(byte);
      if (signal == 0) return byte;
      Obey(signal);
    }
  }

  // One byte of a key; none as above, or if pasted text comes instead.
  std::optional<unsigned char> ReadKeyByte() {
    while (next_key == keys.size()) {
      const std::optional<char> byte = ReadByte();
      if (!byte) return std::nullopt;
      switch (parser.Push(*byte)) {
        case PasteParser::Event::kNone:
          break;
        case PasteParser::Event::kKeys:
          keys = parser.TakeKeys();
          next_key = 0;
          break;
        case PasteParser::Event::kPaste:
          pasted += WithoutKeys(ToWide(parser.TakePaste()));
          told = 0;
          if (!pasted.empty()) return std::nullopt;
          break;
        case PasteParser::Event::kTooLarge:
          too_large = true;
          told = 0;
          return std::nullopt;
      }
    }
    return static_cast<unsigned char>(keys[next_key++]);
  }

  // Whether the paste key is the next character. Where no command may be given it is taken for an
  // ordinary character: as the character to quote, or behind an Escape. There it is sent once more,
  // but not for ever.
  bool TellOfPaste() {
    constexpr int kTimes = 3;
    return (!pasted.empty() || too_large) && told++ < kTimes;
  }

  static int ReadCharacter(EditLine* editor, wchar_t* character) {
    Impl& self = Of(editor);
    if (self.saved_lines.Repair(self.Line())) el_wset(editor, EL_REFRESH);
    *character = kPasteKey;
    if (self.TellOfPaste()) return 1;
    std::array<unsigned char, 4> bytes{};
    std::optional<unsigned char> byte = self.ReadKeyByte();
    if (!byte) return self.TellOfPaste() ? 1 : 0;
    bytes[0] = *byte;
    size_t length = bytes[0] >= 0xF0 ? 4 : bytes[0] >= 0xE0 ? 3 : bytes[0] >= 0xC0 ? 2 : 1;
    for (size_t i = 1; i < length; ++i) {
      byte = self.ReadKeyByte();
      if (!byte) return self.TellOfPaste() ? 1 : 0;
      bytes[i] = *byte;
      if ((bytes[i] & 0xC0) != 0x80) length = i + 1;  // no continuation: both become one mark
    }
    const std::wstring wide =
        ToWide(std::string_view(reinterpret_cast<const char*>(bytes.data()), length));
    *character = wide[0];
    return 1;
  }

  // The command of the paste key.
  static unsigned char InsertPaste(EditLine* editor, wint_t /*key*/) {
    Impl& self = Of(editor);
    if (std::exchange(self.too_large, false)) {
      const Status error = MakeError(StatusCode::kInvalidArgument, "paste",
                                     "at most " + std::to_string(PasteParser::kMaxBytes) + " bytes",
                                     "more", "verbatim generate --chat --file FILE");
      // Under the line, which is then shown again.
      std::fputs(("\r\n\x1b[J" + error.message() + "\r\n").c_str(), self.output);
      el_wset(editor, EL_REFRESH);
    }
    if (self.pasted.empty()) return CC_NORM;
    const std::wstring text = std::exchange(self.pasted, {});
    return el_winsertstr(editor, text.c_str()) == 0 ? CC_REFRESH : CC_ERROR;
  }

  // Ctrl-C behind the line's Enter came as a byte, too, if the terminal was not yet in its normal
  // mode. It means the answer, as if it had come a moment later; what was typed before it is gone,
  // as terminals have it.
  void HeedInterruptTypedAhead() {
    received.erase(0, next_received);
    next_received = 0;
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
    while (poll(&input, 1, 0) == 1) {
      std::string before = std::exchange(received, {});
      const bool more = Receive();
      received.insert(0, before);
      if (!more || received.size() == before.size()) break;
    }
    PasteParser ahead = parser;
    for (size_t i = 0; i < received.size(); ++i) {
      if (!ahead.in_paste() && signal_keys.SignalOf(received[i]) == SIGINT) {
        received.erase(0, i + 1);
        keys.clear();
        next_key = 0;
        parser.Reset();
        kill(0, SIGINT);
        return;
      }
      ahead.Push(received[i]);
    }
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
  const char* terminal = std::getenv("TERM");
  self.can_paste = terminal != nullptr && *terminal != '\0' && std::strcmp(terminal, "dumb") != 0;
  self.editor = el_init("verbatim", stdin, output, stderr);
  self.history = history_winit();
  HistEventW event;
  history_w(self.history, &event, H_SETSIZE, static_cast<int>(ChatHistory::kMaxLines));
  history_w(self.history, &event, H_SETUNIQUE, 1);
  el_wset(self.editor, EL_CLIENTDATA, &self);
  el_wset(self.editor, EL_GETCFN, &Impl::ReadCharacter);
  el_wset(self.editor, EL_PROMPT_ESC, &Impl::Prompt, L'\1');
  el_wset(self.editor, EL_HIST, &Impl::History, &self);
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
  el_wset(self.editor, EL_ADDFN, L"verbatim-paste", L"Insert pasted text", &Impl::InsertPaste);
  el_wset(self.editor, EL_BIND, kPasteKeyText.data(), L"verbatim-paste", nullptr);
  el_wset(self.editor, EL_BIND, L"-a", kPasteKeyText.data(), L"verbatim-paste", nullptr);
  // Every byte as it is sent: no signals, no stopped output, no exchanged line breaks.
  for (const wchar_t* setting : {L"-isig", L"-ixon", L"-icrnl", L"-inlcr"}) {
    el_wset(self.editor, EL_SETTY, L"-d", setting, nullptr);
  }
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
  for (const int signal : {SIGINT, SIGTERM, SIGWINCH, SIGCONT, SIGTSTP}) {
    sigaddset(&waiting, signal);
  }
  sigprocmask(SIG_BLOCK, &waiting, &before);
  struct sigaction stop_before = {};  // while nothing is read, a stop is as for every program
  sigaction(SIGTSTP, nullptr, &stop_before);
  if (stop_before.sa_handler != SIG_IGN) SetHandler(SIGTSTP, OnStop, &stop_before);
  if (resized.exchange(false)) el_resize(self.editor);
  self.signal_keys = SignalKeys::OfTerminal();
  self.saved_lines.Clear();
  // libedit itself would show the prompt first; a key pressed in between was echoed twice, and a
  // Ctrl-D lost.
  self.EnterTerminal();
  int count = 0;
  const wchar_t* line = el_wgets(self.editor, &count);
  self.LeaveTerminal();
  ReadLine result;
  if (const int code = self.signals->Take(); code != 0) {
    self.parser.Discard();
    self.pasted.clear();
    self.keys.clear();
    self.next_key = 0;
    std::fputs("^C\n", self.output);
    result.kind = code == 128 + SIGINT ? ReadLine::Kind::kInterrupted : ReadLine::Kind::kTerminated;
  } else if (line == nullptr || count <= 0) {
    std::fputs("\n", self.output);
    result.kind = ReadLine::Kind::kEnd;
  } else {
    std::wstring text(line, static_cast<size_t>(count));
    while (text.ends_with(L'\n') || text.ends_with(L'\r')) text.pop_back();
    std::erase(text, kPasteKey);  // see TellOfPaste
    result = {ReadLine::Kind::kLine, ToUtf8(text)};
    self.HeedInterruptTypedAhead();
  }
  std::fflush(self.output);
  sigaction(SIGTSTP, &stop_before, nullptr);
  if (stop_asked.exchange(false)) raise(SIGTSTP);
  sigprocmask(SIG_SETMASK, &before, nullptr);  // the terminal is in its normal mode again
  return result;
}

void LineEditor::AddHistory(const std::string& line) {
  HistEventW event;
  history_w(impl_->history, &event, H_ENTER, ToWide(line).c_str());
}

}  // namespace verbatim::cli
