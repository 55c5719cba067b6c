import type { Message } from "../en.ts";

/** English texts of the page Drivers. */
export const driversTexts = {
  "driver.noCache": "listings are not cached",
  "driver.noUpload": "no upload",
  "driver.onlyIndices": "index only",
  "driver.onlyLocal": "served locally only",
  "driver.onlyProxy": "downloads pass through the site",
  "driver.preferProxy": "passes through the site by default",

  "drivers.all": "All drivers",
  "drivers.copyJson": "Copy JSON",
  "drivers.count": { one: "1 driver", other: "{count} drivers" },
  "drivers.fits": "The service accepts this configuration.",
  "drivers.gone": "There is no driver {name}.",
  "drivers.items": { one: "1 item", other: "{count} items" },
  "drivers.none": "No driver matches.",
  "drivers.result": "Configuration",
  "drivers.schema": "JSON Schema",
  "drivers.search": "Search drivers",
  "drivers.searchIn": "Search names, items, help",
  "drivers.unknown": "This driver has no items called {names}; they were skipped.",
  "drivers.wrong": {
    one: "1 item is missing or wrong:",
    other: "{count} items are missing or wrong:",
  },

  "paste.label": "JSON: the values, or a storage of an AList or OpenList site",
  "paste.noAddition": "“addition” is not a JSON object as text.",
  "paste.noObject": "This is not a JSON object.",
  "paste.open": "Paste a configuration",
  "paste.other": "This is a configuration of the driver {driver}.",
  "paste.take": "Use it",
} as const satisfies Readonly<Record<string, Message>>;
