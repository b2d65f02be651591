// Settings and messages to the body of a request, and to the bodies of its re-runs. Not the sending.

function number(text) {
  const value = String(text ?? "").trim();
  return value === "" || !Number.isFinite(Number(value)) ? null : Number(value);
}

// A seed is always sent, so that the same answer can be asked for again.
function drawSeed() {
  return crypto.getRandomValues(new Uint32Array(1))[0];
}

function speculation(drafts) {
  if (drafts === "off") return {kind: "off"};
  return {kind: "mtp", draft_tokens: drafts === "auto" ? "auto" : Number(drafts)};
}

// `turns`: {role, content, reasoning} in order.
export function makeBody(settings, turns, model) {
  const body = {messages: [], stream: true, stream_options: {include_usage: true}};
  if (model) body.model = model;
  if (settings.system.trim() !== "") body.messages.push({role: "system", content: settings.system});
  for (const {role, content, reasoning} of turns) {
    body.messages.push(reasoning ? {role, content, reasoning_content: reasoning} : {role, content});
  }
  const temperature = number(settings.temperature);
  const maxTokens = number(settings.maxTokens);
  if (temperature !== null) body.temperature = temperature;
  if (maxTokens !== null) body.max_tokens = maxTokens;
  body.seed = number(settings.seed) ?? drawSeed();
  if (settings.thinking !== "") body.chat_template_kwargs = {enable_thinking: settings.thinking === "on"};
  body.token_details = true;
  body.logits_digest = true;
  body.contract = settings.contract;
  body.speculation = speculation(settings.drafts);
  return body;
}

export function isClassic(body) {
  return body.speculation.kind === "off";
}

// The same request one token at a time, or with drafts if that is what it was.
export function otherArm(body) {
  return {...body, speculation: speculation(isClassic(body) ? "auto" : "off")};
}

// The same request, for its receipt.
export function receiptBody(body) {
  const {stream, stream_options, token_details, ...rest} = body;
  return {...rest, receipt: true};
}
