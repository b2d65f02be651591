// JSON as this server writes it: text that never throws, numbers as short as they are exact. Not
// canonical JSON (measure/canonical_json.h).
#ifndef VERBATIM_SERVE_API_JSON_TEXT_H_
#define VERBATIM_SERVE_API_JSON_TEXT_H_

#include <string>
#include <string_view>

#include "serve/api/answer_request.h"

namespace verbatim::serve {

// One line; bytes that are not UTF-8 become U+FFFD.
std::string DumpJson(const Json& value);

// The binary64 of the shortest decimal that reads back as the same binary32. JSON has no infinities
// and clients' types no null there: what is not finite becomes -9999, as in vLLM.
Json JsonFloat(float value);

// A time or a rate, in thousandths; 0 for what is not finite.
Json JsonRate(double value);

// Any bytes as UTF-8, and as numbers.
std::string LossyUtf8(std::string_view bytes);
Json JsonBytes(std::string_view bytes);

// "data: {...}\n\n", or with an "event: NAME" line before it.
std::string SseData(const Json& data);
std::string SseEvent(std::string_view event, const Json& data);

}  // namespace verbatim::serve

#endif  // VERBATIM_SERVE_API_JSON_TEXT_H_
