/* Play and pause: in REPLAY the cursor runs through the recorded times at 1 to 100 times the speed. */
(function () {
  "use strict";
  const pw = (window.planwatch = window.planwatch || {});
  const SPEEDS = [1, 2, 5, 10, 25, 50, 100];
  const STEP_MS = 500; // one page refresh at a time
  let timer = null;
  let clock = null; // recorded time the cursor has reached
  let button = null;
  let speed = null;

  pw.replayControls = function () {
    button = pw.el("button", { type: "button", class: "pw-button pw-play", id: "pw-play" });
    button.addEventListener("click", () => pw.playOrFreeze());
    const options = SPEEDS.map((value) => pw.el("option", { value }, `${value}×`));
    speed = pw.el("select", { class: "pw-input pw-speed", id: "pw-speed", "aria-label": "Replay speed" }, options);
    speed.value = "10";
    draw();
    return pw.el("div", { class: "pw-strip-controls" }, button, speed);
  };

  /** What space does: freeze or resume a running run, play or pause a replay. */
  pw.playOrFreeze = function () {
    const mode = pw.mode();
    if (mode === "replay") return timer === null ? play() : pw.pause();
    return pw.toggleFreeze();
  };

  pw.pause = function () {
    window.clearInterval(timer);
    timer = null;
    draw();
  };

  function play() {
    if (pw.known.now === null) return;
    const data = pw.shell();
    const ended = pw.shown() >= pw.known.now;
    if (ended) pw.go({ at: data.first });
    clock = pw.timeAt(ended ? data.first : pw.shown());
    timer = window.setInterval(step, STEP_MS);
    draw();
  }

  function step() {
    const data = pw.shell();
    if (!data || pw.mode() !== "replay") return pw.pause();
    clock += (STEP_MS / 1000) * Number(speed.value);
    const next = batchAt(data.times, clock);
    if (next > pw.shown()) pw.go({ at: Math.min(next, pw.known.now) }, true);
    return next >= pw.known.now ? pw.pause() : undefined;
  }

  /* The batch at a recorded time: between two known ones in proportion. */
  function batchAt(times, time) {
    const after = times.findIndex(([, t]) => t > time);
    if (after < 0) return pw.known.now;
    if (after === 0) return times[0][0];
    const [b0, t0] = times[after - 1];
    const [b1, t1] = times[after];
    return Math.floor(b0 + ((b1 - b0) * (time - t0)) / Math.max(1e-9, t1 - t0));
  }

  function draw() {
    if (!button) return;
    const mode = pw.mode();
    const playing = timer !== null;
    const looks = {
      live: ["pause", "Freeze (space)"],
      frozen: ["play", "Resume (space)"],
      replay: playing ? ["pause", "Pause (space)"] : ["play", "Play (space)"],
    };
    const [sign, label] = looks[mode];
    pw.attr(button, "data-sign", sign);
    pw.attr(button, "aria-label", label);
    pw.attr(button, "title", label);
    pw.attr(button, "data-playing", playing ? "1" : "0");
    speed.disabled = mode !== "replay";
  }

  pw.on("moment", draw);
  pw.on("shell", draw);
})();
