import { describe, expect, test } from "vitest";
import { type Cut, runCut, stories } from "./site/crash.ts";

const sides: readonly Cut["who"][] = ["mooring before", "mooring after", "server"];

describe.each(sides)("a crash at each await: %s", (who) => {
  test.each(stories.map((story) => [story.name, story] as const))("%s", async (_name, story) => {
    const wrong: string[] = [];
    let at = 1;
    for (; at < 100; at += 1) {
      const failure = await runCut(story, { at, who });
      if (failure === undefined) break;
      if (failure !== "") wrong.push(`${at}: ${failure}`);
    }
    expect(wrong).toEqual([]);
    expect(at).toBeGreaterThan(4);
    expect(at).toBeLessThan(100);
  });
});
