// Reads documents from pasted or uploaded text, and says in words what it took the text for.

const words = (number) => (number === 1 ? "1 document" : `${number} documents`);

/**
 * The documents in a text, best first, and how they were told apart.
 *
 * JSON (an array, or an object with "documents"), JSON Lines, texts with blank lines between, or
 * one text a line. Throws an Error in plain words where JSON is broken or a document has no text.
 */
export function readDocuments(text) {
  const trimmed = text.replace(/^\uFEFF/, "").trim();
  if (!trimmed) return { documents: [], how: "" };
  const whole = parsed(trimmed);
  const list = Array.isArray(whole) ? whole : whole?.documents;
  if (Array.isArray(list)) return told(list.map((item, at) => checked(item, `Item ${at + 1}`)), "JSON");
  const lines = trimmed.split(/\r\n|\r|\n/);
  const json = readLines(lines);
  if (json) return told(json, "JSON Lines");
  const blocks = trimmed.split(/(?:\r\n|\r|\n)[^\S\r\n]*(?:\r\n|\r|\n)\s*/).filter((block) => block.trim());
  if (blocks.length > 1) return told(blocks.map((block) => block.trim()), "texts between blank lines");
  return told(lines.filter((line) => line.trim()).map((line) => line.trim()), "one text a line");
}

function told(documents, how) {
  return { documents, how: `${words(documents.length)}, read as ${how}.` };
}

/** The documents of JSON Lines, or null where the first line is no JSON object. */
function readLines(lines) {
  const rows = lines.map((line, at) => [line.trim(), `Line ${at + 1}`]).filter(([line]) => line);
  const values = rows.map(([line]) => parsed(line));
  const strings = values.every((value) => typeof value === "string");
  if (!isObject(values[0]) && !strings) return null;
  return rows.map(([, place], at) => checked(values[at], place));
}

function checked(item, place) {
  if (typeof item === "string") return item;
  if (!isObject(item)) throw new Error(`${place} is not a JSON object or string.`);
  if (typeof item.text !== "string") throw new Error(`${place} has no "text" (a string).`);
  return item;
}

function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
