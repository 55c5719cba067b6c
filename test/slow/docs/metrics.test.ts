import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { createMetrics } from "../../../src/telemetry/metrics.ts";
import { needs } from "../../downloaders/program.ts";
import { temporaryFolder } from "../../temporary.ts";

const doc = readFileSync("docs/metrics.md", "utf8");
const alerts = readFileSync("packaging/prometheus/alerts.yaml", "utf8");
const dashboard = readFileSync("packaging/prometheus/dashboard.json", "utf8");

/** Names of metrics in `# TYPE` lines, with their types. */
let kinds: Map<string, string>;

beforeAll(async () => {
  const metrics = createMetrics("v1.0.0");
  const text = await metrics.text();
  kinds = new Map(
    [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = "", kind = ""]) => [name, kind]),
  );
});

const own = () => [...kinds].filter(([name]) => /^(grpc|mooring)_/.test(name));

describe("docs/metrics.md", () => {
  test("has a line for each metric of the service, with its type", () => {
    for (const [name, kind] of own())
      expect(doc).toMatch(new RegExp(`\\| \`${name}\` \\| ${kind} \\|`));
  });

  test("names no metric that does not exist", () => {
    for (const [, name = ""] of doc.matchAll(/`((?:grpc_server|mooring|process|nodejs)_\w+)`/g))
      expect([...kinds.keys()], name).toContain(name);
  });

  test("explains each alert", () => {
    const named = [...alerts.matchAll(/alert: (\w+)/g)].map(([, name]) => name);
    expect(named.length).toBeGreaterThan(4);
    for (const name of named) expect(doc).toContain(`| \`${name}\` |`);
  });
});

test.each([
  ["alerts", alerts],
  ["dashboard", dashboard],
])("the %s use existing metrics", (_name, text) => {
  const names = [...text.matchAll(/\b((?:grpc_server|mooring|process|nodejs)_[a-z_]+)\b/g)];
  expect(names.length).toBeGreaterThan(4);
  for (const [, name = ""] of names) {
    const family = name.replace(/_(?:bucket|count|sum)$/, "");
    expect(kinds.get(name) ?? kinds.get(family), name).toBeDefined();
  }
});

test("promtool accepts the alerts", (context) => {
  needs("promtool")(context);
  const args = ["check", "rules", "packaging/prometheus/alerts.yaml"];
  const { status, stdout, stderr } = spawnSync("promtool", args, { encoding: "utf8" });
  expect(status, stdout + stderr).toBe(0);
  const rules = alerts.match(/alert: \w+/g) ?? [];
  expect(stdout).toContain(`${rules.length} rules found`);
});

test("promtool accepts the page's configuration, with the alerts beside it", (context) => {
  needs("promtool")(context);
  const [, configuration = ""] = /```yaml\n([\s\S]*?)```/.exec(doc) ?? [];
  const folder = temporaryFolder();
  writeFileSync(join(folder, "prometheus.yaml"), configuration);
  writeFileSync(join(folder, "alerts.yaml"), alerts);
  const args = ["check", "config", join(folder, "prometheus.yaml")];
  const { status, stdout, stderr } = spawnSync("promtool", args, { encoding: "utf8" });
  expect(status, stdout + stderr).toBe(0);
  expect(stdout).toContain("1 rule files found");
  expect(stdout).toMatch(/\d rules found/);
});

test("promtool accepts every query of the dashboard", (context) => {
  needs("promtool")(context);
  const { panels } = JSON.parse(dashboard) as { panels: { targets: { expr: string }[] }[] };
  const queries = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
  const rules = queries.map((query, index) => ({
    record: `query:${index}`,
    expr: query.replaceAll("$__rate_interval", "5m").replaceAll("$job", "mooring"),
  }));
  // YAML includes JSON.
  const groups = JSON.stringify({ groups: [{ name: "dashboard", rules }] });
  const folder = temporaryFolder();
  writeFileSync(join(folder, "rules.yaml"), groups);
  const args = ["check", "rules", join(folder, "rules.yaml")];
  const checked = spawnSync("promtool", args, { encoding: "utf8" });
  expect(checked.status, checked.stdout + checked.stderr).toBe(0);
  expect(checked.stdout).toContain(`${queries.length} rules found`);
});
