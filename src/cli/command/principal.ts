// The command principal.

import { create } from "@bufbuild/protobuf";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import { PrincipalKind } from "../../../gen/mooring/v1/access_pb.js";
import {
  AccessService,
  CreatePrincipalResponseSchema,
  DisablePrincipalResponseSchema,
  ListPrincipalsResponseSchema,
} from "../../../gen/mooring/v1/access_service_pb.js";
import { quote } from "../../config/complaint.ts";
import { localTime } from "../argument.ts";
import { type Action, type Command, type CommandRun, runAction } from "../command.ts";
import { CliFailure, EXIT, usage } from "../failure.ts";
import { limitOf, readPages } from "../pages.ts";
import { canAsk, confirm } from "../prompt.ts";

const actions: Readonly<Record<string, Action>> = {
  list: { count: 0, flags: ["limit"], act: listPrincipals },
  create: { count: 1, flags: ["kind"], instead: "--kind KIND", act: createPrincipal },
  disable: { count: 1, flags: ["yes"], removes: true, act: disablePrincipal },
};

const KINDS: Readonly<Record<string, PrincipalKind>> = {
  program: PrincipalKind.PROGRAM,
  person: PrincipalKind.PERSON,
};

export const principalCommand: Command = {
  name: "principal",
  actions,
  usage: [
    "principal list [-n N]",
    "principal create NAME [--kind KIND]",
    "principal disable NAME [--yes]",
  ],
  summary: "List, create and disable the owners of tokens",
  details: [
    "A principal is a program or a person. token create creates a missing one as a",
    "program. disable makes all its tokens invalid; it cannot get new ones.",
  ],
  flags: ["kind", "limit", "yes"],
  offline: false,
  positionals: [1, 2],
  run: (run) => runAction(principalCommand, run),
};

async function listPrincipals(run: CommandRun): Promise<void> {
  const { args, output, connectTo } = run;
  const client = await connectTo(AccessService);
  const { items: principals, next: nextPageToken } = await readPages(limitOf(run), async (page) => {
    const reply = await client.listPrincipals(page);
    return { items: reply.principals, next: reply.nextPageToken };
  });
  if (args.is("json"))
    return output.json(
      ListPrincipalsResponseSchema,
      create(ListPrincipalsResponseSchema, { principals, nextPageToken }),
    );
  await output.table(
    [
      { title: "NAME" },
      { title: "KIND" },
      { title: "SINCE" },
      { title: "BY", flexible: true },
      { title: "DISABLED" },
    ],
    principals.map(({ name, kind, createTime, createdBy, disableTime }) => [
      name,
      kind === PrincipalKind.PERSON ? "person" : "program",
      createTime === undefined ? "" : localTime(timestampMs(createTime)),
      createdBy,
      disableTime === undefined ? "no" : localTime(timestampMs(disableTime)),
    ]),
  );
}

async function createPrincipal(run: CommandRun, [name = ""]: readonly string[]): Promise<void> {
  const { args, output, connectTo } = run;
  const kindName = args.text("kind") ?? "program";
  const kind = Object.hasOwn(KINDS, kindName) ? KINDS[kindName] : undefined;
  if (kind === undefined)
    throw usage(`--kind is ${Object.keys(KINDS).join(" or ")}, not ${quote(kindName)}`);
  const reply = await (await connectTo(AccessService)).createPrincipal({ name, kind });
  if (args.is("json")) return output.json(CreatePrincipalResponseSchema, reply);
  await output.write(`made: ${name}, a ${kindName} without a token\n`);
}

async function disablePrincipal(run: CommandRun, [name = ""]: readonly string[]): Promise<void> {
  const { args, output, connectTo, world } = run;
  const client = await connectTo(AccessService);
  if (
    !args.is("yes") &&
    canAsk(world) &&
    !(await confirm(world, `Make all tokens of ${name} invalid?`))
  )
    throw new CliFailure(EXIT.failed, "nothing was changed");
  const reply = await client.disablePrincipal({ name });
  if (args.is("json")) return output.json(DisablePrincipalResponseSchema, reply);
  await output.write(`disabled: every token of ${name} is refused from now on\n`);
}
