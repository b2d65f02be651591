// The server's endpoints that the page uses, all below where the page is. Not what the page does with the answers.
import {eventData} from "./sse.js";

// A refusal or failure, in the server's own words.
export class ServerError extends Error {
  constructor(status, error) {
    super(error.message || `The server answered with status ${status}.`);
    this.status = status;  // 0: the answer had begun, or nobody answered
    this.type = error.type || null;
    this.code = error.code || null;
    this.param = error.param || null;
  }
}

function headers(key) {
  const made = {"content-type": "application/json"};
  if (key) made.authorization = `Bearer ${key}`;
  return made;
}

async function refusal(response) {
  const text = await response.text();
  try {
    return new ServerError(response.status, JSON.parse(text).error || {});
  } catch {
    return new ServerError(response.status, {message: text.trim().slice(0, 500)});
  }
}

async function send(path, options) {
  try {
    return await fetch(path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ServerError(0, {message: "No answer from the server. Is it running?"});
  }
}

// {status, report}: the status and the JSON object; loading servers answer with 503 and one, too.
export async function askHealth() {
  const response = await send("health", {});
  return {status: response.status, report: await response.json().catch(() => ({}))};
}

export async function askModels(key) {
  const response = await send("v1/models", {headers: headers(key)});
  if (!response.ok) throw await refusal(response);
  return (await response.json()).data || [];
}

// A whole answer.
export async function askOnce(body, {key, signal}) {
  const response = await send("v1/chat/completions",
                              {method: "POST", headers: headers(key), body: JSON.stringify(body), signal});
  if (!response.ok) throw await refusal(response);
  return response.json();
}

// The chunks of a streamed answer. Errors: ServerError, and what an abort raises.
export async function* askStream(body, {key, signal}) {
  const response = await send("v1/chat/completions",
                              {method: "POST", headers: headers(key), body: JSON.stringify(body), signal});
  if (!response.ok) throw await refusal(response);
  try {
    for await (const data of eventData(response.body)) {
      if (data === "[DONE]") return;
      const chunk = JSON.parse(data);
      if (chunk.error) throw new ServerError(0, chunk.error);
      yield chunk;
    }
  } catch (error) {
    if (error instanceof ServerError || error.name === "AbortError") throw error;
    throw new ServerError(0, {message: `The answer broke off: ${error.message}`});
  }
  throw new ServerError(0, {message: "The answer broke off: the connection ended before it did."});
}
