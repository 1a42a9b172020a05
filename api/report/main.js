export function start(document) { document.body.append("report"); }
