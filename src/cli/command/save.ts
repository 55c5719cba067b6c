// The commands set and unset.

import { create } from "@bufbuild/protobuf";
import {
  ChangeKind,
  type Setting,
  type SettingChange,
  SettingChangeSchema,
} from "../../../gen/mooring/v1/setting_pb.js";
import {
  type SaveSettingsResponse,
  SaveSettingsResponseSchema,
} from "../../../gen/mooring/v1/setting_service_pb.js";
import type { Arguments } from "../argument.ts";
import { isNotFound, withNearestKey } from "../call-failure.ts";
import { type Command, type CommandRun, requireYes } from "../command.ts";
import type { SettingClient } from "../connection.ts";
import { CliFailure, EXIT, usage } from "../failure.ts";
import { readValue } from "../file.ts";
import { confirm } from "../prompt.ts";
import { notePendingSites, writeSaved } from "../saved.ts";
import type { World } from "../world.ts";

export const setCommand: Command = {
  name: "set",
  usage: ["set KEY=VALUE...", "set KEY VALUE", "set KEY --from-file PATH", "set KEY -"],
  summary: "Save settings, all or none",
  details: [
    "All values are saved as one revision, or none. KEY - reads the value from",
    "standard input: use it for secrets, because a process list shows arguments. One",
    "line break at the end of a file or input is removed. An empty value clears the",
    "setting; unset restores the default. A key that does not exist is refused",
    "without --new, which creates a custom setting.",
  ],
  flags: ["from-file", "new", "dry-run", "expect-etag", "reason"],
  offline: true,
  positionals: [1, 1_000],
  run: async (run) => {
    const { args, output } = run;
    const expectedEtag = args.text("expect-etag");
    const settings = await readAssignments(args, run.world, run.notice);
    const client = await run.connect();
    const before = await currentRevision(client, settings, args.is("new"));
    const dryRun = args.is("dry-run");
    const request = {
      settings,
      reason: args.text("reason") ?? "",
      ...(expectedEtag && { expectedEtag }),
    };
    const preview = await client.saveSettings({ ...request, dryRun: true });
    refuseSkipped(preview);
    const reply = dryRun ? preview : await client.saveSettings(request);
    if (args.is("json")) return output.json(SaveSettingsResponseSchema, reply);
    await writeSaved(output, { ...reply, dryRun, previousRevision: before });
    notePendingSites(run, reply.pendingSites);
  },
};

/**
 * Fails if the service skipped read-only settings: each key was named by the user, unlike in a
 * list.
 */
function refuseSkipped({ skipped }: Pick<SaveSettingsResponse, "skipped">): void {
  const reasons = skipped.map(({ key, reason }) => `${key} ${reason}`);
  if (reasons.length > 0)
    throw new CliFailure(EXIT.refused, `nothing was saved: ${reasons.join("; ")}`);
}

/** Fails for a key that does not exist: otherwise a typing error would create a custom setting. */
async function currentRevision(
  client: SettingClient,
  settings: readonly Assignment[],
  isNew: boolean,
): Promise<bigint | undefined> {
  const keys = settings.map(({ key }) => key);
  const read = () => client.batchGetSettings({ keys, maskSecrets: true });
  try {
    const hint = " (--new creates a custom setting)";
    return (await (isNew ? read() : withNearestKey(client, keys, read, hint))).revision;
  } catch (error) {
    if (isNew && isNotFound(error)) return undefined;
    throw error;
  }
}

/** Key with its new value. */
interface Assignment {
  readonly key: string;
  readonly value: string;
}

/**
 * Parses assignments: `KEY=VALUE…`, `KEY VALUE`, `KEY -` or `KEY --from-file PATH`.
 *
 * @throws CliFailure for another notation, or a file that can't be read.
 */
async function readAssignments(
  args: Arguments,
  world: World,
  notice: (text: string) => void,
): Promise<Assignment[]> {
  const [key = "", value, ...others] = args.positionals;
  const path = args.text("from-file");
  if (path !== undefined) {
    if (value !== undefined) throw usage("--from-file requires one KEY without a value");
    return [{ key, value: await readValue(path, world) }];
  }
  // Keys that contain `=` are set with --from-file.
  if (value === undefined || others.length > 0 || key.includes("="))
    return args.positionals.map(splitAssignment);
  if (value !== "-") return [{ key, value }];
  if (world.stdin.isTTY) notice("type the value, and end it with Ctrl-D on an empty line");
  return [{ key, value: await readValue("-", world) }];
}

function splitAssignment(argument: string): Assignment {
  const at = argument.indexOf("=");
  if (at > 0) return { key: argument.slice(0, at), value: argument.slice(at + 1) };
  // The argument may be a secret whose key was forgotten: it is not repeated.
  throw usage("invalid argument: write KEY=VALUE for each setting, or KEY VALUE for one");
}

