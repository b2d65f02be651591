// The page: conversation, sending and stopping, and what the buttons do. The parts are in the modules that it imports.
import {Answer, failureWords} from "./answer.js";
import {askOnce, askStream, ServerError} from "./api.js";
import {showHealth, showModel} from "./contract.js";
import {byId, element} from "./dom.js";
import {perFrame} from "./frames.js";
import {isClassic, makeBody, otherArm, receiptBody} from "./request.js";
import {Run} from "./run.js";
import {Settings} from "./settings.js";

const SUGGESTIONS = [
  "Once upon a time there was a king who had three sons.",
  "Write a function that merges two sorted lists.",
  "Explain why the sky is blue, in four sentences.",
];
const NEAR_END_PX = 120;  // who reads further up is left where they are

const conversation = byId("conversation");
const prompt = byId("prompt");
const settings = new Settings((name) => name === "key" && learnModel());
let turns = [];      // {role, content, reasoning}
let answers = [];
let running = null;  // AbortController of the one request that runs
let model = "";

function say(words) {
  byId("status").textContent = words;
}

let atEnd = true;  // of the page, as last scrolled
const followEnd = perFrame(() => {
  if (atEnd) document.scrollingElement.scrollTop = document.scrollingElement.scrollHeight;
});

function growPrompt() {
  prompt.style.height = "auto";
  prompt.style.height = `${prompt.scrollHeight + 2}px`;  // its two borders
}

// Runs one thing at a time, which Stop ends. `work(signal)`.
async function occupied(work) {
  if (running) return;
  running = new AbortController();
  byId("send").hidden = true;
  byId("stop").hidden = false;
  for (const answer of answers) answer.enable(false);
  try {
    await work(running.signal);
  } finally {
    const hadFocus = document.activeElement === byId("stop");
    running = null;
    byId("send").hidden = false;
    byId("stop").hidden = true;
    if (hadFocus) prompt.focus();
    for (const answer of answers) answer.enable(true);
  }
}

function onFailure(error) {
  if (error instanceof ServerError && error.status === 401) settings.open("key");
  say(failureWords(error));
}

async function send(text) {
  byId("welcome").hidden = true;
  const asked = [...turns, {role: "user", content: text}];
  const answer = new Answer(makeBody(settings.values, asked, model), {prove, receipt});
  answers.push(answer);
  const question = element("p", {class: "question"}, element("span", {class: "hidden", text: "You: "}), text);
  conversation.append(question, answer.root);
  atEnd = true;
  followEnd();
  say("The answer is being written.");
  await occupied(async (signal) => {
    try {
      for await (const chunk of askStream(answer.body, {key: settings.key, signal})) {
        answer.take(chunk);
        followEnd();
      }
      answer.end();
      followEnd();
      say(`The answer is complete: ${answer.run.tokens.length} tokens.`);
    } catch (error) {
      if (signal.aborted) {
        answer.stop();
        say("Stopped.");
      } else {
        answer.fail(error);
        onFailure(error);
      }
    }
  });
  if (!answers.includes(answer)) return;  // a new chat has begun
  const turn = answer.turn();
  // Without an answer the question is no part of the conversation, and is there to be sent again.
  if (turn) turns = [...asked, turn];
  else if (prompt.value === "") putBack(text);
}

function putBack(text) {
  prompt.value = text;
  growPrompt();
}

// The same request one token at a time (or with drafts, if it had none): equal bytes, or not.
async function prove(answer) {
  const other = otherArm(answer.body);
  await occupied(async (signal) => {
    const run = new Run();
    answer.showProofProgress(run, isClassic(other));
    say(`Running the answer again, ${isClassic(other) ? "one token at a time" : "with drafts"}.`);
    try {
      for await (const chunk of askStream(other, {key: settings.key, signal})) {
        run.take(chunk, performance.now());
        answer.showProofProgress(run, isClassic(other));
      }
      const result = answer.showProof(run, isClassic(other));
      say(result.equal ? "Equal, bit for bit." : "Not equal.");
    } catch (error) {
      if (signal.aborted) return answer.hideProof();
      answer.showActionFailure(error);
      onFailure(error);
    }
  });
}

// The same request once more, for its receipt, as a file.
async function receipt(answer) {
  await occupied(async (signal) => {
    say("Running the answer again for its receipt.");
    try {
      const whole = await askOnce(receiptBody(answer.body), {key: settings.key, signal});
      const given = whole.choices?.[0]?.verbatim?.receipt;
      if (!given) throw new ServerError(0, {message: "The server gave no receipt."});
      download(typeof given === "string" ? given : JSON.stringify(given, null, 2), `${whole.id ?? "answer"}.receipt.json`);
      say("The receipt is downloaded.");
    } catch (error) {
      if (signal.aborted) return;
      answer.showActionFailure(error);
      onFailure(error);
    }
  });
}

function download(text, name) {
  const url = URL.createObjectURL(new Blob([text], {type: "application/json"}));
  element("a", {href: url, download: name}).click();
  setTimeout(() => URL.revokeObjectURL(url), 0);
}

function newChat() {
  running?.abort();
  turns = [];
  answers = [];
  conversation.replaceChildren();
  byId("welcome").hidden = false;
  prompt.focus();
}

async function learnModel() {
  try {
    model = await showModel(settings.key);
  } catch (error) {
    onFailure(error);
  }
}

byId("composer").addEventListener("submit", (event) => {
  event.preventDefault();
  const text = prompt.value.trim();
  if (text === "" || running) return;
  prompt.value = "";
  growPrompt();
  send(text);
});
addEventListener("scroll", () => {
  const page = document.scrollingElement;
  atEnd = page.scrollHeight - page.scrollTop - innerHeight < NEAR_END_PX;
}, {passive: true});
prompt.addEventListener("input", growPrompt);
prompt.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  byId("composer").requestSubmit();
});
byId("stop").addEventListener("click", () => running?.abort());
byId("new-chat").addEventListener("click", newChat);
byId("colours").addEventListener("click", (event) => {
  const shown = event.currentTarget.getAttribute("aria-pressed") !== "true";
  event.currentTarget.setAttribute("aria-pressed", String(shown));
  document.body.classList.toggle("plain", !shown);
});
for (const text of SUGGESTIONS) {
  byId("suggestions").append(element("li", {}, element("button", {type: "button", class: "quiet", text, onclick: () => {
    putBack(text);
    byId("composer").requestSubmit();
  }})));
}
showHealth();
learnModel();
