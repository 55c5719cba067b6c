import {
  GetSettingResponseSchema,
  ResetTokenResponseSchema,
  SaveSettingsResponseSchema,
  SettingService,
} from "../../../gen/mooring/v1/setting_service_pb.js";
import { nearestName } from "../../config/nearest.ts";
import { quote } from "../../config/quote.ts";
import { readValue } from "../assignment.ts";
import type { Command, CommandRun } from "../command.ts";
import { EXIT } from "../exit-code.ts";
import { CliFailure, usage } from "../failure.ts";
import { askHidden, canAsk, confirm } from "../prompt.ts";

/** Key of the setting that holds the permanent admin token (contract, section 5). */
const KEY = "token";

const CONSEQUENCE =
  "Every program that uses the old token will be refused, and signed download links will break.";

const actions: Readonly<Record<string, (run: CommandRun) => Promise<void>>> = {
  show: showToken,
  reset: resetToken,
  set: setToken,
};

export const tokenCommand: Command = {
  name: "token",
  usage: ["token show", "token reset [--yes]", "token set [--from-file PATH]"],
  summary: "Show, replace or choose the admin token",
  details: [
    "reset makes a random one, prints it, and the old one is refused at once. set",
    "reads the new one from a file, from standard input, or asks for it; never from",
    "the command line, which a process list shows. Somebody who has lost the token",
    "uses --database on the machine of the service, which may run meanwhile.",
  ],
  flags: ["from-file", "reason", "yes"],
  offline: true,
  positionals: [1, 1],
  run: async (run) => {
    const [name = ""] = run.args.positionals;
    const action = Object.hasOwn(actions, name) ? actions[name] : undefined;
    if (action === undefined)
      throw usage(
        `there is no token ${quote(name)}: did you mean token ${nearestName(name, Object.keys(actions))}?`,
      );
    if (name !== "set" && run.args.text("from-file") !== undefined)
      throw usage("--from-file goes with token set only");
    await action(run);
  },
};

async function showToken({ args, output, connect }: CommandRun): Promise<void> {
  const reply = await (await connect()).unary(SettingService.method.getSetting, { key: KEY });
  if (args.is("json")) return output.json(GetSettingResponseSchema, reply);
  await output.value(`${reply.setting?.value ?? ""}\n`);
}

async function resetToken(run: CommandRun): Promise<void> {
  const { args, output, connect } = run;
  const calls = await connect();
  await agree(run, "Make a new token?");
  const reply = await calls.unary(SettingService.method.resetToken, {});
  if (args.is("json")) return output.json(ResetTokenResponseSchema, reply);
  await output.value(`${reply.token}\n`);
}

async function setToken(run: CommandRun): Promise<void> {
  const { args, output, world } = run;
  const path = args.text("from-file");
  const typed = path === undefined && canAsk(world);
  const value = (typed ? await typedTwice(run) : await readValue(path ?? "-", world)).trim();
  if (value === "") throw usage("the new token is empty: token reset makes a random one");
  const calls = await run.connect();
  await agree(run, "Replace the token?");
  const reply = await calls.unary(SettingService.method.saveSettings, {
    settings: [{ key: KEY, value }],
    reason: args.text("reason") ?? "",
  });
  if (args.is("json")) return output.json(SaveSettingsResponseSchema, reply);
  await output.write(`saved: revision ${reply.revision}\n`);
}

async function typedTwice({ world }: CommandRun): Promise<string> {
  const token = await askHidden(world, "New token, at least 32 characters");
  if ((await askHidden(world, "The same again")) === token) return token;
  throw usage("the two are not the same; nothing was changed");
}

async function agree({ args, world, notice }: CommandRun, question: string): Promise<void> {
  if (args.is("yes") || !canAsk(world)) return;
  notice(CONSEQUENCE);
  if (!(await confirm(world, question))) throw new CliFailure(EXIT.failed, "nothing was changed");
}
