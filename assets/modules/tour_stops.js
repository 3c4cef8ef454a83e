/* The stops of the guided demo: where to go, what to look at, what to say, and a turn to make there.
   turn: {knob, times} multiplies what the knob is, {knob, value} sets it, {knob, back: true} makes it what it
   was before; hold: so many seconds later the engine takes it back by itself. freeze: time stands still on the
   page; show: what the page is to list. A stop is left out of runs that do not have its page (own), or the
   knob it needs, or have the knob that makes another stop say more (unless). kills: the stop gives the
   commands that kill the engine and resume the run, of a demo on this machine. */

export const STOPS = [
  {
    path: "/plan",
    needs: "profile_prob",
    look: "#pw-plan-graph, .pw-plan-graph, .pw-graph",
    title: "The plan is an order",
    words: "Every tuple goes from left to right and leaves at the first place that refutes it for every query. A good order drops most tuples early: watch how the band thins.",
  },
  {
    path: "/plan",
    unless: "profile_prob",
    look: "#pw-plan-graph, .pw-plan-graph, .pw-graph",
    title: "The plan is a map",
    words: "Streams come in at the left, answers leave at the right. What several queries have in common is done once: the thicker a line, the more of them it serves. Click a card to see what it costs.",
  },
  {
    path: "/plan",
    look: ".pw-strip-track",
    title: "The stream changes, the plan follows",
    words: "The line is work per tuple over the whole run. It jumps when the data change; each ▲ is a change of plan, and the line falls again. Circles are changes that were considered and not made.",
    freeze: "Freeze the page",
  },
  {
    path: "/decisions",
    show: "switched",
    look: "#pw-decision-box, #pw-decisions-box",
    title: "Why the plan changed",
    words: "A change is an inequality that held: both sides, the threshold, how many tuples it was measured on. Below it: what the old order would have cost on the very same tuples.",
  },
  {
    path: "/matrix",
    needs: "mu",
    look: "#pw-selectivity-box, .pw-panel",
    title: "What the order is made from",
    words: "Rows are the steps in their order, columns the queries: the share of tuples a step leaves in question, given the steps before it. Dark is good. That matrix is measured on sampled tuples.",
  },
  {
    path: "/knobs",
    needs: "mu",
    look: "[data-knob='mu'], .pw-knob",
    title: "Turn the threshold while it runs",
    words: "μ says how much the work must move before a new order is looked for. Ten times as high, and the plan stays the same while the stream keeps changing. Where the autopilot decides, the turn takes over from it.",
    turn: { knob: "mu", times: 10, label: "Turn μ up tenfold" },
  },
  {
    path: "/timeline",
    needs: "mu",
    look: "#pw-timeline-box, .pw-panel",
    title: "What standing still costs",
    words: "Wait for the next change of the stream: the work per tuple rises and stays up, since nothing follows. Then take the turn back, and watch it fall.",
    turn: { knob: "mu", back: true, label: "Turn μ back" },
  },
  {
    path: "/knobs",
    needs: "profile_prob",
    look: "#pw-audit-box",
    title: "Every turn is judged",
    words: "The log says who turned what, from which batch on, and, after enough tuples, what it did: visits per tuple before and after on the same tuples, with an interval. Sample more, and it knows sooner.",
    turn: { knob: "profile_prob", times: 2, label: "Sample twice as many" },
  },
  {
    path: "/memory",
    own: true,
    needs: "pool_bytes",
    look: "#pw-market-box, .pw-panel",
    title: "What memory is worth",
    words: "Caches bid for a pool of memory: what each would save for every KiB. The pool goes to the highest bids; what lies beyond its edge has to do without. Take three quarters away, and see who loses. After half a minute it is given back.",
    turn: { knob: "pool_bytes", times: 0.25, hold: 30, label: "Leave a quarter of the memory" },
  },
  {
    path: "/constraints",
    own: true,
    look: "#pw-k-ledger-box, .pw-panel",
    title: "What need not be kept",
    words: "A tuple waits for its partner, k arrivals at most, as the stream has shown; then it is let go. Dots are distances seen, red ones were above k. Drag k below, and see what it would lose.",
  },
  {
    path: "/plan",
    needs: "speed",
    look: ".pw-strip-track, .pw-plan-graph",
    title: "Do harm: a burst",
    words: "Ten times as many tuples a second, for twenty seconds. Watch what waits, whether the plan holds, and how long it takes until all is worked off. Nothing is lost.",
    turn: { knob: "speed", times: 10, hold: 20, label: "Let it pour for 20 s" },
  },
  {
    path: "/",
    needs: "intake",
    look: "#pw-inputs-box, .pw-panel",
    title: "Do harm: silence a stream",
    words: "The first stream is passed over for twenty seconds. Queries that read it alone stand still, time goes on for the others, and the story will say so. Then it is back.",
    turn: { knob: "intake", value: "paused", hold: 20, label: "Silence it for 20 s" },
  },
  {
    path: "/",
    kills: true,
    look: "#pw-run-state",
    title: "Do harm: kill the engine",
    words: "No button does this: copy the command into a terminal. The header says within seconds that the engine is gone, the story has its end. Then resume it, and see the gap, and whether a tuple was lost.",
  },
  {
    path: "/postmortem",
    look: "#pw-story-box, .pw-panel",
    title: "The story writes itself",
    words: "What happened, from the records alone, your turns among it; each sentence leads to its record. The whole is one file that opens anywhere. Leave the tour here, and explore.",
  },
];
