// The page: reads the form, asks the server, shows what it says. One request of a kind at a time.

import { readDocuments } from "./documents.js";
import { describePrompt, drawAnswers, drawPicture, element, settingOptions, verdict } from "./result.js";
import { about, ask, example, useKey } from "./server.js";

const by = (id) => document.getElementById(id);
const picked = (name) => document.querySelector(`input[name="${name}"]:checked`).value;
const PLACES = ["pro", "con", "neutral"];
const FORMATS = by("understood").textContent;

let server = null; // what /v1/about says
let last = null; // the request whose picture is shown
let prompts = {}; // answers to that request, by setting

/** Something that takes time: shows that it goes on, can be cancelled, tells what went wrong. */
function work(prefix, target) {
  const part = (name) => by(prefix ? `${prefix}-${name}` : name);
  let running = null;
  const show = (on) => {
    part("cancel").hidden = part("bar").hidden = !on;
    part("elapsed").textContent = "";
    by(target).setAttribute("aria-busy", String(on));
  };
  const stop = () => running?.abort();
  part("cancel").addEventListener("click", () => {
    stop();
    part("status").textContent = "Cancelled.";
    by(prefix || "balance").focus();
  });
  const say = (status, error = "") => {
    part("status").textContent = status;
    part("error").textContent = error;
  };
  /** Runs `task(signal)`; its result is the last status. A later run puts an end to this one. */
  const run = async (words, task) => {
    stop();
    const mine = (running = new AbortController());
    const began = Date.now();
    say(words);
    show(true);
    const timer = setInterval(() => {
      part("elapsed").textContent = `${Math.round((Date.now() - began) / 1000)} s`;
    }, 1000);
    try {
      const done = await task(mine.signal);
      if (!mine.signal.aborted) say(done);
    } catch (error) {
      if (!mine.signal.aborted) fail(error, say);
    } finally {
      clearInterval(timer);
      if (running === mine) {
        running = null;
        show(false);
      }
    }
  };
  return { run, say, stop, busy: () => running !== null };
}

function fail(error, say) {
  if (error.status !== 401) return say("", error.message);
  const wrong = by("key").value !== "";
  say("", wrong ? "The server does not take this key." : "This server needs a key: please enter it.");
  by("key-field").hidden = false;
  by("key").focus();
}

const balancing = work("", "picture");
const answering = work("answer", "answer-list");

/** Documents in the field, or null where they cannot be read; says which, under the field. */
function understood() {
  const hint = by("understood");
  try {
    const { documents, how } = readDocuments(by("documents").value);
    hint.textContent = how || FORMATS;
    hint.classList.remove("wrong");
    return documents;
  } catch (error) {
    hint.textContent = error.message;
    hint.classList.add("wrong");
    return null;
  }
}

/** What the form asks for, or null where something is missing: then that is said and focused. */
function request() {
  for (const marked of document.querySelectorAll("[aria-invalid]")) marked.removeAttribute("aria-invalid");
  const question = by("question").value.trim();
  if (!missing("question", !question, "Please enter a question.")) return null;
  const body = { question, quota: quota(), gate: picked("gate") };
  const odd = PLACES.find((side) => !by(side).value || !by(side).validity.valid);
  const none = PLACES.every((side) => Number(by(side).value) === 0);
  if (!missing(odd ?? "pro", odd || none, "Places are whole numbers, one of them at least 1.")) return null;
  if (!missing("k", !by("k").validity.valid, "k is a whole number from 1 to 1,000, or empty.")) return null;
  if (by("k").value) body.k = Number(by("k").value);
  if (picked("source") === "index") return { ...body, index: by("index").value };
  const documents = understood();
  const problem = documents === null ? by("understood").textContent : "Please enter documents.";
  return missing("documents", !documents?.length, problem) ? { ...body, documents } : null;
}

function quota() {
  const places = Object.fromEntries(PLACES.map((side) => [side, Number(by(side).value)]));
  return { ...server?.quota, ...places }; // pool and depth as the server has them
}

function missing(id, wrong, message) {
  if (!wrong) return true;
  by(id).setAttribute("aria-invalid", "true");
  balancing.say("", message);
  by(id).focus();
  return false;
}

async function balance({ move }) {
  const body = request();
  if (!body) return;
  answering.stop();
  const from = body.documents ? amount(body.documents.length) : `what ${body.index} finds`;
  await balancing.run(`Reading and balancing ${from} …`, async (signal) => {
    const answer = await balanced(body, "C", { html: true, signal });
    last = body;
    prompts = { C: answer };
    drawPicture(by("picture"), answer.html);
    by("prompt").textContent = by("prompt-words").textContent = "";
    by("intro").hidden = true;
    by("selection").hidden = by("prompts").hidden = false;
    by("answers").hidden = !server?.generator;
    by("answer-list").replaceChildren();
    answering.say("");
    if (move) toResult();
    await showPrompt(signal);
    return verdict(answer.selection);
  });
}

