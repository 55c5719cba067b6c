import { create } from "@bufbuild/protobuf";
import { WebhookDeliveryState, WebhookInputSchema } from "../../../gen/mooring/v1/incident_pb.js";
import {
  CreateWebhookResponseSchema,
  ListWebhookDeliveriesResponseSchema,
  ListWebhooksResponseSchema,
  ResendWebhookDeliveryResponseSchema,
  TestWebhookResponseSchema,
  UpdateWebhookResponseSchema,
  WebhookService,
} from "../../../gen/mooring/v1/webhook_service_pb.js";
import type { FlagName } from "../argument.ts";
import { type Action, type Command, type CommandRun, runAction } from "../command.ts";
import { CliFailure, EXIT, usage } from "../failure.ts";
import { readValue } from "../file.ts";
import { classesOf, resultOf, writeDeliveries, writeWebhooks } from "../incident-text.ts";
import { limitOf, readPages } from "../pages.ts";
import { askHidden, canAsk, confirm } from "../prompt.ts";

const input: readonly FlagName[] = [
  ...(["classes", "disabled", "language", "site", "secret-file", "url-file"] as const),
];
const flags: readonly FlagName[] = [...input, "limit", "yes"];

const actions: Readonly<Record<string, Action>> = {
  add: { count: 1, flags: input, act: add },
  list: { count: 0, flags: [], act: list },
  set: { count: 1, flags: input, act: set },
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
    "webhook list",
    "webhook set NAME [--url-file PATH] [--classes LIST] [--site LIST] [--disabled MODE]",
    "webhook test NAME",
    "webhook deliveries NAME [-n N]",
    "webhook resend ID",
    "webhook remove NAME [--yes]",
  ],
  summary: "Send incidents to other services, with signatures",
  details: [
    "add prints the key of the signatures (Standard Webhooks) once. The address is read",
    "from a file, from standard input (-), or typed; never from the command line,",
    "because addresses of chat services are secrets. Failed messages are retried for",
    "three days; deliveries lists them, and resend sends one again.",
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
    name,
    url: await urlOf(run),
  });
  const reply = await (await connectTo(WebhookService)).createWebhook({ webhook });
  if (args.is("json")) return output.json(CreateWebhookResponseSchema, reply);
  await output.value(`${reply.secret}\n`);
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
  return {
    ...(classes !== undefined && { classes: classesOf(classes) }),
    ...(sites !== undefined && { sites: { names: namesOf(sites) } }),
    ...(disabled !== undefined && { disabled: disabled === "true" }),
    ...(secret !== undefined && { secret: (await readValue(secret, world)).trim() }),
    ...(language !== undefined && { language }),
  };
}

/** Names of a list; `all` is an empty list. */
function namesOf(text: string): string[] {
  return text === "all" ? [] : text.split(",").map((name) => name.trim());
}

/** The address, from a file or typed; never an argument. */
async function urlOf({ args, world }: CommandRun): Promise<string> {
  const path = args.text("url-file");
  if (path === undefined && !canAsk(world))
    throw usage("the address is missing: name a file with --url-file (- is standard input)");
  const url =
    path === undefined
      ? await askHidden(world, "Address of the webhook")
      : await readValue(path, world);
  if (url.trim() === "") throw usage("the address is empty");
  return url.trim();
}
