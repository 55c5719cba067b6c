// Tokens of principals (the actions of `token` that make and end them), and the command whoami.

import { resolve } from "node:path";
import { create } from "@bufbuild/protobuf";
import { DurationSchema, timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt";
import type { Token } from "../../../gen/mooring/v1/access_pb.js";
import {
  AccessService,
  CreateTokenResponseSchema,
  ListTokensResponseSchema,
  RevokeTokenResponseSchema,
  RotateTokenResponseSchema,
  WhoAmIResponseSchema,
} from "../../../gen/mooring/v1/access_service_pb.js";
import { listItems, localTime, pointInTime, untilText } from "../argument.ts";
import type { Command, CommandRun } from "../command.ts";
import { CliFailure, EXIT, usage } from "../failure.ts";
import { writeNewFile } from "../file.ts";
import { limitOf, readPages } from "../pages.ts";
import { canAsk, confirm } from "../prompt.ts";
import { showOnce } from "../shown-once.ts";

export async function createToken(run: CommandRun, [principal = ""]: readonly string[]) {
  const { args, output, connectTo, world } = run;
  const scopes = listItems(args.text("scopes"), "--scopes");
  if (scopes.length === 0)
    throw usage("--scopes is missing, such as --scopes settings:read,history:read");
  const expires = args.text("expires");
  const request = {
    principal,
    scopes,
    limits: listItems(args.text("limits"), "--limits"),
    comment: args.text("comment") ?? "",
    neverExpires: expires === "never",
    ...(expires === undefined || expires === "never"
      ? {}
      : { expireTime: timestampFromMs(endTime(expires, world.now())) }),
  };
  const client = await connectTo(AccessService);
  await handOver(run, {
    make: () => client.createToken(request),
    writeJson: (reply) => output.json(CreateTokenResponseSchema, reply),
  });
}

export async function rotateToken(run: CommandRun, [id = ""]: readonly string[]) {
  const { args, output, connectTo, world } = run;
  const overlap = args.text("overlap");
  const now = world.now();
  const ms = overlap === undefined ? undefined : overlap === "0" ? 0 : endTime(overlap, now) - now;
  const client = await connectTo(AccessService);
  const request = {
    id,
    ...(ms === undefined
      ? {}
      : { overlap: create(DurationSchema, { seconds: BigInt(Math.round(ms / 1_000)) }) }),
  };
  await handOver(run, {
    make: () => client.rotateToken(request),
    writeJson: (reply) => output.json(RotateTokenResponseSchema, reply),
  });
}

/** Reply with a new token. */
interface NewToken {
  readonly secret: string;
  readonly token?: Token | undefined;
}

/** Prints a new token, or writes it to a file. If that fails, the token is printed. */
async function handOver<R extends NewToken>(
  run: CommandRun,
  { make, writeJson }: { make: () => Promise<R>; writeJson: (reply: R) => Promise<void> },
): Promise<void> {
  const { args, output, notice, world } = run;
  const path = args.text("output");
  if (path !== undefined && args.is("json")) throw usage("--output and --json exclude each other");
  const show = (reply: R): Promise<void> =>
    showOnce(output, lostToken(reply), () =>
      args.is("json") ? writeJson(reply) : output.value(`${reply.secret}\n`),
    );
  if (path === undefined) {
    const reply = await make();
    await show(reply);
    if (!args.is("json")) notice(`${aboutToken(reply)}; it is shown only once`);
    return;
  }
  let made: R | undefined;
  const text = async (): Promise<string> => {
    made = await make();
    return `${made.secret}\n`;
  };
  try {
    await writeNewFile(resolve(world.cwd, path), text, { force: true });
  } catch (error) {
    if (made !== undefined) await show(made);
    throw error;
  }
  if (made !== undefined)
    notice(`${aboutToken(made)}; it is in ${path}, which only its owner can read`);
}

function aboutToken({ token }: NewToken): string {
  return `token ${token?.id ?? ""} of ${token?.principal ?? ""}, ${untilOf(token)}`;
}

function lostToken({ token }: NewToken) {
  const id = token?.id ?? "";
  return {
    what: `the text of the token ${id}, which is valid,`,
    remedy: `end it with "mooring token revoke ${id} --yes", and create another one`,
  };
}

export async function listTokens(run: CommandRun): Promise<void> {
  const { args, output, connectTo } = run;
  const client = await connectTo(AccessService);
  const active = !args.is("all");
  const { items: tokens, next: nextPageToken } = await readPages(limitOf(run), async (page) => {
    const reply = await client.listTokens({ active, ...page });
    return { items: reply.tokens, next: reply.nextPageToken };
  });
  if (args.is("json"))
    return output.json(
      ListTokensResponseSchema,
      create(ListTokensResponseSchema, { tokens, nextPageToken }),
    );
  await output.table(
    [
      { title: "ID" },
      { title: "PRINCIPAL" },
      { title: "SCOPES", flexible: true },
      { title: "LIMITS", flexible: true },
      { title: "UNTIL" },
      { title: "LAST USE" },
      { title: "COMMENT", flexible: true },
    ],
    tokens.map((token) => [
      token.id,
      token.principal,
      token.scopes.join(","),
      token.limits.join(","),
      untilOf(token),
      token.lastUseTime === undefined
        ? "never"
        : `${localTime(timestampMs(token.lastUseTime))} ${token.lastUsePeer}`,
      token.comment,
    ]),
  );
}

export async function revokeToken(run: CommandRun, [id = ""]: readonly string[]): Promise<void> {
  const { args, output, connectTo, world } = run;
  const client = await connectTo(AccessService);
  if (!args.is("yes") && canAsk(world) && !(await confirm(world, `End the token ${id}?`)))
    throw new CliFailure(EXIT.failed, "nothing was changed");
  const reply = await client.revokeToken({ id });
  if (args.is("json")) return output.json(RevokeTokenResponseSchema, reply);
  await output.write(`revoked: ${id} of ${reply.token?.principal ?? ""} is refused from now on\n`);
}

export const whoamiCommand: Command = {
  name: "whoami",
  usage: ["whoami"],
  summary: "Print the owner and the rights of the token",
  details: [],
  flags: [],
  offline: false,
  positionals: [0, 0],
  run: async ({ args, output, connectTo }) => {
    const reply = await (await connectTo(AccessService)).whoAmI({});
    if (args.is("json")) return output.json(WhoAmIResponseSchema, reply);
    const end = reply.expireTime;
    // An admin of the upstream, identified by a login.
    const isLogin = reply.principal.startsWith("upstream:");
    const rows = [
      ["principal", reply.principal],
      [
        "token",
        reply.tokenId || (isLogin ? "a login of the upstream" : "the permanent admin token"),
      ],
      ["scopes", reply.scopes.join(", ")],
      ["limits", reply.limits.join(", ") || "none"],
      [
        "until",
        end === undefined
          ? isLogin
            ? "the login ends"
            : "never expires"
          : localTime(timestampMs(end)),
      ],
      ["from", reply.peer || "a Unix socket"],
    ];
    await output.value(rows.map(([name = "", text]) => `${name.padEnd(9)}  ${text}\n`).join(""));
  },
};

function untilOf(token: Token | undefined): string {
  if (token?.revokeTime !== undefined) return "revoked";
  return `${untilText(token?.expireTime)}${token?.expiresSoon ? " (expires soon)" : ""}`;
}

/** Parses an expiry: a duration from now, such as `30d`, or a date. */
function endTime(text: string, now: number): number {
  const time = pointInTime(text, "the end", now);
  return /^\d+[a-z]+$/.test(text) ? 2 * now - time : time;
}
