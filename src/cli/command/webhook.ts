import { create } from "@bufbuild/protobuf";
import {
  WebhookDeliveryState,
  WebhookFormat,
  WebhookInputSchema,
} from "../../../gen/mooring/v1/incident_pb.js";
import {
  CreateWebhookResponseSchema,
  ListWebhookDeliveriesResponseSchema,
  ListWebhooksResponseSchema,
  ResendWebhookDeliveryResponseSchema,
  TestWebhookResponseSchema,
  UpdateWebhookResponseSchema,
  WebhookService,
} from "../../../gen/mooring/v1/webhook_service_pb.js";
import { quote } from "../../config/complaint.ts";
import { suggestion } from "../../suggestion.ts";
import type { FlagName } from "../argument.ts";
import { type Action, type Command, type CommandRun, runAction } from "../command.ts";
import { CliFailure, EXIT, usage } from "../failure.ts";
import { readValue } from "../file.ts";
import { classesOf, resultOf, writeDeliveries, writeWebhooks } from "../incident-text.ts";
import { limitOf, readPages } from "../pages.ts";
import { askHidden, canAsk, confirm } from "../prompt.ts";
import { showOnce } from "../shown-once.ts";

const input: readonly FlagName[] = [
  "chat",
  "classes",
  "content-type",
  "disabled",
  "format",
  "headers-file",
  "http-method",
  "language",
  "secret-file",
  "service-token-file",
  "site",
  "template-file",
  "url-file",
];
const flags: readonly FlagName[] = [...input, "limit", "yes"];

/** An address may contain a secret, and a process list shows arguments. */
const ADDRESS = "--url-file PATH for the address, or --url-file - for standard input";

const actions: Readonly<Record<string, Action>> = {
  add: { count: 1, flags: input, instead: ADDRESS, act: add },
  create: { count: 1, flags: input, instead: ADDRESS, act: add },
  list: { count: 0, flags: [], act: list },
  set: { count: 1, flags: input, instead: ADDRESS, act: set },
  test: { count: 1, flags: [], act: test },
  deliveries: { count: 1, flags: ["limit"], act: deliveries },
  resend: { count: 1, flags: [], act: resend },
  remove: { count: 1, flags: ["yes"], removes: true, act: remove },
};

export const webhookCommand: Command = {
  name: "webhook",
  actions,
  usage: [
    "webhook add NAME [--url-file PATH] [--classes LIST] [--site LIST] [--language CODE]",
    "webhook add NAME --format FORMAT [--service-token-file PATH] [--chat CHAT]",
    "webhook add NAME --format template --template-file PATH [--content-type TYPE]",
    "webhook create NAME ...",
    "webhook list",
    "webhook set NAME [--url-file PATH] [--classes LIST] [--site LIST] [--disabled MODE]",
    "webhook test NAME",
    "webhook deliveries NAME [-n N]",
    "webhook resend ID",
    "webhook remove NAME [--yes]",
  ],
  summary: "Send incidents to ntfy, Telegram, Discord, Slack, Bark and others",
  details: [
    "add (or create) prints the key of the signatures (Standard Webhooks) once. Address",
    "and token are read from a file, from standard input (-), or typed; never from the",
    "command line, because they are secrets. Telegram and Bark need no address. Failed",
    "messages are retried for three days; deliveries lists them, and resend sends one",
    "again.",
  ],
  flags,
  offline: false,
  positionals: [1, 2],
  run: (run) => runAction(webhookCommand, run),
};

async function add(run: CommandRun, [name = ""]: readonly string[]): Promise<void> {
  const { args, output, connectTo, notice } = run;
  const webhook = create(WebhookInputSchema, {
    ...(await inputOf(run)),
    ...(await targetOf(run)),
    name,
  });
  const reply = await (await connectTo(WebhookService)).createWebhook({ webhook });
  const lost = {
    what: `the key of the signatures of ${name}, which was added,`,
    remedy: `give it another one: mooring webhook set ${name} --secret-file PATH`,
  };
  if (args.is("json")) {
    const write = (): Promise<void> => output.json(CreateWebhookResponseSchema, reply);
    return reply.secret === "" ? write() : showOnce(output, lost, write);
  }
  if (reply.secret === "") {
    if (reply.webhook !== undefined) await writeWebhooks(output, [reply.webhook]);
    return notice(`${name}: added; try it with: mooring webhook test ${name}`);
  }
  await showOnce(output, lost, () => output.value(`${reply.secret}\n`));
  notice(`${name}: the key of its signatures; it is shown only once`);
}