function balanced(body, setting, { html = false, signal }) {
  const limit = server?.limits.body_bytes;
  return ask("v1/balance", { body: { ...body, ...settingOptions(setting), html }, limit, signal });
}

function amount(number) {
  return number === 1 ? "1 document" : `${number} documents`;
}

function toResult() {
  by("selection-title").focus({ preventScroll: true });
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const wide = matchMedia("(min-width: 1000px)").matches;
  if (!wide) by("selection").scrollIntoView({ behavior: still ? "auto" : "smooth" });
}

async function showPrompt(signal) {
  let setting;
  do {
    setting = picked("setting"); // which may change while its prompt is fetched
    prompts[setting] ??= await balanced(last, setting, { signal });
  } while (setting !== picked("setting"));
  by("prompt").textContent = prompts[setting].prompt;
  by("prompt-words").textContent = describePrompt(setting, prompts[setting]);
  by("copied").textContent = "";
  return "";
}

async function copy() {
  try {
    await navigator.clipboard.writeText(by("prompt").textContent);
    by("copied").textContent = "Copied.";
  } catch {
    getSelection().selectAllChildren(by("prompt"));
    by("copied").textContent = "The browser does not let this page copy: the text is marked, copy it yourself.";
  }
}

function answer() {
  return answering.run("The model is writing two answers …", async (signal) => {
    const body = { ...last, settings: ["A", "C"] };
    const { answers } = await ask("v1/answer", { body, limit: server?.limits.body_bytes, signal });
    drawAnswers(by("answer-list"), answers);
    return "Done: two answers.";
  });
}

async function showExample() {
  try {
    const { question, documents } = await example();
    document.querySelector('input[name="source"][value="text"]').click();
    by("question").value = question;
    by("documents").value = documents.join("\n\n");
    understood();
    balancing.say("Filled in. Five of the passages were planted on one side: press Balance.");
    by("balance").focus();
  } catch (error) {
    fail(error, balancing.say);
  }
}

async function readFile() {
  const [file] = by("file").files;
  if (!file) return;
  by("documents").value = await file.text();
  by("file").value = ""; // so that the same file, changed, can be taken again
  understood();
}

/** Learn what the server has; ask again while its model is loading. */
async function meet() {
  try {
    const first = server === null;
    server = await about();
    if (first) useDefaults();
    if (!server.ready) {
      balancing.say("The model is still loading; a question can wait for it.");
      setTimeout(meet, 1000);
    } else if (by("status").textContent.startsWith("The model is still")) balancing.say("");
    else if (by("error").textContent) balancing.say("");
  } catch (error) {
    if (error.status !== 401 || by("key").value) fail(error, balancing.say);
    if (error.status === 401) by("key-field").hidden = false;
  }
}

function useDefaults() {
  for (const side of PLACES) by(side).value = server.quota[side];
  document.querySelector(`input[name="gate"][value="${server.gate}"]`).checked = true;
  total();
  by("sources").hidden = !server.indexes.length;
  const options = server.indexes.map((name) => element("option", "", name));
  options.forEach((option) => (option.value = option.textContent));
  by("index").replaceChildren(...options);
  by("index-hint").textContent = `It is asked for ${server.quota.depth} documents.`;
  const model = server.generator ? "with a model that answers" : "no model that answers";
  by("server").textContent =
    `equipoise ${server.version}, ${model}. What you enter goes to this server only.`;
}

function total() {
  by("k").placeholder = PLACES.reduce((sum, side) => sum + Number(by(side).value), 0);
}

function source() {
  const index = picked("source") === "index";
  by("index-field").hidden = !index;
  by("text-field").hidden = index;
}

by("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  balance({ move: true });
});
by("ask").addEventListener("change", ({ target }) => {
  if (target.name === "source") source();
  if (target.id === "key") {
    useKey(target.value);
    meet();
  }
  // Once there is a picture, a switch redraws it: labels are remembered, so this is quick.
  const redraws = target.name === "gate" || target.type === "number";
  if (redraws && last) balance({ move: false });
});
for (const side of PLACES) by(side).addEventListener("input", total);
by("documents").addEventListener("input", understood);
by("file").addEventListener("change", readFile);
by("example").addEventListener("click", showExample);
by("copy").addEventListener("click", copy);
by("answer").addEventListener("click", answer);
for (const radio of document.querySelectorAll('input[name="setting"]')) {
  radio.addEventListener("change", () => {
    // What is running shows the prompt of the setting that is picked when it is done.
    if (!balancing.busy()) balancing.run("Fetching the prompt …", (signal) => showPrompt(signal));
  });
}
meet();
