import type { UserResult } from "../../../gen/mooring/v1/user_pb.js";
import {
  CompareUsersResponseSchema,
  type CopyUsersResponse,
  CopyUsersResponseSchema,
  ListUsersResponseSchema,
  UserService,
} from "../../../gen/mooring/v1/user_service_pb.js";
import { counted } from "../argument.ts";
import { type Action, type Command, type CommandRun, runAction } from "../command.ts";
import { CliFailure, EXIT } from "../failure.ts";
import { longCall } from "../long-call.ts";
import {
  askNewPasswords,
  givenPasswords,
  type NewPasswords,
  NO_PASSWORDS,
} from "../new-password.ts";
import { printableLine } from "../output.ts";
import { canAsk, confirm } from "../prompt.ts";
import { showOnce } from "../shown-once.ts";
import { timeLimit } from "../time-limit.ts";
import { writeDifferences, writeResults, writeUsers } from "../user.ts";

const actions: Readonly<Record<string, Action>> = {
  list: { count: 1, flags: [], act: list },
  compare: { count: 2, flags: ["all"], act: compare },
  copy: {
    count: [2, 1_000],
    flags: [
      "accept-loss",
      "dry-run",
      "password-file",
      "passwords-file",
      "random-passwords",
      "update",
      "yes",
    ],
    act: copy,
  },
};

export const userCommand: Command = {
  name: "user",
  actions,
  usage: [
    "user list SITE",
    "user compare FROM TO [--all]",
    "user copy FROM TO [NAME...] [--update NAME]... [--dry-run] [--yes] [--accept-loss]",
    "user copy FROM TO [NAME...] --password-file PATH|--passwords-file PATH|--random-passwords",
  ],
  summary: "Show and copy the users of OpenList and AList servers",
  details: [
    "Users belong to their server: Mooring does not store them. copy creates the users",
    "of the site FROM, or only those named, that the site TO does not have. Existing",
    "users are changed only by --update NAME, which replaces folder, rights, state and",
    "single sign-on, ends passkeys, and asks first. Servers return no passwords: new",
    "users get one password from a file (--password-file), one each from a file with",
    "lines NAME:PASSWORD (--passwords-file), a random one each, printed once",
    "(--random-passwords), or the one that is typed. copy exits with 4 when something",
    "of a user is not copied; --accept-loss makes that 0.",
  ],
  flags: [
    "accept-loss",
    "all",
    "dry-run",
    "password-file",
    "passwords-file",
    "random-passwords",
    "update",
    "yes",
  ],
  offline: false,
  positionals: [2, 1_001],
  run: (run) => runAction(userCommand, run),
};

/** Longer default time limit than that of other commands: each user is a call of the server. */
const TIME_LIMIT = 180_000;
/** Note of the error after Ctrl-C has ended a copy. */
const INTERRUPT_NOTE =
  '"mooring user compare" shows what is left; a server may use the former account of the user that was being updated for an hour, unless that user is saved there';

async function list(run: CommandRun, [site = ""]: readonly string[]): Promise<void> {
  const { args, output, connectTo } = run;
  const reply = await (await connectTo(UserService)).listUsers(
    { site },
    timeLimit(run, TIME_LIMIT),
  );
  if (args.is("json")) return output.json(ListUsersResponseSchema, reply);
  await writeUsers(output, reply.users);
}

async function compare(run: CommandRun, [from = "", to = ""]: readonly string[]): Promise<void> {
  const { args, output, connectTo } = run;
  const request = { from, to, all: args.is("all") };
  const reply = await (await connectTo(UserService)).compareUsers(
    request,
    timeLimit(run, TIME_LIMIT),
  );
  if (args.is("json")) return output.json(CompareUsersResponseSchema, reply);
  const { differences } = reply;
  if (differences.length > 0) await writeDifferences(output, differences);
  const different = differences.filter(({ state }) => state !== "same").length;
  await output.write(
    `${counted(different, "user")} ${different === 1 ? "differs" : "differ"} between ${from} and ${to}\n`,
  );
}

