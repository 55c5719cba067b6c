import { expect, test } from "vitest";
import { service, useService } from "./service.ts";
import { run } from "./world.ts";

useService();

test("status prints the version, start time and readiness", async () => {
  const { code, out } = await service.cli(["status"]);
  expect(code).toBe(0);
  expect(out).toMatch(/^version {3}v\d+\.\d+\.\d+$/m);
  expect(out).toMatch(/^running {3}since \d{4}-.* \(\d+[smhd].*\), process \d+$/m);
  expect(out).toMatch(/^ready {5}yes$/m);
  expect(out).toContain(`sqlite:${service.database}`);
  expect(out).toMatch(/^revision {2}1$/m);
});

test("status as JSON has every member of the contract", async () => {
  const { out } = await service.cli(["status", "--json"]);
  expect(JSON.parse(out)).toMatchObject({
    revision: "1",
    watchers: 0,
    checks: [
      { name: "store", problem: "" },
      { name: "catalogue", problem: "" },
      { name: "draining", problem: "" },
    ],
  });
});

test("status needs the token, and no database", async () => {
  expect(await run(["status"], { env: { MOORING_ADDRESS: service.address } })).toMatchObject({
    code: 5,
  });
  const offline = await service.cli(["status", "--database", service.database]);
  expect(offline).toMatchObject({ code: 2 });
});

test("health needs no token", async () => {
  const env = { MOORING_ADDRESS: service.address };
  expect(await run(["health"], { env })).toEqual({ code: 0, out: "serving\n", err: "" });
  expect(await run(["health", "--json"], { env })).toMatchObject({ out: '{"serving":true}\n' });
});

test("health ends with 6 without a service", async () => {
  const env = { MOORING_ADDRESS: "127.0.0.1:1" };
  expect(await run(["health"], { env })).toMatchObject({
    code: 6,
    out: "",
    err: expect.stringContaining("no service answers at 127.0.0.1:1"),
  });
});