/** Flag of a setting that can be deleted (docs/rest-contract.md, section 2.4). */
const DEPRECATED = 3;

export const unsetCommand: Command = {
  name: "unset",
  usage: ["unset KEY... [--dry-run] [--yes]"],
  summary: "Restore defaults of settings, or delete custom ones",
  details: [
    "Known settings get their default values, all keys in one revision. Custom and",
    "deprecated settings are deleted. A custom one takes two revisions, because only",
    "deprecated settings can be deleted. After an interruption between them, run the",
    "command again. Deletions are confirmed: on a terminal it asks, elsewhere they need",
    "--yes.",
  ],
  flags: ["dry-run", "reason", "yes"],
  offline: true,
  positionals: [1, 1_000],
  run: async (run) => {
    const { args, output, connect } = run;
    const keys = [...new Set(args.positionals)];
    const reason = args.text("reason") ?? "";
    const client = await connect();
    const { settings, revision: before } = await withNearestKey(client, keys, () =>
      client.batchGetSettings({ keys, maskSecrets: true }),
    );
    const plan = await planUnset(client, settings);
    const dryRun = args.is("dry-run");
    const preview = await previewUnset(client, plan);
    refuseSkipped(preview);
    if (!dryRun) await agreeToDelete(run, [...plan.custom, ...plan.deprecated]);
    const reply = dryRun ? preview : await unset(client, plan, reason);
    if (args.is("json")) return output.json(SaveSettingsResponseSchema, reply);
    await writeSaved(output, { ...reply, dryRun, previousRevision: before });
    notePendingSites(run, reply.pendingSites);
  },
};

async function agreeToDelete(run: CommandRun, settings: readonly Setting[]): Promise<void> {
  if (settings.length === 0 || run.args.is("yes")) return;
  const keys = settings.map(({ key }) => key).join(", ");
  requireYes(run, `the deletion of ${keys}`);
  if (!(await confirm(run.world, `Delete ${keys}?`)))
    throw new CliFailure(EXIT.failed, "nothing was changed");
}

interface Plan {
  /** Known settings, which are reset to their defaults. */
  readonly known: readonly Setting[];
  /** Custom settings, which become deprecated before they are deleted. */
  readonly custom: readonly Setting[];
  readonly deprecated: readonly Setting[];
}

/**
 * Separates custom settings from known ones by the rule of the contract: a save changes only the
 * value of known settings.
 */
async function planUnset(client: SettingClient, settings: readonly Setting[]): Promise<Plan> {
  const deprecated = settings.filter(({ flag }) => flag === DEPRECATED);
  const rest = settings.filter(({ flag }) => flag !== DEPRECATED);
  const { preview } = await client.saveSettings({
    settings: rest.map(deprecate),
    dryRun: true,
  });
  const changed = new Set(preview?.changes.map(({ key }) => key));
  return {
    known: rest.filter(({ key }) => !changed.has(key)),
    custom: rest.filter(({ key }) => changed.has(key)),
    deprecated,
  };
}

function deprecate({ key, value, etag }: Setting) {
  return { key, value, flag: DEPRECATED, expectedEtag: etag };
}

function toDefault({ key, default: value, etag }: Setting) {
  return { key, value, expectedEtag: etag };
}

async function previewUnset(client: SettingClient, { known, custom, deprecated }: Plan) {
  const reply = await client.saveSettings({
    settings: known.map(toDefault),
    dryRun: true,
  });
  const changes = [...(reply.preview?.changes ?? []), ...[...custom, ...deprecated].map(deletion)];
  const { revision, skipped } = reply;
  return create(SaveSettingsResponseSchema, { revision, preview: { changes }, skipped });
}

function deletion({ key, value, secret }: Setting): SettingChange {
  return create(SettingChangeSchema, { key, kind: ChangeKind.DELETED, oldValue: value, secret });
}

async function unset(client: SettingClient, { known, custom, deprecated }: Plan, reason: string) {
  const saved = await client.saveSettings({
    settings: [...known.map(toDefault), ...custom.map(deprecate)],
    reason,
  });
  let { revision, pendingSites } = saved;
  const keys = custom.map(({ key }) => key);
  const retired =
    keys.length === 0 ? [] : (await client.batchGetSettings({ keys, maskSecrets: true })).settings;
  for (const { key, etag } of [...retired, ...deprecated])
    ({ revision, pendingSites } = await client.deleteSetting({ key, expectedEtag: etag, reason }));
  return create(SaveSettingsResponseSchema, { revision, pendingSites });
}
