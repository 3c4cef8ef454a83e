/* The one way pages change anything: fetch() to /api/v1 with the page's CSRF token. */
import { refresh } from "./moment.js";

function token() {
  const meta = document.querySelector("meta[name=csrf-token]");
  return meta ? meta.content : "";
}

/** {ok, status, body}; a network failure is status 0 with a sentence in body.message. */
export async function callApi(method, path, body) {
  const headers = { Accept: "application/json" };
  if (method !== "GET") headers["X-CSRF-Token"] = token();
  if (body !== undefined) headers["Content-Type"] = "application/json";
  try {
    const answer = await fetch("/api/v1" + path, {
      method,
      headers,
      credentials: "same-origin",
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await answer.text();
    return { ok: answer.ok, status: answer.status, body: text ? JSON.parse(text) : {} };
  } catch {
    return { ok: false, status: 0, body: { message: "The dashboard does not answer; nothing was changed." } };
  }
}

/** The sentence of an error answer. */
export function apiError(answer) {
  const body = answer.body || {};
  const error = body.error || body;
  return error.message || error.detail || `The server answered ${answer.status}.`;
}

const WAIT_MS = 400;
const PATIENCE_MS = 120000;

/** Follow a command until the engine answered it; onChange(command) once. Returns a stop function. */
export function followCommand(run, id, onChange) {
  const begun = Date.now();
  let timer = null;
  let over = false;
  async function look() {
    const answer = await callApi("GET", `/runs/${encodeURIComponent(run)}/commands/${id}`);
    if (over) return;
    if (answer.ok && answer.body.state !== "requested") {
      over = true;
      onChange(answer.body);
      refresh(true);
      return;
    }
    const waited = Date.now() - begun;
    if (waited < PATIENCE_MS) timer = window.setTimeout(look, waited < 10000 ? WAIT_MS : 5 * WAIT_MS);
  }
  timer = window.setTimeout(look, WAIT_MS / 2);
  return () => {
    over = true;
    window.clearTimeout(timer);
  };
}
