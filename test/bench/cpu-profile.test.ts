import { describe, expect, it } from "vitest";
import { type CpuProfile, selfTime } from "../../bench/profile.ts";

const frame = (id: number, functionName: string, url: string) => ({
  id,
  callFrame: { functionName, url, lineNumber: 9 },
});

const profile: CpuProfile = {
  nodes: [
    frame(1, "handle", "file:///app/src/rpc/transport.ts"),
    frame(2, "push", "file:///app/node_modules/@grpc/grpc-js/build/src/server.js"),
    frame(3, "(idle)", ""),
    frame(4, "(garbage collector)", ""),
    frame(5, "emit", "node:events"),
  ],
  startTime: 1_000,
  samples: [1, 2, 3, 4, 5, 1],
  timeDeltas: [0, 10, 20, 30, 40, 50],
};

describe("self time of a profile", () => {
  it("counts each sample until the next one, by part, without idle time", () => {
    const { parts, busyMicros } = selfTime(profile, 0, 10_000, "/app/src/");
    expect(parts).toEqual([
      { name: "node", micros: 50 },
      { name: "garbage collector", micros: 40 },
      { name: "grpc-js", micros: 20 },
      { name: "own code", micros: 10 },
    ]);
    expect(busyMicros).toBe(120);
  });

  it("excludes samples before and after the load", () => {
    const { parts } = selfTime(profile, 1_010, 1_030, "/app/src/");
    expect(parts).toEqual([{ name: "grpc-js", micros: 20 }]);
  });

  it("has functions with their file and line", () => {
    const { functions } = selfTime(profile, 0, 10_000, "/app/src/");
    expect(functions.at(-1)?.name).toBe("own code: handle (rpc/transport.ts:10)");
  });
});
