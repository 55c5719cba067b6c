import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";

export interface HealthOptions {
  /** Requirements of the service, each with its problem; undefined: none. */
  readonly checks: () => Promise<
    readonly {
      readonly name: string;
      readonly problem?: string | undefined;
      readonly note?: string | undefined;
    }[]
  >;
}

/**
 * Fastify plugin for supervisors and load balancers, without a token: `/livez` (the process
 * answers) and `/readyz` (it can serve: 200, else 503; `?verbose` lists the checks), in plain text
 * as in Kubernetes.
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
    const lines = checks.map(({ name, problem, note }) =>
      problem === undefined
        ? `[+] ${name}: ok${note === undefined ? "" : ` (${note})`}`
        : `[-] ${name}: ${problem}`,
    );
    const { verbose } = request.query as { readonly verbose?: string };
    const detailed = verbose !== undefined || !ready;
    const end = ready ? "ok" : "not ready";
    send(reply, ready ? 200 : 503, `${[...(detailed ? lines : []), end].join("\n")}\n`);
    return reply;
  });
}
