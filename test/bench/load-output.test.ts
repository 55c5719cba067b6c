import { describe, expect, it } from "vitest";
import { parseH2load } from "../../bench/load/h2load.ts";
import { parseWrk } from "../../bench/load/wrk.ts";

const wrk = (failed: number) =>
  `Running 1s test\nBENCH {"requests":1000,"micros":2000000,"bytes":500000,"failed":${failed},"p50":900}\n`;

const h2load = (succeeded: number, data: number) => `
finished in 1.00s, ${succeeded} req/s, 1.00MB/s
requests: ${succeeded} total, ${succeeded} started, ${succeeded} done, ${succeeded} succeeded, 0 failed, 0 errored, 0 timeout
status codes: ${succeeded} 2xx, 0 3xx, 0 4xx, 0 5xx
traffic: 1.2MB (${data + 2_000}) total, 10B (10) headers (space savings 90%), 1.1MB (${data}) data
`;

describe("output of wrk", () => {
  it("is read from the script's line", () => {
    expect(parseWrk(wrk(0))).toEqual({
      requests: 1000,
      seconds: 2,
      wireBytes: 500,
      medianMillis: 0.9,
    });
  });

  it("is refused when a request failed or the line is missing", () => {
    expect(() => parseWrk(wrk(3))).toThrow("3 of wrk's 1000 requests failed");
    expect(() => parseWrk("unable to connect")).toThrow("no result");
  });
});

describe("output of h2load", () => {
  it("is read from its summary", () => {
    expect(parseH2load(h2load(100, 100 * 50), 2, 50)).toEqual({
      requests: 100,
      seconds: 2,
      wireBytes: 70,
    });
  });

  it("may contain replies that the end of the run cut off", () => {
    expect(parseH2load(h2load(100, 100 * 50 + 120), 1, 50).requests).toBe(100);
  });

  it("is refused when replies have no message, as in failed gRPC calls", () => {
    expect(() => parseH2load(h2load(100, 99 * 50), 1, 50)).toThrow("calls failed");
  });
});
