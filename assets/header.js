/* The header: mode, run, plan version and age, staleness, counter, theme, share, help. */
(function () {
  "use strict";
  const pw = (window.planwatch = window.planwatch || {});
  const MODES = { live: "LIVE", frozen: "FROZEN", replay: "REPLAY" };
  const SAID = { live: "Live.", frozen: "Frozen. Nothing moves until you resume.", replay: "Replay of the past." };
  const STOPPED_S = 10;
  const TOAST_GAP_MS = 5000;
  let shell = null;
  let said = null;
  let lastToast = 0;
  let silent = 0;

  pw.shell = () => shell;

  /* What the server knows of the run: see dashboard/views/shell.py. */
  function receive(data) {
    if (!data) return "";
    const before = shell;
    shell = data;
    const run = data.run || {};
    const same = before && before.run && before.run.id === run.id;
    const fresh = !same || pw.known.now === null || data.now >= pw.known.now;
    pw.known.run = run.id || null;
    pw.known.state = run.state || null;
    if (!same) beat = null;
    if (before && !before.run && data.run) pw.layOutAgain();
    if (fresh) Object.assign(pw.known, { now: data.now, time: data.time });
    if (same && pw.mode() === "live") announcePlan(before.plans, data.plans);
    draw();
    pw.emit("shell", data);
    return run.id || "";
  }
  window.dash_clientside = window.dash_clientside || {};
  window.dash_clientside.planwatch = Object.assign(window.dash_clientside.planwatch || {}, { receive });

  /* "Plan 7 — dep_delay before origin · why?", at most one toast in five seconds, then a count. */
  function announcePlan(before, now) {
    const newest = now[now.length - 1];
    const last = before[before.length - 1];
    if (!newest || !last || newest.version <= last.version) return;
    if (Date.now() - lastToast < TOAST_GAP_MS) {
      silent += 1;
      return;
    }
    const more = silent ? ` (and ${silent} more since)` : "";
    silent = 0;
    lastToast = Date.now();
    const link = { text: "why?", path: "/decisions", at: newest.batch };
    pw.toast(`Plan ${newest.version} — ${planChange(last, newest)}${more}`, link, "switch");
    pw.announce(`Plan ${newest.version}: ${planChange(last, newest)}`);
  }

  function planChange(last, newest) {
    if (last.kind !== newest.kind) return newest.kind;
    const at = newest.order.findIndex((name, i) => name !== last.order[i]);
    if (at < 0) return "same order";
    if (newest.order.length !== last.order.length) return `${newest.order.length} constructs`;
    return `${newest.order[at]} before ${last.order[at]}`;
  }

  /** The plan in force at a batch, or null. */
  pw.planAt = function (batch) {
    const plans = (shell && shell.plans) || [];
    let found = null;
    for (const plan of plans) if (batch === null || plan.batch <= batch) found = plan;
    return found;
  };

  function draw() {
    const mode = pw.mode();
    const page = pw.byId("pw-shell");
    if (!page || !shell) return;
    pw.attr(page, "data-mode", mode);
    pw.text("pw-mode-word", shell.run ? MODES[mode] : "NO RUN");
    pw.attr(pw.byId("pw-mode"), "data-mode", shell.run ? mode : "none");
    drawState();
    drawRuns();
    drawPlan();
    drawSince(mode);
    drawNav();
    if (said !== mode && shell.run) {
      if (said !== null) pw.announce(SAID[mode]);
      said = mode;
    }
    document.title = [pageTitle(), shell.run && shell.run.id, shell.run && MODES[mode], "Planwatch"].filter(Boolean).join(" · ");
    drawAge();
  }

  const pageTitle = () => {
    const link = document.querySelector(`.pw-nav-link[data-pw-path="${CSS.escape(pw.moment.path)}"] .pw-nav-label`);
    return link ? link.textContent : "";
  };

  function drawState() {
    const node = pw.byId("pw-run-state");
    const state = pw.known.state || "";
    pw.text(node, state);
    pw.attr(node, "data-state", state);
    const run = shell.run || {};
    pw.text("pw-stream", run.id ? `${run.workload} / ${run.stream}` : "");
  }

  function drawRuns() {
    const slot = pw.byId("pw-run-slot");
    if (!slot) return;
    if (!slot.firstChild) slot.append(pw.el("select", { id: "pw-run", class: "pw-input", "aria-label": "Run" }));
    const picker = slot.firstChild;
    const key = shell.runs.map((run) => run.id + run.state).join();
    if (picker.dataset.key !== key) {
      picker.dataset.key = key;
      picker.replaceChildren(...shell.runs.map((run) => pw.el("option", { value: run.id }, `${run.state === "running" ? "● " : ""}${run.label}`)));
      picker.disabled = shell.runs.length === 0;
    }
    if (shell.run && picker.value !== shell.run.id) picker.value = shell.run.id;
  }

  function drawPlan() {
    const plan = pw.planAt(pw.shown());
    pw.text("pw-plan", plan ? `Plan ${plan.version}` : "No plan yet");
    const running = pw.mode() === "live";
    const until = running ? Date.now() / 1000 : timeAt(pw.shown());
    pw.text("pw-plan-age", plan && until !== null ? `· ${pw.age(until - plan.time)} old` : "");
  }

  function timeAt(batch) {
    if (batch === null || !shell || !shell.times.length) return null;
    const after = shell.times.findIndex(([b]) => b > batch);
    if (after < 0) return shell.times[shell.times.length - 1][1];
    if (after === 0) return shell.times[0][1];
    const [[b0, t0], [b1, t1]] = [shell.times[after - 1], shell.times[after]];
    return t0 + ((t1 - t0) * (batch - b0)) / (b1 - b0);
  }
  pw.timeAt = timeAt;

  function drawSince(mode) {
    const band = pw.byId("pw-since");
    if (!band) return;
    const behind = pw.known.now !== null && pw.moment.at !== null ? Math.max(0, pw.known.now - pw.moment.at) : 0;
    const shown = mode === "frozen" || (mode === "replay" && pw.running());
    band.hidden = !shown;
    pw.text("pw-since-text", `batch ${pw.shown() ?? "—"} · ${behind} ${behind === 1 ? "batch" : "batches"} since`);
  }

  function drawNav() {
    for (const link of document.querySelectorAll(".pw-nav-link")) {
      const path = link.dataset.pwPath;
      const here = path === pw.moment.path;
      if (here) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
      link.hidden = !here && !shell.pages.includes(path);
      pw.attr(link, "href", path + window.location.search);
    }
  }

  const since = (time) => (typeof time === "number" ? Date.now() / 1000 - time : null);
  let beat = null; // last sign of life of the engine, asked for only when its records stay away
  let asked = 0;

  async function askForLife(run) {
    if (Date.now() - asked < (STOPPED_S / 2) * 1000) return;
    asked = Date.now();
    const answer = await pw.api("GET", "/runs/" + encodeURIComponent(run));
    if (!answer.ok) return;
    beat = answer.body.heartbeat_at;
    if (answer.body.state !== pw.known.state) pw.refresh(true);
  }

  /* Once a second and at every delta: how old the newest record is. */
  function drawAge() {
    const node = pw.byId("pw-age");
    if (!node || !shell) return;
    const age = since(pw.known.time);
    const period = Math.max(0.2, shell.period_s || 1);
    const late = pw.running() && age !== null && age > Math.max(STOPPED_S, 10 * period);
    if (late) askForLife(shell.run.id);
    const idle = late && beat !== null && since(beat) < STOPPED_S;
    const words = age === null ? "no data yet" : `data ${pw.age(age)} old`;
    const ended = shell.run && !pw.running() ? `${pw.known.state} ${pw.age(age)} ago` : words;
    const sign = idle ? "idle · " : late ? "ENGINE STOPPED · " : "";
    pw.text(node, sign + ended);
    pw.attr(node, "data-level", staleness(age, period, idle));
    drawPlan();
  }

  function staleness(age, period, idle) {
    if (age === null || !pw.running()) return "quiet";
    if (age > 10 * period && !idle) return "red";
    return age > 3 * period ? "amber" : "ok";
  }

  pw.on("moment", ({ turned }) => {
    draw();
    if (turned) pw.announce(pageTitle());
  });
  pw.on("delta", (delta) => {
    pw.known.state = delta.st || pw.known.state;
    if (pw.mode() === "frozen" || pw.mode() === "replay") drawSince(pw.mode());
    drawAge();
  });
  pw.drawHeader = draw;
  window.setInterval(drawAge, 1000);

  document.addEventListener("change", (event) => {
    if (event.target.id === "pw-run") pw.go({ run: event.target.value });
  });
})();
