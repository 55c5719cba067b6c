import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { Finding } from "../../bench/experiment.ts";
import { BEGIN, END, resultsMarkdown, withResults } from "../../bench/report.ts";

const head = ["2026-01-02, `npm run bench`", "2 × a processor"];
const finding: Finding = {
  name: "rest-public",
  title: "GET /api/public/settings",
  load: "wrk",
  columns: ["", "per second"],
  rows: [["Mooring", "30,000"]],
  verdicts: [
    { text: "against node:http", value: 0.85, unit: "×", target: { atLeast: 0.8 } },
    { text: "start", value: 3, unit: "×", target: { atMost: 2 } },
    { text: "against Fastify", value: 1.1, unit: "×" },
  ],
};

describe("results in the documentation", () => {
  it("replace the previous ones and keep the prose", () => {
    const once = withResults(`before\n${BEGIN}\nold\n${END}\nafter\n`, "new");
    expect(once).toBe(`before\n${BEGIN}\n\nnew\n\n${END}\nafter\n`);
    expect(withResults(once, "newer")).toBe(`before\n${BEGIN}\n\nnewer\n\n${END}\nafter\n`);
  });

  it("are refused by a document without markers", () => {
    expect(() => withResults("text", "new")).toThrow("lacks the lines");
  });

  it("report for each target whether it is reached, and its distance", () => {
    const text = resultsMarkdown(head, [finding], ["watch: not there yet"]);
    expect(text).toContain(
      "| rest-public: against node:http | 0.85× | to reach ≥ 0.80 | reached |",
    );
    expect(text).toContain(
      "| rest-public: start | 3.00× | to stay ≤ 2.00 | **NOT reached, 1.50× away** |",
    );
    expect(text).toContain("- against Fastify: 1.10×");
    expect(text).toContain("- watch: not there yet");
  });

  it("have their markers in docs/performance.md", () => {
    const page = readFileSync(new URL("../../docs/performance.md", import.meta.url), "utf8");
    expect(withResults(page, "x")).toContain("x");
  });
});
