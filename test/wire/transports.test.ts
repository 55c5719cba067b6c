import type { DescMethod } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { DriverService } from "../../gen/mooring/v1/driver_service_pb.js";
import { PublicService } from "../../gen/mooring/v1/public_service_pb.js";
import { SettingService } from "../../gen/mooring/v1/setting_service_pb.js";
import { servedServices } from "../../src/app/routes.ts";
import { startedForAll } from "../started.ts";
import { transports } from "./all-transports.ts";
import { allCases } from "./case/all.ts";
import type { Expected, Step } from "./case/case.ts";
import { startService, TOKEN } from "./service.ts";
import { grpcTransport } from "./transport/grpc.ts";
import { restRoutes } from "./transport/rest-route.ts";
import type { Outcome, Transport } from "./transport/transport.ts";

test("the table has a case for every unary method, and REST a route for every method", () => {
  const methods = [PublicService, DriverService, SettingService].flatMap(({ methods }) => methods);
  const tabled = new Set<DescMethod>(
    allCases.flatMap(({ steps }) => steps.map(({ method }) => method)),
  );
  for (const method of servedServices.flatMap((service) => service.methods))
    expect(restRoutes.has(method), `test/wire/transport/rest-route.ts has ${method.name}`).toBe(
      true,
    );
  for (const method of methods) {
    const { name, methodKind } = method;
    if (methodKind === "unary") expect(tabled.has(method), `test/wire/case has ${name}`).toBe(true);
  }
});

/** Each transport has its own service, so that all have the same state. */
describe.each(transports)("over $name", ({ open, env = {} }) => {
  const service = startedForAll(() => startService({ env }));
  const transport = startedForAll(() => open(service));
  /** Runs calls that the transport itself does not support. */
  const other = startedForAll(() => grpcTransport("gRPC", service.grpcPort));

  test.each(allCases.map((one) => [one.name, one] as const))("%s", async (_case, { steps }) => {
    for (const step of steps) {
      const through = transport.carries(step.method) ? transport : other;
      const outcome = await through.call(step.method, step.request, { headers: step.headers });
      check(outcome, step, through);
    }
  });

  test("no secret is in the log", () => {
    expect(service.log()).not.toContain(TOKEN);
    expect(service.log()).not.toMatch(/Secret-|mooring-[\w-]{43}/);
  });
});

function check(outcome: Outcome, { method, expected }: Step, transport: Transport): void {
  expect(simplify(outcome), method.name).toMatchObject(
    simplifyExpected(expected, outcome, transport),
  );
  expect(outcome.requestId, `the request id of ${method.name}`).toMatch(/^[\w.:/+=-]+$/);
}

function simplify(outcome: Outcome): Record<string, unknown> {
  if (outcome.kind === "reply") return { reply: outcome.message };
  const { code, message, fields } = outcome;
  return { code, message, fields };
}

function simplifyExpected(
  expected: Expected,
  outcome: Outcome,
  transport: Transport,
): Record<string, unknown> {
  if ("reply" in expected) return { reply: carried(expected.reply, outcome, transport) };
  const { code, message, fields } = expected.failure;
  return {
    code: transport.codeOf(code),
    message: expect.stringMatching(message),
    ...(fields === undefined ? {} : { fields }),
  };
}

/** REST's `data` is often one member of the reply; the others are not sent. */
function carried(
  reply: Readonly<Record<string, unknown>>,
  outcome: Outcome,
  transport: Transport,
): Record<string, unknown> {
  if (transport.protocol !== "rest" || outcome.kind !== "reply") return { ...reply };
  const travelled = Object.entries(reply).filter(([name]) => name in outcome.message);
  return Object.fromEntries(travelled);
}
