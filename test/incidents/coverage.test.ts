import { expect, test } from "vitest";
import { type Coverage, coverageText } from "../../src/incidents/coverage.ts";

const AT = Date.UTC(2026, 10, 26, 15, 10);
const mount = (path: string, listedAt = 0, isFailing = false) => ({
  site: "home",
  path,
  listedAt,
  isFailing,
});
const text = (coverage: Partial<Coverage>): string =>
  coverageText({ mounts: [], unread: [], interval: 3_600_000, ...coverage }).join(" ");

test.each<[string, Partial<Coverage>, string]>([
  ["without mounts", {}, "There are no open incidents. No site has a mount."],
  [
    "with all mounts listed: the oldest listing counts",
    { mounts: [mount("/a", AT + 60_000), mount("/b", AT)] },
    "There are no open incidents. Mounts that were listed at their providers: 2 of 2, the first at 2026-11-26 15:10 UTC.",
  ],
  [
    "with some mounts not listed",
    { mounts: [mount("/a", AT), mount("/b")] },
    'There are no open incidents. Mounts that were not listed at their providers since they were changed, so that it is unknown whether they work (1 of 2): home /b. Mounts that were listed at their providers: 1 of 2, the first at 2026-11-26 15:10 UTC. To list them now: "mooring mount test --all".',
  ],
  [
    "without probes",
    { mounts: [mount("/b")], interval: 0 },
    'There are no open incidents. Mounts that were not listed at their providers since they were changed, so that it is unknown whether they work (1 of 1): home /b. Mooring lists none by itself (MOORING_PROBE_INTERVAL=0s): "mooring mount test --all" lists them now.',
  ],
  [
    "with a mount that fails without an incident",
    { mounts: [mount("/a", AT, true)] },
    "There are no open incidents. Mounts that do not work (1): home /a. Mounts that were listed at their providers: 1 of 1, the first at 2026-11-26 15:10 UTC.",
  ],
  [
    "with sites that are not read",
    {
      unread: [
        { site: "pier", cause: "connection refused", readAt: AT },
        { site: "quay", cause: "", readAt: 0 },
      ],
    },
    "There are no open incidents. No site has a mount. pier is not read (connection refused); last time: 2026-11-26 15:10 UTC. quay is not read (paused); last time: never.",
  ],
])("the sentence %s", (_name, coverage, expected) => {
  expect(text(coverage)).toBe(expected);
});

test("the oldest of 200,000 listings is found", () => {
  const mounts = Array.from({ length: 200_000 }, (_, at) => mount(`/m${at}`, AT + at));
  expect(text({ mounts })).toContain("200000 of 200000, the first at 2026-11-26 15:10 UTC");
});

test("names of many mounts are cut, with their number", () => {
  const many = Array.from({ length: 8 }, (_, at) => mount(`/${at}`));
  expect(text({ mounts: many })).toContain("home /4, … (+3).");
});
