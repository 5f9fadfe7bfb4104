// Requests to the program that opened the page. The page talks to nothing else.

/** An error: a sentence for the person, and what to do about it. */
export class Trouble extends Error {
  /** @param {string} sentence @param {string | null} hint @param {number} status 0 when nothing answered
   * @param {string[]} ways remedies to offer
   * @param {{name: string, visits: number}[]} users of a file that has several */
  constructor(sentence, hint, status, ways = [], users = []) {
    super(sentence);
    this.users = users;
    this.ways = ways;
    this.hint = hint;
    this.status = status;
  }
}

const LOST = "The program behind this page does not answer.";
const LOST_HINT =
  "It may have stopped. Run “elsewhere app” again in a terminal. It opens a new page, and you can close this one.";
// A script of another site cannot send this header without a preflight request, which is refused.
const OURS = { "X-Elsewhere": "1" };

/** @param {string} path @returns {Promise<any>} */
export async function get(path) {
  return contentOf(await send(path, { headers: OURS }));
}

/** What is answered. @param {string} path @param {any} content @param {AbortSignal} [signal]
 * @param {"json" | "text" | "blob"} [as] @returns {Promise<any>} */
export async function postFor(path, content, signal, as) {
  return contentOf(await post(path, content, signal), signal, as);
}

/** @param {string} path @param {any} content @param {AbortSignal} [signal] @returns {Promise<Response>} */
export function post(path, content, signal) {
  const headers = { ...OURS, "Content-Type": "application/json" };
  return send(path, { method: "POST", headers, body: JSON.stringify(content), signal });
}

/** @param {string} path */
export function remove(path) {
  return send(path, { method: "DELETE", headers: OURS });
}

/** @param {string} path @param {RequestInit} request */
async function send(path, request) {
  let response;
  try {
    response = await fetch(`api/${path}`, request);
  } catch (error) {
    if (request.signal?.aborted) throw error;
    throw new Trouble(LOST, LOST_HINT, 0);
  }
  if (response.ok) return response;
  const text = await response.text().catch((error) => {
    if (request.signal?.aborted) throw error;
    return "";
  });
  throw refusal(response.status, text);
}

/** @param {Response} response @param {AbortSignal} [signal] @param {"json" | "text" | "blob"} [as] */
async function contentOf(response, signal, as = "json") {
  try {
    return await response[as]();
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Trouble(LOST, LOST_HINT, 0); // the connection broke in the middle of the answer
  }
}

/** @param {number} status @param {string} text */
function refusal(status, text) {
  try {
    const { error, hint, ways } = JSON.parse(text);
    return new Trouble(error, hint ?? null, status, ways);
  } catch {
    return new Trouble(`The program answered with an error (${status}).`, null, status);
  }
}

/**
 * Reads an answer line by line, as it arrives. @param {Response} response @param {(line: any) => void} onLine
 */
export async function eachLine(response, onLine) {
  let text = "";
  try {
    const chunks = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let chunk = await chunks.read(); !chunk.done; chunk = await chunks.read()) {
      const lines = (text + chunk.value).split("\n");
      text = lines.pop() ?? "";
      for (const line of lines.map((line) => JSON.parse(line))) {
        if (line.error) throw new Trouble(line.error, line.hint ?? null, 422, line.ways);
        onLine(line);
      }
    }
  } catch (error) {
    if (error instanceof TypeError) throw new Trouble(LOST, LOST_HINT, 0); // the connection broke
    throw error;
  }
}

/**
 * Sends bytes (or nothing) and reads an answer of one JSON object, or of lines with progress whose last is the answer.
 * fetch does not report the progress of an upload, so this is an XMLHttpRequest.
 * @param {string} path @param {Blob | null} bytes
 * @param {(part: "sent" | "read", share: number) => void} onProgress @param {AbortSignal} [signal]
 * @returns {Promise<any>}
 */
export function upload(path, bytes, onProgress, signal) {
  const request = new XMLHttpRequest();
  request.open("POST", `api/${path}`);
  request.setRequestHeader("X-Elsewhere", "1");
  request.setRequestHeader("Content-Type", bytes ? "application/octet-stream" : "application/json");
  request.upload.onprogress = ({ loaded, total }) => onProgress("sent", total ? loaded / total : 1);
  request.onprogress = () => {
    // An incomplete line is left for later.
    const whole = request.responseText.slice(0, request.responseText.lastIndexOf("\n") + 1);
    const share = lastLine(whole)?.progress;
    if (share !== undefined) onProgress("read", share);
  };
  signal?.addEventListener("abort", () => request.abort());
  return new Promise((resolve, reject) => {
    if (signal?.aborted) throw signal.reason;
    request.onabort = () => reject(new DOMException("stopped", "AbortError"));
    request.onerror = () => reject(new Trouble(LOST, LOST_HINT, 0));
    request.onload = () => {
      const answer = lastLine(request.responseText);
      if (request.status >= 400) reject(refusal(request.status, request.responseText));
      else if (!answer || answer.progress !== undefined) reject(new Trouble(LOST, LOST_HINT, 0));
      else if (answer.error) reject(new Trouble(answer.error, answer.hint ?? null, 422, answer.ways, answer.users));
      else resolve(answer.history ?? answer);
    };
    request.send(bytes);
  });
}

/** The content of the last line; undefined if there is none, or if it is not whole. @param {string} text */
function lastLine(text) {
  try {
    return JSON.parse(text.trimEnd().split("\n").at(-1) ?? "");
  } catch {
    return undefined;
  }
}

/** A call that has taken this many milliseconds is aborted for a newer one; a quicker call may finish. */
const PATIENCE = 250;

/**
 * Makes one call at a time. Of the calls that arrive meanwhile, only the newest is made. A call that only `refines` the
 * current picture is aborted at once.
 * @template {{refines?: boolean}} Q @param {(question: Q, signal: AbortSignal) => Promise<void>} run
 * @returns {{ask: (question: Q) => Promise<void>, drop: () => void}} drop: no answer is needed any more
 */
export function newestOnly(run) {
  /** @type {{question: Q} | null} */
  let waiting = null;
  /** @type {AbortController | null} */
  let running = null;
  /** @type {Q | null} */
  let current = null;
  let since = 0;

  const ask = async (question) => {
    waiting = { question };
    if (running) {
      if (current?.refines || performance.now() - since > PATIENCE) running.abort();
      return;
    }
    while (waiting) {
      current = waiting.question;
      waiting = null;
      running = new AbortController();
      since = performance.now();
      try {
        await run(current, running.signal);
      } catch (error) {
        if (!running.signal.aborted) throw error;
      } finally {
        running = null;
      }
    }
  };
  const drop = () => {
    waiting = null;
    running?.abort();
  };
  return { ask, drop };
}
