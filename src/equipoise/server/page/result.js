// Draws what came back. The picture is the server's escaped HTML; all else goes in as text.

const SETTINGS = {
  A: "as retrieved, no instruction",
  B: "balanced, no instruction",
  C: "balanced, with the instruction to be even-handed",
  D: "as retrieved, with the instruction",
};
const OUTCOMES = {
  refused: "The model refused.",
  filtered: "A content filter stopped the answer.",
  empty: "The model answered nothing.",
  error: "The model failed.",
};
const SIDES = { pro: "for", con: "against", neutral: "neutral", unlabelled: "not labelled" };

/** What `/v1/balance` must be asked for the prompt of a setting. */
export function settingOptions(setting) {
  const asRetrieved = setting === "A" || setting === "D";
  return {
    ...(asRetrieved ? { gate: "never", merge_duplicates: false } : {}),
    // In C the server gives the instruction where the question was balanced.
    even_handed: setting === "C" ? null : setting === "D",
  };
}

/** Puts the picture into a shadow root, so that its style and the page's stay apart. */
export function drawPicture(host, html) {
  const root = host.shadowRoot ?? host.attachShadow({ mode: "open" });
  // Safe: the renderer escapes every text, and the page's policy runs no inline script.
  root.innerHTML = html;
}

/** The sentence that tells how it went, for the status line. */
export function verdict(selection) {
  const counts = mix(selection.composition);
  if (!selection.contested.balanced) return `Done: order of relevance kept, the model reads ${counts}.`;
  const before = mix(selection.before);
  return `Done: the model reads ${counts}; without balancing ${before}.`;
}

export function describePrompt(setting, answer) {
  const chosen = answer.selection.documents.filter((document) => document.chosen);
  const ranks = chosen.sort((a, b) => a.position - b.position).map((document) => document.rank);
  const plural = ranks.length === 1 ? "rank" : "ranks";
  const told = answer.instruction ? "The instruction is in it." : "The instruction is not in it.";
  return `${setting}: ${SETTINGS[setting]}. Documents of ${plural} ${ranks.join(", ") || "none"}. ${told}`;
}

/** One article an answer, side by side. */
export function drawAnswers(host, answers) {
  host.replaceChildren(...answers.map(answerArticle));
}

function answerArticle({ setting, selection, answer }) {
  const article = element("article", "answer");
  const head = element("h3", "", setting);
  head.append(element("span", "", SETTINGS[setting]));
  const reads = element("p", "reads", `Reads ${mix(selection.composition)}.`);
  const text = element("p", "text", answer.text);
  text.dir = "auto";
  const seconds = (answer.latency_ms / 1000).toFixed(1);
  const foot = element("p", "foot", `${answer.model}, ${seconds} s`);
  if (answer.outcome === "answered") {
    article.append(head, reads, text, foot);
  } else {
    const why = `${OUTCOMES[answer.outcome] ?? answer.outcome} ${answer.detail}`;
    article.append(head, reads, element("p", "failed", why), foot);
  }
  return article;
}

function mix(counts) {
  const parts = Object.entries(SIDES).filter(([side]) => counts[side]);
  return parts.map(([side, word]) => `${counts[side]} ${word}`).join(", ") || "no documents";
}

export function element(name, className, text = "") {
  const made = document.createElement(name);
  if (className) made.className = className;
  made.textContent = text;
  return made;
}
