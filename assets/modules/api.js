/* The one way pages change anything: fetch() to /api/v1 with the page's CSRF token. */
import { emit } from "./core.js";
import { addressOf } from "./home.js";
import { refresh } from "./moment.js";

function token() {
  const meta = document.querySelector("meta[name=csrf-token]");
  return meta ? meta.content : "";
}

const NAME = "planwatch-name";
const LONGEST = 40; // as the server takes them

/** The name that who uses this browser gave, ''. */
export const ownName = () => (window.localStorage.getItem(NAME) || "").slice(0, LONGEST);

/** @param {string} name */
export function keepName(name) {
  window.localStorage.setItem(NAME, name.trim());
  emit("name");
}

function ask(method, path, body) {
  const headers = { Accept: "application/json" };
  if (method !== "GET") headers["X-CSRF-Token"] = token();
  if (method !== "GET" && ownName()) headers["X-Planwatch-Name"] = encodeURIComponent(ownName());
  if (body !== undefined) headers["Content-Type"] = "application/json";
  return fetch(addressOf("/api/v1" + path), { method, headers, credentials: "same-origin", body: body === undefined ? undefined : JSON.stringify(body) });
}

const read = (text) => (text ? JSON.parse(text) : {});
const SILENT = { ok: false, status: 0, body: { message: "The dashboard does not answer; nothing was changed." } };

/** {ok, status, body}; a network failure is status 0 with a sentence in body.message. */
export async function callApi(method, path, body) {
  try {
    const answer = await ask(method, path, body);
    return { ok: answer.ok, status: answer.status, body: read(await answer.text()) };
  } catch {
    return SILENT;
  }
}

/** As callApi, but the body of a good answer is the file it is, a Blob. */
export async function callForFile(path, body) {
  try {
    const answer = await ask("POST", path, body);
    return { ok: answer.ok, status: answer.status, body: answer.ok ? await answer.blob() : read(await answer.text()) };
  } catch {
    return SILENT;
  }
}

/** The sentence of an error answer. */
export function apiError(answer) {
  const body = answer.body || {};
  const error = body.error || body;
  return error.message || error.detail || `The server answered ${answer.status}.`;
}

const WAIT_MS = 400;
const SOON_MS = 10000; // afterwards it looks less often: a batch may take minutes

/** Follow a command until the engine answered it, or it is gone with its run; onChange(command) once. */
export function followCommand(run, id, onChange) {
  const begun = performance.now();
  async function look() {
    const answer = await callApi("GET", `/runs/${encodeURIComponent(run)}/commands/${id}`);
    if (answer.ok && answer.body.state !== "requested") {
      onChange(answer.body);
      refresh(true);
    } else if (answer.status !== 404) window.setTimeout(look, performance.now() - begun < SOON_MS ? WAIT_MS : 5 * WAIT_MS);
  }
  window.setTimeout(look, WAIT_MS / 2);
}
