// Rehearsal: runs the code of a selection while the page is idle. A browser compiles code only after
// some runs, and some tables are computed on first use; the first selection would wait for both.

import { whenIdle } from "report/dom.js";

const SLICE_MS = 4, OBJECTS = 3000, STATES = 300;

/** @param {import("report/data.js").Data} data */
export function rehearse(data) {
  const steps = stepsOf(data);
  const slice = () => {
    const end = performance.now() + SLICE_MS;
    let isDone = false;
    do isDone = steps.next().done === true; while (!isDone && performance.now() < end);
    if (!isDone) whenIdle(slice);
  };
  whenIdle(slice);
}

/** @param {import("report/data.js").Data} data */
function* stepsOf(data) {
  const last = data.rows - 1;
  yield data.hasSharedNames;
  if (data.objects) yield data.partitionsOf(0);
  const pieces = 16;
  for (let i = 0; i < pieces; i++) yield data.touchedIn(Math.floor((last * i) / pieces), Math.floor((last * (i + 1)) / pieces));
  const step = Math.max(1, Math.floor(data.objects / OBJECTS));
  for (let i = 0; i < data.objects; i += step) yield data.countDifferences(i, last >> 1, last);
  for (let i = 0; i < data.objects; i += step * (OBJECTS / STATES)) yield data.differenceOf(i, 0, last);
}
