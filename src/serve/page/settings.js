// The settings dialog and where its values are kept. Not what they do to a request (request.js).
import {byId, element} from "./dom.js";

const KEPT = "verbatim.settings";
const KEPT_KEY = "verbatim.key";  // in the session's storage alone: it goes when the tab closes
const MAX_DRAFTS = 15;
const DEFAULTS = {drafts: "auto", contract: "exact", thinking: "", temperature: "", seed: "", maxTokens: "", system: ""};

function load() {
  try {
    return {...DEFAULTS, ...JSON.parse(localStorage.getItem(KEPT) ?? "{}")};
  } catch {
    return {...DEFAULTS};  // storage switched off, or not ours
  }
}

function keep(storage, name, value) {
  try {
    storage().setItem(name, value);
  } catch {
    // Without storage they last as long as the page.
  }
}

function loadKey() {
  try {
    return sessionStorage.getItem(KEPT_KEY) ?? "";
  } catch {
    return "";
  }
}

export class Settings {
  values = load();
  key = loadKey();
  #dialog = byId("settings");
  #form = byId("settings-form");
  #onChange;

  // `onChange(name)` is called after each change.
  constructor(onChange) {
    this.#onChange = onChange;
    const drafts = this.#form.elements.namedItem("drafts");
    drafts.append(element("option", {value: "auto", text: "as many as pay off here"}));
    for (let n = 1; n <= MAX_DRAFTS; ++n) drafts.append(element("option", {value: n, text: `${n} in each step`}));
    drafts.append(element("option", {value: "off", text: "none: classic decode"}));
    for (const [name, value] of Object.entries(this.values)) {
      const field = this.#form.elements.namedItem(name);
      if (field) field.value = value;
    }
    this.#form.elements.namedItem("key").value = this.key;
    // A key is tried when it is whole, not letter by letter.
    this.#form.addEventListener("input", (event) => event.target.name !== "key" && this.#take(event.target));
    this.#form.addEventListener("change", (event) => event.target.name === "key" && this.#take(event.target));
    byId("open-settings").addEventListener("click", () => this.open());
  }

  // With the focus in the field of that name.
  open(name) {
    if (!this.#dialog.open) this.#dialog.showModal();
    if (name) this.#form.elements.namedItem(name).focus();
  }

  #take(field) {
    if (field.name === "key") {
      this.key = field.value.trim();
      keep(() => sessionStorage, KEPT_KEY, this.key);
    } else {
      this.values[field.name] = field.value;
      keep(() => localStorage, KEPT, JSON.stringify(this.values));
    }
    this.#onChange(field.name);
  }
}
