// The header's word on the server: which model, and whether its contract holds. Not the requests.
import {askHealth, askModels} from "./api.js";
import {byId} from "./dom.js";

const RETRY_MS = 1000;  // a loading model is asked for again at this pace

const WORDS = {
  exact: "Drafting never changes a byte here: blocks were compared with single rows when the model was loaded.",
  declined: "The server decodes without drafts, as it could not keep its promise with them.",
  greedy: "Greedy answers stay the same; other bytes may differ.",
  off: "The server decodes without drafts.",
};

// {state, reason} of a health report: `mode` is what was asked for; `held` is what holds: exact, greedy or off.
function readContract(report) {
  const {mode = "unknown", held = mode, reason = ""} = report.contract ?? {};
  return {state: held === "off" && mode !== "off" ? "declined" : held, reason};
}

function show(state, text, reason) {
  byId("contract").dataset.state = state;
  byId("contract-state").textContent = text;
  byId("contract-reason").textContent = reason;
}

// Whether the server is ready.
export async function showHealth() {
  let health;
  try {
    health = await askHealth();
  } catch (error) {
    show("unreachable", "not reachable", error.message);
    setTimeout(showHealth, RETRY_MS);
    return;
  }
  if (health.status !== 200) {
    const words = health.report.error?.message ?? health.report.status ?? `status ${health.status}`;
    show("loading", String(words).toLowerCase(), "The page asks again by itself.");
    setTimeout(showHealth, RETRY_MS);
    return;
  }
  const {state, reason} = readContract(health.report);
  show(state, `contract: ${state}`, [WORDS[state], reason].filter(Boolean).join(" "));
}

// The first model's id. Errors: ServerError.
export async function showModel(key) {
  const models = await askModels(key);
  const id = models[0]?.id ?? "";
  byId("model").textContent = id;
  document.title = id === "" ? "Verbatim" : `${id} · Verbatim`;
  return id;
}
