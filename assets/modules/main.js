/* The page's one entry: every module, what Dash may call in them, and then Dash itself.

   Scripts of systems stand with their panels (dashboard/systems); the bundle has them imported here,
   and each adds its components to those of dash.js by itself.

   The renderer is started here and not by Dash's own inline script: whatever its first callbacks
   look up is then known, however long the modules took to load. */
import "./actions.js";
import "./at_rest.js";
import "./behind.js";
import { on } from "./core.js";
import { Chart } from "./chart.js";
import { components } from "./dash.js";
import "./glossary.js";
import { receive } from "./header.js";
import { GainCurve, Rolling } from "./headline.js";
import { HistoryChart } from "./history_chart.js";
import "./if_not.js";
import { Icon } from "./icon.js";
import "./figure_range.js";
import "./keys.js";
import { KnobCard } from "./knob_card.js";
import { latencies } from "./live.js";
import { fromLocation, go, known, shownBatch } from "./moment.js";
import { AlertForm } from "./page_alerts.js";
import { BranchForm, CompareForm } from "./page_compare.js";
import { decisionsFilter, decisionsShow } from "./page_decisions.js";
import { panelKeys } from "./page_keys.js";
import "./page_monitor.js";
import { AxisPair } from "./page_planlog.js";
import "./page_results.js";
import "./pace.js";
import "./present.js";
import "./opening.js";
import "./page_market.js";
import "./page_sql.js";
import "./page_tap.js";
import { DecisionList, RowTable } from "./page_table.js";
import "./page_timeline.js";
import { PlanGraph } from "./plan_graph.js";
import "./saving.js";
import { Segments } from "./segments.js";
import "./stamps.js";
import "./streams.js";
import { Static } from "./static.js";
import "./strip.js";
import "./terms.js";
import "./tour.js";
import "./twins.js";

Object.assign(components, {
  ...{ AlertForm, AxisPair, BranchForm, CompareForm },
  ...{ Chart, DecisionList, GainCurve, HistoryChart, Icon, KnobCard, PlanGraph, Rolling, RowTable },
  ...{ Segments, Static },
});
window.dash_clientside.planwatch = {
  ...{ decisionsFilter, decisionsShow, fromLocation, panelKeys, receive },
};

/* What the console, the browser tests and bench/live.py drive a page with. */
Object.assign(window.planwatch, { go, known, latencies, on, shown: shownBatch });

new window.DashRenderer();
