// Names of the levels of metadata.version, as `records/metadata_versions.py` counts them.

/** @type {[string, number][]} */
const LEVELS_OF_RELEASES = [
  ["3.1", 1], ["3.2", 1], ["3.3", 4], ["3.4", 1], ["3.5", 3], ["3.6", 3], ["3.7", 5],
  ["3.8", 1], ["3.9", 1], ["4.0", 4], ["4.1", 2], ["4.2", 2], ["4.3", 1], ["4.4", 3], ["4.5", 1],
];

/** The names, from level 1 on. */
export const LEVEL_NAMES = ["3.0-IV1", ...LEVELS_OF_RELEASES.flatMap(([release, count]) => Array.from({ length: count }, (_, i) => `${release}-IV${i}`))];
