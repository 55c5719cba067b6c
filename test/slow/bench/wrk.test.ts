import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { wrkLoad } from "../../../bench/load/wrk.ts";
import { createStage } from "../../../bench/stage.ts";
import { needs } from "../../downloaders/program.ts";

beforeEach(needs("taskset", "wrk"));

test("wrk sends another value in each request, for a fixed number of clients", async () => {
  const bodies: string[] = [];
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (piece: Buffer) => {
      body += piece.toString();
    });
    request.on("end", () => {
      bodies.push(`${request.method} ${request.headers["authorization"]} ${body}`);
      response.end("saved");
    });
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const stage = createStage(process.env);
  onTestFinished(async () => {
    await stage.close();
    server.close();
  });
  const { requests } = await wrkLoad(stage, {
    port: (server.address() as AddressInfo).port,
    path: "/save",
    method: "POST",
    headers: { Authorization: "token" },
    body: "{client} {number}",
    clients: 4,
    connections: 2,
  })(2);
  expect(bodies.length).toBeGreaterThanOrEqual(requests);
  expect(requests).toBeGreaterThan(0);
  expect(bodies.filter((body) => !/^POST token [0-3] \d{16}$/.test(body))).toEqual([]);
  expect(new Set(bodies).size).toBe(bodies.length);
});