async function list({ args, output, connectTo, notice }: CommandRun): Promise<void> {
  const reply = await (await connectTo(WebhookService)).listWebhooks({});
  if (args.is("json")) return output.json(ListWebhooksResponseSchema, reply);
  if (reply.webhooks.length === 0) return notice("there are no webhooks: mooring webhook add NAME");
  await writeWebhooks(output, reply.webhooks);
}

async function set(run: CommandRun, [name = ""]: readonly string[]): Promise<void> {
  const { args, output, connectTo } = run;
  const webhook = create(WebhookInputSchema, {
    ...(await inputOf(run)),
    ...(args.has("url-file") && { url: await urlOf(run) }),
  });
  const reply = await (await connectTo(WebhookService)).updateWebhook({ name, webhook });
  if (args.is("json")) return output.json(UpdateWebhookResponseSchema, reply);
  if (reply.webhook !== undefined) await writeWebhooks(output, [reply.webhook]);
}

async function test(
  { args, output, connectTo }: CommandRun,
  [name = ""]: readonly string[],
): Promise<void> {
  const reply = await (await connectTo(WebhookService)).testWebhook({ name });
  if (args.is("json")) await output.json(TestWebhookResponseSchema, reply);
  else await output.write(`${name}: ${resultOf(reply.delivery)}\n`);
  if (reply.delivery?.state !== WebhookDeliveryState.DELIVERED)
    throw new CliFailure(EXIT.failed, "the target did not accept the message");
}

async function deliveries(run: CommandRun, [name = ""]: readonly string[]): Promise<void> {
  const { args, output, connectTo, notice } = run;
  const client = await connectTo(WebhookService);
  const { items, next } = await readPages(
    args.has("limit") ? limitOf(run) : DELIVERIES,
    async (page) => {
      const reply = await client.listWebhookDeliveries({ name, ...page });
      return { items: reply.deliveries, next: reply.nextPageToken };
    },
  );
  if (args.is("json"))
    return output.json(
      ListWebhookDeliveriesResponseSchema,
      create(ListWebhookDeliveriesResponseSchema, { deliveries: items, nextPageToken: next }),
    );
  if (items.length === 0) return notice(`nothing was sent to ${name} yet`);
  await writeDeliveries(output, items);
}

/** Default number of printed deliveries. */
const DELIVERIES = 20;

async function resend(
  { args, output, connectTo }: CommandRun,
  [id = ""]: readonly string[],
): Promise<void> {
  const reply = await (await connectTo(WebhookService)).resendWebhookDelivery({ id });
  if (args.is("json")) await output.json(ResendWebhookDeliveryResponseSchema, reply);
  else await output.write(`${id}: ${resultOf(reply.delivery)}\n`);
  if (reply.delivery?.state !== WebhookDeliveryState.DELIVERED)
    throw new CliFailure(EXIT.failed, "the target did not accept the message");
}

async function remove(run: CommandRun, [name = ""]: readonly string[]): Promise<void> {
  const { args, world, connectTo, output } = run;
  const client = await connectTo(WebhookService);
  if (!args.is("yes") && canAsk(world) && !(await confirm(world, `Remove the webhook ${name}?`)))
    throw new CliFailure(EXIT.failed, "nothing was changed");
  await client.deleteWebhook({ name });
  await output.write(`${name}: removed\n`);
}

