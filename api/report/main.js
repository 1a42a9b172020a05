// The page of a report: shows the data in its file.

import { bytesOf } from "report/columns.js";
import { openData } from "report/data.js";
import { Page } from "report/page.js";

/** @param {Document} document */
export async function start(document) {
  const text = (/** @type {string} */ id) => document.getElementById(id)?.textContent ?? "";
  const data = await openData(bytesOf(text("columns")));
  document.getElementById("columns")?.remove();
  const page = new Page(data, JSON.parse(text("command")), null);
  page.show(document);
  performance.mark("report-shown");
}
