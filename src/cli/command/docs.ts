// The command docs.

import type { Command } from "../command.ts";
import { readServiceAddress } from "../connection.ts";
import { CliFailure, EXIT, usage } from "../failure.ts";

/** Paths of the documentation: the first one if Mooring is deployed in front of an upstream. */
const PATHS = ["/@mooring/docs/", "/docs/"];
/** Part of the content security policy of Mooring's own pages. */
const POLICY = "require-trusted-types-for 'script'";
/** Time limit for an answer, in milliseconds. */
const TIME_LIMIT = 10_000;

export const docsCommand: Command = {
  name: "docs",
  usage: ["docs [--print]"],
  summary: "Open the documentation of the service",
  details: ["Prints the address and opens it in the browser of this machine. Needs no token."],
  flags: ["print"],
  offline: false,
  anonymous: true,
  positionals: [0, 0],
  run: async ({ args, output, world, notice }) => {
    const at = readServiceAddress(args.text("address"), { world, anonymous: true });
    if (at.socket !== undefined)
      throw usage(`${at.place} is a socket: browsers need an address such as 127.0.0.1:5244`);
    const url = await findDocs(at.url, at.place);
    if (args.is("json")) await output.write(`${JSON.stringify({ url })}\n`);
    else await output.write(`${url}\n`);
    if (args.is("print") || args.is("json")) return;
    if (!(await world.openUrl(url)))
      notice("no browser could be started: open the address yourself");
  },
};

/** Finds the address of this service's documentation. */
async function findDocs(url: string, place: string): Promise<string> {
  for (const path of PATHS) {
    const { status, headers } = await ask(`${url}${path}`, place);
    if (status === 503)
      throw new CliFailure(
        EXIT.failed,
        `the service at ${place} has no documentation: npm run docs:site builds it`,
      );
    // The upstream has its own pages at the other path.
    if (status === 200 && headers.get("content-security-policy")?.includes(POLICY))
      return `${url}${path}`;
  }
  throw new CliFailure(EXIT.failed, `no documentation at ${place}: is it a Mooring service?`);
}

async function ask(url: string, place: string): Promise<Response> {
  try {
    const signal = AbortSignal.timeout(TIME_LIMIT);
    return await fetch(url, { method: "HEAD", redirect: "manual", signal });
  } catch {
    throw new CliFailure(EXIT.unavailable, `no service answers at ${place}`);
  }
}
