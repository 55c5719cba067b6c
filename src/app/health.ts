import type { ServiceImpl } from "@connectrpc/connect";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import {
  type Health,
  HealthCheckResponse_ServingStatus as Status,
} from "../../gen/health/v1/health_pb.js";
import { notFound } from "../messages/error.ts";
import { message } from "../messages/message.ts";

/** The standard health service, grpc.health.v1. It needs no token. */
export interface HealthStatus {
  readonly impl: ServiceImpl<typeof Health>;
  /** Sets the status of all services. Initially NOT_SERVING. */
  set(status: "SERVING" | "NOT_SERVING"): void;
  /** Ends every Watch after its last status. */
  close(): void;
}

/**
 * Creates the health service (gRPC health checking protocol).
 *
 * @param services known names besides the empty one, which is the whole server.
 */
export function createHealth(services: readonly string[]): HealthStatus {
  const names = ["", ...services];
  let status = Status.NOT_SERVING;
  let closed = false;
  let { promise: changed, resolve: notify } = Promise.withResolvers<void>();
  const wake = (): void => {
    notify();
    ({ promise: changed, resolve: notify } = Promise.withResolvers<void>());
  };
  const statusOf = (service: string): Status =>
    names.includes(service) ? status : Status.SERVICE_UNKNOWN;
  return {
    impl: {
      check: ({ service }) => {
        if (names.includes(service)) return { status };
        const name = service.slice(0, 255);
        throw notFound(message("HEALTH_SERVICE_UNKNOWN", { name }));
      },
      list: () => ({
        statuses: Object.fromEntries(names.map((name) => [name, { status: statusOf(name) }])),
      }),
      async *watch({ service }, { signal }) {
        const aborted = new Promise<void>((resolve) =>
          signal.addEventListener("abort", () => resolve(), { once: true }),
        );
        let sent: Status | undefined;
        while (!signal.aborted) {
          const current = statusOf(service);
          const next = changed;
          if (current !== sent) {
            sent = current;
            yield { status: current };
          } else if (closed) return;
          else await Promise.race([next, aborted]);
        }
      },
    },
    set: (to) => {
      status = Status[to];
      wake();
    },
    close: () => {
      closed = true;
      wake();
    },
  };
}

export interface HealthOptions {
  /** Checks of the service; one without a problem passes. */
  readonly checks: () => Promise<
    readonly {
      readonly name: string;
      /** The service cannot serve. */
      readonly problem?: string | undefined;
      /** Remark about a check that passes. */
      readonly note?: string | undefined;
      /** The service serves with a limitation. */
      readonly degraded?: string | undefined;
    }[]
  >;
}

/**
 * Fastify plugin for supervisors and load balancers, without a token: `/livez` (the process
 * answers) and `/readyz` (it can serve: 200, else 503; `?verbose` lists the checks), in plain text
 * as in Kubernetes. While the upstream is down it is 200 with the last line `ok, degraded`: a load
 * balancer that took the service out would also take away its console and its page for that time.
 */
export async function healthPlugin(
  fastify: FastifyInstance,
  options: HealthOptions,
): Promise<void> {
  const send = (reply: FastifyReply, code: number, text: string): void => {
    reply
      .code(code)
      .header("cache-control", "no-store")
      .type("text/plain; charset=utf-8")
      .send(text);
  };
  fastify.get("/livez", (_request, reply) => send(reply, 200, "ok\n"));
  fastify.get("/readyz", async (request: FastifyRequest, reply) => {
    const checks = await options.checks();
    const ready = checks.every(({ problem }) => problem === undefined);
    const lines = checks.map(({ name, problem, note, degraded }) => {
      if (problem !== undefined) return `[-] ${name}: ${problem}`;
      if (degraded !== undefined) return `[!] ${name}: ${degraded}`;
      return `[+] ${name}: ok${note === undefined ? "" : ` (${note})`}`;
    });
    const isDegraded = checks.some(({ degraded }) => degraded !== undefined);
    const { verbose } = request.query as { readonly verbose?: string };
    const detailed = verbose !== undefined || !ready || isDegraded;
    const end = ready ? (isDegraded ? "ok, degraded" : "ok") : "not ready";
    send(reply, ready ? 200 : 503, `${[...(detailed ? lines : []), end].join("\n")}\n`);
    return reply;
  });
}
