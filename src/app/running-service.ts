import { type Address, formatAddress } from "../transport/listen.ts";

/**
 * Time limit for the answer of the program that has the address, in milliseconds: a small machine that
 * has just started it may need seconds.
 */
const PATIENCE = 10_000;

/**
 * Sentence for a start that fails because another Mooring listens at the address already; undefined:
 * the start failed otherwise, or another program listens there.
 */
export async function explainRunning(error: unknown, at: Address): Promise<string | undefined> {
  const cause = error instanceof Error ? error.cause : undefined;
  const isInUse = cause instanceof Error && "code" in cause && cause.code === "EADDRINUSE";
  if (!isInUse || "path" in at || !(await answersAsMooring(at))) return undefined;
  return [
    `Mooring runs at ${formatAddress(at)} already, and no second one was started.`,
    '  "mooring status" shows it, and "mooring help" lists the commands.',
    "  For a second service choose another address and database: MOORING_LISTEN and MOORING_DATA_DIR.",
  ].join("\n");
}

/** Reports whether a Mooring answers: its own call, because AList and OpenList have /ping too. */
async function answersAsMooring({
  host,
  port,
}: {
  readonly host: string;
  readonly port: number;
}): Promise<boolean> {
  const any = host === "" || host === "0.0.0.0" || host === "::";
  const name = any ? "127.0.0.1" : host.includes(":") ? `[${host}]` : host;
  try {
    const reply = await fetch(`http://${name}:${port}/mooring.v1.PublicService/Ping`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: "{}",
      redirect: "error",
      signal: AbortSignal.timeout(PATIENCE),
    });
    return reply.status === 200 && (await reply.text()).slice(0, 64).includes('"pong"');
  } catch {
    return false;
  }
}
