import { describe, expect, test } from "vitest";
import { type Cut, runCut, stories } from "./site/crash.ts";

const sides: readonly Omit<Cut, "at">[] = [
  { who: "mooring before" },
  { who: "mooring after" },
  { who: "server" },
  { who: "mooring after", key: "first" },
  { who: "mooring after", key: "another" },
];

describe.each(sides)("a crash at each await: $who, sealing key afterwards: $key", (side) => {
  test.each(stories.map((story) => [story.name, story] as const))("%s", async (_name, story) => {
    const wrong: string[] = [];
    let at = 1;
    for (; at < 100; at += 1) {
      const failure = await runCut(story, { ...side, at });
      if (failure === undefined) break;
      if (failure !== "") wrong.push(`${at}: ${failure}`);
    }
    expect(wrong).toEqual([]);
    expect(at).toBeGreaterThan(4);
    expect(at).toBeLessThan(100);
  });
});