async function inputOf({ args, world }: CommandRun) {
  const classes = args.text("classes");
  const sites = args.text("site");
  const disabled = args.text("disabled");
  if (disabled !== undefined && disabled !== "true" && disabled !== "false")
    throw usage("--disabled must be true or false");
  const secret = args.text("secret-file");
  const language = args.text("language");
  const format = args.text("format");
  const token = args.text("service-token-file");
  const chat = args.text("chat");
  const template = await templateOf(args, world);
  const headers = args.text("headers-file");
  return {
    ...(format !== undefined && { format: formatOf(format) }),
    ...(token !== undefined && { token: (await readValue(token, world)).trim() }),
    ...(chat !== undefined && { chat }),
    ...(template && { template }),
    ...(headers !== undefined && {
      headers: { values: headersOf(await readValue(headers, world)) },
    }),
    ...(classes !== undefined && { classes: classesOf(classes) }),
    ...(sites !== undefined && { sites: { names: namesOf(sites) } }),
    ...(disabled !== undefined && { disabled: disabled === "true" }),
    ...(secret !== undefined && { secret: (await readValue(secret, world)).trim() }),
    ...(language !== undefined && { language }),
  };
}

const FORMATS = Object.entries(WebhookFormat).flatMap(([name, value]) =>
  typeof value === "number" && value > 0 ? [[name.toLowerCase(), value] as const] : [],
);

/** @throws CliFailure (usage). */
function formatOf(text: string): WebhookFormat {
  const found = FORMATS.find(([name]) => name === text.toLowerCase());
  if (found !== undefined) return found[1];
  const names = FORMATS.map(([name]) => name);
  const hint = suggestion(text, names, `: the formats are ${names.join(", ")}`);
  throw usage(`there is no format ${quote(text)}${hint}`);
}

async function templateOf(args: CommandRun["args"], world: CommandRun["world"]) {
  const path = args.text("template-file");
  if (path !== undefined)
    return {
      body: await readValue(path, world),
      contentType: args.text("content-type") ?? "",
      method: args.text("http-method") ?? "",
    };
  if (args.has("content-type") || args.has("http-method"))
    throw usage("--content-type and --http-method go with --template-file");
  return undefined;
}

/** Headers such as `X-Key: value`, one a line. @throws CliFailure (usage), which quotes no value. */
function headersOf(text: string): Record<string, string> {
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== "");
  return Object.fromEntries(
    lines.map((line, at) => {
      const [, name, value] = /^([^:\s]+):\s*(.*?)\s*$/.exec(line) ?? [];
      if (name === undefined || value === undefined)
        throw usage(`line ${at + 1} of the headers is not NAME: VALUE`);
      return [name, value];
    }),
  );
}

/** Names of a list; `all` is an empty list. */
function namesOf(text: string): string[] {
  return text === "all" ? [] : text.split(",").map((name) => name.trim());
}

/** Formats with an address of their own, and the name of what they need instead. */
const WITHOUT_ADDRESS: ReadonlyMap<string, string> = new Map([
  ["telegram", "Token of the bot"],
  ["bark", "Key of the device"],
]);

/** Address or token of a new webhook, from a file or typed. */
async function targetOf(run: CommandRun) {
  const { args } = run;
  const what = WITHOUT_ADDRESS.get((args.text("format") ?? "").toLowerCase());
  if (what === undefined) return { url: await urlOf(run) };
  const url = args.has("url-file") ? { url: await urlOf(run) } : {};
  if (args.has("service-token-file")) return url;
  return { ...url, token: await secretOf(run, "service-token-file", what) };
}

async function urlOf(run: CommandRun): Promise<string> {
  return secretOf(run, "url-file", "Address of the webhook");
}

/** A secret, from a file or typed; never an argument. */
async function secretOf(
  { args, world }: CommandRun,
  flag: "url-file" | "service-token-file",
  what: string,
): Promise<string> {
  const path = args.text(flag);
  const name = what.charAt(0).toLowerCase() + what.slice(1);
  if (path === undefined && !canAsk(world))
    throw usage(`the ${name} is missing: name a file with --${flag} (- is standard input)`);
  const text = path === undefined ? await askHidden(world, what) : await readValue(path, world);
  if (text.trim() === "") throw usage(`the ${name} is empty`);
  return text.trim();
}
