import { resolve } from "node:path";
import {
  GetSettingResponseSchema,
  ResetTokenResponseSchema,
  SaveSettingsResponseSchema,
} from "../../../gen/mooring/v1/setting_service_pb.js";
import { type Action, type Command, type CommandRun, runAction } from "../command.ts";
import type { SettingClient } from "../connection.ts";
import { CliFailure, EXIT, usage } from "../failure.ts";
import { readValue, writeNewFile } from "../file.ts";
import { askHidden, canAsk, confirm } from "../prompt.ts";
import { showOnce } from "../shown-once.ts";
import { createToken, listTokens, revokeToken, rotateToken } from "./access.ts";

/** Key of the setting that holds the permanent admin token (docs/rest-contract.md, section 5). */
const KEY = "token";

const CONSEQUENCE =
  "Programs with the old token are refused, and signed download links become invalid.";

const actions: Readonly<Record<string, Action>> = {
  show: { count: 0, flags: [], act: showToken },
  reset: {
    count: 0,
    flags: ["output", "yes", "reason"],
    instead: "--output PATH",
    removes: true,
    act: resetToken,
  },
  set: {
    count: 0,
    flags: ["from-file", "yes", "reason"],
    instead: "--from-file PATH for the token",
    removes: true,
    act: setToken,
  },
  create: {
    count: 1,
    instead: "--scopes LIST",
    flags: ["scopes", "limits", "expires", "comment", "output"],
    act: createToken,
  },
  list: { count: 0, flags: ["all", "limit"], act: listTokens },
  rotate: { count: 1, flags: ["overlap", "output"], act: rotateToken },
  revoke: { count: 1, flags: ["yes"], removes: true, act: revokeToken },
};

/** Actions on the permanent token, which work on a database without a service. */
const PERMANENT = ["show", "reset", "set"];

export const tokenCommand: Command = {
  name: "token",
  actions,
  usage: [
    "token show",
    "token reset [--yes] [--output PATH]",
    "token set [--from-file PATH] [--yes]",
    "token create PRINCIPAL --scopes LIST [--limits LIST] [--expires WHEN] ...",
    "token list [--all] [-n N]",
    "token rotate ID [--overlap DURATION] [--output PATH]",
    "token revoke ID [--yes]",
  ],
  summary: "Show or replace the admin token; create and revoke tokens with fewer rights",
  details: [
    "show, reset and set concern the permanent admin token.",
    "reset generates a new token and prints it; the old one is refused at once. With",
    "--output it is written to a file, which may be that of --token-file: a shell",
    "redirection would empty the file first. set reads the new token from a file, from",
    "standard input, or asks for it; never from the command line, which a process list",
    "shows. If the token is lost, use --database on the machine of the service, which",
    "may be running.",
    "create creates a token with fewer rights, for a program or a colleague; see",
    "docs/access.md. It is shown once. rotate creates a successor, and the old token",
    "stays valid for a while; revoke makes a token invalid at once.",
  ],
  flags: [
    "all",
    "comment",
    "expires",
    "from-file",
    "limit",
    "limits",
    "output",
    "overlap",
    "reason",
    "scopes",
    "yes",
  ],
  offline: true,
  positionals: [1, 2],
  run: (run) =>
    runAction(tokenCommand, run, (name) => {
      if (!PERMANENT.includes(name) && run.args.text("database") !== undefined)
        throw usage(`token ${name} needs a service: --database is for ${PERMANENT.join(", ")}`);
    }),
};

async function showToken({ args, output, connect }: CommandRun): Promise<void> {
  const reply = await (await connect()).getSetting({ key: KEY });
  if (args.is("json")) return output.json(GetSettingResponseSchema, reply);
  await output.value(`${reply.setting?.value ?? ""}\n`);
}

async function resetToken(run: CommandRun): Promise<void> {
  const { args, output, connect } = run;
  const path = args.text("output");
  if (path !== undefined && args.is("json")) throw usage("--output and --json exclude each other");
  const client = await connect();
  await agree(run, "Generate a new token?");
  if (path !== undefined) return resetInto(path, client, run);
  const reply = await client.resetToken({});
  await showOnce(output, LOST, () =>
    args.is("json")
      ? output.json(ResetTokenResponseSchema, reply)
      : output.value(`${reply.token}\n`),
  );
}

/** A reset token that could not be written. */
const LOST = {
  what: "the new token, which replaces the old one,",
  remedy: '"mooring token show --database PATH" shows it on the machine of the service',
};

/** Resets the token only after the file was created, and prints the new token if writing it fails. */
async function resetInto(path: string, client: SettingClient, run: CommandRun): Promise<void> {
  let made: string | undefined;
  const reset = async (): Promise<string> => {
    made = `${(await client.resetToken({})).token}\n`;
    return made;
  };
  try {
    await writeNewFile(resolve(run.world.cwd, path), reset, { force: true });
  } catch (error) {
    const token = made;
    if (token !== undefined) await showOnce(run.output, LOST, () => run.output.value(token));
    throw error;
  }
  run.notice(`the new token is in ${path}, which only its owner can read`);
}

async function setToken(run: CommandRun): Promise<void> {
  const { args, output, world } = run;
  const path = args.text("from-file");
  const typed = path === undefined && canAsk(world);
  const value = (typed ? await typedTwice(run) : await readValue(path ?? "-", world)).trim();
  if (value === "") throw usage("the new token is empty: token reset generates a random one");
  const client = await run.connect();
  await agree(run, "Replace the token?");
  const reply = await client.saveSettings({
    settings: [{ key: KEY, value }],
    reason: args.text("reason") ?? "",
  });
  if (args.is("json")) return output.json(SaveSettingsResponseSchema, reply);
  await output.write(`saved: revision ${reply.revision}\n`);
}

async function typedTwice({ world }: CommandRun): Promise<string> {
  const token = await askHidden(world, "New token, at least 32 characters");
  if ((await askHidden(world, "Repeat the token")) === token) return token;
  throw usage("the tokens differ; nothing was changed");
}

async function agree({ args, world, notice }: CommandRun, question: string): Promise<void> {
  if (args.is("yes") || !canAsk(world)) return;
  notice(CONSEQUENCE);
  if (!(await confirm(world, question))) throw new CliFailure(EXIT.failed, "nothing was changed");
}