async function copy(
  run: CommandRun,
  [from = "", to = "", ...names]: readonly string[],
): Promise<void> {
  const { args, errors, connectTo, world } = run;
  const client = await connectTo(UserService);
  const given = await givenPasswords(run);
  const request = { from, to, names, update: [...args.texts("update")] };
  const send = (dryRun: boolean, passwords: NewPasswords): Promise<CopyUsersResponse> =>
    longCall(
      run,
      { work: "copy", interruptNote: INTERRUPT_NOTE, timeoutMs: TIME_LIMIT },
      (options) => client.copyUsers({ ...request, ...passwords, dryRun }, options),
    );
  if (args.is("dry-run")) return finish(run, await send(true, given ?? NO_PASSWORDS), to);
  if (args.is("yes") && given !== undefined) return finish(run, await send(false, given), to);
  const plan = await send(true, given ?? NO_PASSWORDS);
  const count = (outcome: string) => plan.results.filter((one) => one.outcome === outcome).length;
  const [created, updated] = [count("created"), count("updated")];
  if (created + updated === 0) return finish(run, plan, to);
  if (canAsk(world)) {
    if (!args.is("yes")) {
      await writeResults(errors, plan.results);
      const question = [
        ...(created > 0 ? [`create ${counted(created, "user")}`] : []),
        ...(updated > 0 ? [`replace ${counted(updated, "user")}`] : []),
      ].join(" and ");
      if (!(await confirm(world, `On ${to}, ${question}?`)))
        throw new CliFailure(EXIT.failed, "nothing was changed");
    }
  } else if (updated > 0 && !args.is("yes"))
    throw new CliFailure(
      EXIT.refused,
      `nothing was changed: ${counted(updated, "user")} of ${to} would be replaced; --yes confirms it`,
      updatesOf(plan.results),
    );
  const passwords = given ?? (created === 0 ? NO_PASSWORDS : await askNewPasswords(world, created));
  return finish(run, await send(false, passwords), to);
}

function updatesOf(results: readonly UserResult[]): string[] {
  return results
    .filter(({ outcome }) => outcome === "updated")
    .map(({ name, differs }) => printableLine(`${name}: ${differs.join(", ")}`));
}

/** Prints the results. Exits with 4 for what is not copied, unless that is accepted. */
async function finish(run: CommandRun, reply: CopyUsersResponse, to: string): Promise<void> {
  const { args, output, notice } = run;
  const { results } = reply;
  const write = async (): Promise<void> => {
    if (args.is("json")) return output.json(CopyUsersResponseSchema, reply);
    await writeResults(output, results);
    const of = (outcome: string) => results.filter((one) => one.outcome === outcome).length;
    const counts = `${counted(of("created"), "user")} created, ${of("updated")} updated`;
    await output.write(args.is("dry-run") ? `dry run on ${to}: ${counts}\n` : `${to}: ${counts}\n`);
  };
  const generated = results.flatMap(({ name, password }) => (password === "" ? [] : [name]));
  if (generated.length === 0) await write();
  else {
    const lost = {
      what: `the generated password of ${printableLine(generated.join(", "))}`,
      remedy: `give each of these users of ${to} another one on the server`,
    };
    await showOnce(output, lost, write);
    notice("the generated passwords are not stored: they are shown only here");
  }
  const named = (isMeant: (result: UserResult) => boolean): string =>
    results.flatMap((result) => (isMeant(result) ? [result.name] : [])).join(", ");
  const missing = named(({ outcome }) => outcome === "refused" || outcome === "failed");
  if (missing !== "") throw new CliFailure(EXIT.refused, printableLine(`not copied: ${missing}`));
  const partly = named(({ lost }) => lost.length > 0);
  if (partly === "" || args.is("accept-loss")) return;
  throw new CliFailure(
    EXIT.refused,
    printableLine(`not copied as a whole: ${partly} (--accept-loss: exit with 0)`),
  );
}
