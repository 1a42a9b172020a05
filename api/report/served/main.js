// The served page: what is known is drawn at once, by few modules; all others are loaded meanwhile.

import { AskedSummary } from "served/asked_summary.js";
import { FirstColumns } from "served/first_columns.js";
import { Service } from "served/service.js";

const service = new Service(), first = new FirstColumns(service, new AskedSummary(service));
const loading = first.load(), modules = import("served/served_page.js");
const data = await loading, { Served } = await modules;
await new Served(first).show(data);
