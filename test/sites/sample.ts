import type { Site } from "../../src/sites/site.ts";

/** A site that is followed, without limits to keys. */
export function sampleSite(changes: Partial<Site> = {}): Site {
  return {
    id: "s",
    name: "home",
    url: "http://192.0.2.1",
    token: "t",
    ca: "",
    pin: "",
    mode: "follow",
    include: [],
    exclude: [],
    overrides: {},
    paused: false,
    restoring: 0,
    upstream: false,
    created: 0,
    ...changes,
  };
}
