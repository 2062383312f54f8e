// Speaks to the server. Every failure becomes an Error whose message can be shown as it is.

export class ServerError extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

let key = ""; // Kept in memory only: gone when the page is.

export function useKey(given) {
  key = given.trim();
}

export const about = () => ask("v1/about");
export const example = () => ask("page/example.json");

/** What `path` answers: to a POST of `body` as JSON, or to a GET where there is none. */
export async function ask(path, { body, limit, signal } = {}) {
  const headers = key ? { Authorization: `Bearer ${key}` } : {};
  const options = { headers, signal, cache: "no-store" };
  if (body !== undefined) {
    options.method = "POST";
    options.body = JSON.stringify(body);
    headers["Content-Type"] = "application/json";
    const bytes = new Blob([options.body]).size;
    if (limit && bytes > limit) {
      throw new ServerError(`This server takes ${limit} bytes a request; the documents come to ${bytes}.`, 413);
    }
  }
  const response = await reached(path, options);
  const answer = await response.json().catch(() => null);
  if (!response.ok) throw new ServerError(refusal(response, answer), response.status);
  if (answer === null) throw new ServerError("The server's answer is not JSON.", response.status);
  return answer;
}

async function reached(path, options) {
  try {
    return await fetch(path, options);
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw new ServerError("The server cannot be reached. Is it still running?", 0);
  }
}

function refusal(response, answer) {
  const message = typeof answer?.message === "string" ? answer.message : `status ${response.status}`;
  const wait = Number(response.headers.get("Retry-After"));
  const later = wait > 0 ? ` (wait ${wait} s)` : "";
  return `The server says: ${message}${later}`;
}
