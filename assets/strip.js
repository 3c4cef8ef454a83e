/* The timeline strip: cost over the whole run, events as glyphs, the cursor. The app's spine.

   Data comes with the shell (first, now, cost [[batch, visits/tuple]…], times, events); deltas
   extend it while LIVE. A frozen strip does not move. */
(function () {
  "use strict";
  const pw = (window.planwatch = window.planwatch || {});
  const PAD = 8; // half the thumb of the range, so that its centre is on the batch
  const HEIGHT = 30;
  const NEAR = 12; // pixels within which events share a glyph
  const REDRAW_MS = 500;
  const SVG = "http://www.w3.org/2000/svg";
  /* kind: [glyph, word, rank]; the lowest rank speaks for a group. */
  const KINDS = {
    input: ["✖", "input failed or ended", 0],
    rearrangement: ["▲", "rearrangement", 2],
    knob: ["◆", "knob change", 3],
    algorithm: ["◆", "another algorithm", 3],
    query: ["⚑", "query change", 4],
    change: ["≈", "stream changed", 4],
    misfit: ["✖", "misfits", 5],
    "held back": ["○", "held back", 7],
    run: ["●", "run", 8],
  };
  const kindOf = (event) => KINDS[event.kind] || ["●", event.kind, 9];

  let parts = null;
  let cost = [];
  let range = { first: 0, last: 0 };
  let drawn = 0;
  let later = null;

  function build(strip) {
    const svg = document.createElementNS(SVG, "svg");
    svg.setAttribute("aria-hidden", "true");
    svg.innerHTML = '<polygon class="pw-area"></polygon><polyline class="pw-line"></polyline>';
    const cursor = pw.el("i", { class: "pw-strip-cursor", "aria-hidden": "true" });
    const slider = pw.el("input", { type: "range", id: "pw-scrubber", step: 1, "aria-label": "Moment in the run" });
    const lane = pw.el("div", { class: "pw-strip-lane", role: "toolbar", "aria-label": "Events of the run" });
    const track = pw.el("div", { class: "pw-strip-track" }, svg, cursor, slider, lane);
    const caption = pw.el("span", { class: "pw-strip-caption" }, "visits / tuple");
    const scale = pw.el("span", { class: "pw-strip-scale" });
    const batch = pw.el("b", { id: "pw-strip-batch" });
    const time = pw.el("span", { id: "pw-strip-time" });
    const now = pw.el("button", { type: "button", class: "pw-button", id: "pw-now", title: "Jump to now (.)" }, "now");
    now.addEventListener("click", () => pw.go({ at: null }));
    const label = pw.el("div", { class: "pw-strip-label" }, caption, scale);
    const readout = pw.el("div", { class: "pw-strip-readout" }, batch, time);
    strip.replaceChildren(pw.replayControls(), label, track, readout, now);
    parts = { strip, svg, cursor, slider, lane, track, scale, batch, time, now };
    slider.addEventListener("input", () => scrub(Number(slider.value), true));
    slider.addEventListener("change", () => scrub(Number(slider.value), false));
    slider.addEventListener("keydown", keys);
    lane.addEventListener("keydown", roam);
    new ResizeObserver(() => draw()).observe(track);
  }

  let scrubbed = 0;
  let pending = null;

  function scrub(batch, moving) {
    window.clearTimeout(pending);
    const wait = moving ? Math.max(0, scrubbed + 120 - Date.now()) : 0;
    place(batch);
    pending = window.setTimeout(() => {
      scrubbed = Date.now();
      pw.pause();
      pw.seek(batch, moving);
    }, wait);
  }

  /** Show a batch; what was frozen stays frozen. */
  pw.seek = (at, replace) => pw.go({ at, frozen: pw.moment.frozen }, replace);

  pw.stepBatch = function (way) {
    const shown = pw.shown();
    if (shown === null) return;
    pw.pause();
    pw.seek(Math.min(pw.known.now, Math.max(range.first, shown + way)));
  };

  pw.stepAdaptation = function (way) {
    const shown = pw.shown();
    const batches = ((pw.shell() || {}).plans || []).slice(1).map((plan) => plan.batch);
    const ahead = way < 0 ? batches.filter((b) => b < shown).pop() : batches.find((b) => b > shown);
    if (ahead === undefined) return pw.announce(way < 0 ? "No earlier adaptation" : "No later adaptation");
    pw.pause();
    return pw.seek(ahead);
  };

  function keys(event) {
    const way = { ArrowLeft: -1, ArrowRight: 1, ArrowDown: -1, ArrowUp: 1 }[event.key];
    if (!way) return;
    event.preventDefault();
    event.stopPropagation();
    if (event.shiftKey || event.key === "ArrowUp" || event.key === "ArrowDown") pw.stepBatch(way);
    else pw.stepAdaptation(way);
  }

  /* The lane is one stop of the tab key; arrows go from glyph to glyph. */
  function roam(event) {
    const marks = [...parts.lane.children];
    const index = marks.indexOf(document.activeElement);
    const to = { ArrowLeft: index - 1, ArrowRight: index + 1, Home: 0, End: marks.length - 1 }[event.key];
    if (to === undefined || !marks[to]) return;
    event.preventDefault();
    event.stopPropagation();
    for (const mark of marks) mark.tabIndex = -1;
    marks[to].tabIndex = 0;
    marks[to].focus();
  }

  const x = (batch) => {
    const room = parts.track.clientWidth - 2 * PAD;
    const span = Math.max(1, range.last - range.first);
    return PAD + (room * (Math.min(range.last, Math.max(range.first, batch)) - range.first)) / span;
  };

  function draw() {
    if (!parts || !parts.track.clientWidth) return;
    drawn = Date.now();
    drawCost();
    drawEvents((pw.shell() || {}).events || []);
    const empty = pw.known.now === null;
    parts.slider.disabled = empty;
    parts.slider.min = range.first;
    parts.slider.max = range.last;
    place(pw.shown());
  }

  function drawCost() {
    const width = parts.track.clientWidth;
    const top = Math.max(0.001, ...cost.map((point) => point[1]));
    const points = cost.map(([b, v]) => `${x(b).toFixed(1)},${(HEIGHT - 2 - (v / top) * (HEIGHT - 5)).toFixed(1)}`);
    pw.attr(parts.svg, "viewBox", `0 0 ${width} ${HEIGHT}`);
    const [area, line] = parts.svg.children;
    line.setAttribute("points", points.join(" "));
    const ends = cost.length ? [`${x(cost[0][0])},${HEIGHT}`, `${x(cost[cost.length - 1][0])},${HEIGHT}`] : [];
    area.setAttribute("points", cost.length ? [ends[0], ...points, ends[1]].join(" ") : "");
    pw.text(parts.scale, cost.length ? `0 … ${pw.show(top, "f2")}` : "no batches yet");
  }

  function grouped(events) {
    const groups = [];
    for (const event of events) {
      const at = x(event.b);
      const last = groups[groups.length - 1];
      if (last && at - last.x < NEAR) last.events.push(event);
      else groups.push({ x: at, events: [event] });
    }
    return groups;
  }

  function drawEvents(events) {
    const shown = pw.shown();
    const focused = parts.lane.contains(document.activeElement) ? document.activeElement.dataset.pwAt : null;
    const marks = grouped(events).map((group) => mark(group, shown));
    if (marks.length) (marks.find((node) => node.dataset.pwAt === focused) || marks[marks.length - 1]).tabIndex = 0;
    parts.lane.replaceChildren(...marks);
    if (focused) marks.filter((node) => node.dataset.pwAt === focused).forEach((node) => node.focus());
  }

  function mark(group, shown) {
    const lead = group.events.reduce((best, event) => (kindOf(event)[2] < kindOf(best)[2] ? event : best));
    const [glyph, word] = kindOf(lead);
    const more = group.events.length - 1;
    const text = `Batch ${lead.b}, ${word}: ${lead.title}${more ? ` (and ${more} more nearby)` : ""}`;
    return pw.el(
      "button",
      {
        type: "button",
        class: "pw-mark",
        style: `left:${group.x.toFixed(1)}px`,
        tabindex: -1,
        title: text,
        "aria-label": text,
        "aria-current": lead.b === shown ? "true" : null,
        "data-kind": lead.kind,
        "data-pw-at": lead.b,
      },
      glyph
    );
  }

  /* Put the cursor and the readout on a batch. */
  function place(batch) {
    if (!parts) return;
    const known = batch !== null && batch !== undefined;
    parts.cursor.hidden = !known;
    if (known) {
      parts.cursor.style.left = `${x(batch).toFixed(1)}px`;
      if (document.activeElement !== parts.slider || Number(parts.slider.value) !== batch) parts.slider.value = batch;
    }
    const time = known ? pw.timeAt(batch) : null;
    pw.text(parts.batch, known ? `batch ${pw.show(batch, "int")}` : "");
    pw.text(parts.time, time === null ? "" : `${pw.clock(time)} UTC`);
    pw.attr(parts.slider, "aria-valuetext", known ? `batch ${batch} of ${range.last}` : "no batches yet");
    parts.now.disabled = pw.moment.at === null;
  }

  pw.on("shell", (data) => {
    const strip = pw.byId("pw-strip");
    if (!strip) return;
    if (!parts || parts.strip !== strip) build(strip);
    cost = data.cost.slice();
    range = { first: data.first === null ? 0 : data.first, last: data.now === null ? 0 : data.now };
    draw();
  });

  pw.on("moment", () => parts && draw());

  /* New batches: extend while LIVE; in REPLAY only the end of the scale grows; FROZEN stands still. */
  pw.on("delta", (delta) => {
    const mode = pw.mode();
    if (mode === "frozen" || typeof delta.b !== "number" || delta.b <= range.last) return;
    for (const { b, v } of pw.pointsOf(delta)) {
      const visits = (v.system || {}).visits_per_tuple;
      if (b > range.last && typeof visits === "number") cost.push([b, visits]);
    }
    range.last = delta.b;
    if (mode === "live") place(delta.b);
    if (later === null) {
      later = window.setTimeout(() => {
        later = null;
        if (pw.mode() !== "frozen") draw();
      }, Math.max(0, drawn + REDRAW_MS - Date.now()));
    }
  });
})();
