import { create } from "@bufbuild/protobuf";
import {
  ChangeKind,
  type Setting,
  type SettingChange,
  SettingChangeSchema,
} from "../../../gen/mooring/v1/setting_pb.js";
import {
  SaveSettingsResponseSchema,
  SettingService,
} from "../../../gen/mooring/v1/setting_service_pb.js";
import type { Caller } from "../caller.ts";
import type { Command } from "../command.ts";
import { writeSaved } from "../saved.ts";
import { withNearestKey } from "../unknown-key.ts";

/** Flag of a setting that can be deleted (contract, section 2.4). */
const DEPRECATED = 3;

export const unsetCommand: Command = {
  name: "unset",
  usage: ["unset KEY..."],
  summary: "Bring settings back to their defaults, or delete those that have none",
  details: [
    "A setting that the service knows gets its default value, all keys in one",
    "revision. A custom or deprecated setting is deleted; a custom one takes two",
    "revisions, because only deprecated settings can be deleted. If that is",
    "interrupted in between, the same command finishes it.",
  ],
  flags: ["dry-run", "reason"],
  offline: true,
  positionals: [1, 1_000],
  run: async ({ args, output, connect }) => {
    const keys = [...new Set(args.positionals)];
    const reason = args.text("reason") ?? "";
    const calls = await connect();
    const { settings, revision: before } = await withNearestKey(calls, keys, () =>
      calls.unary(SettingService.method.batchGetSettings, { keys, maskSecrets: true }),
    );
    const plan = await planUnset(calls, settings);
    const dryRun = args.is("dry-run");
    const reply = dryRun ? await previewUnset(calls, plan) : await unset(calls, plan, reason);
    if (args.is("json")) return output.json(SaveSettingsResponseSchema, reply);
    await writeSaved(output, { ...reply, dryRun, before });
  },
};

interface Plan {
  /** Get their default. */
  readonly known: readonly Setting[];
  /** Become deprecated, so that they can be deleted. */
  readonly custom: readonly Setting[];
  readonly deprecated: readonly Setting[];
}

/**
 * Tells custom settings from those that the service knows by the contract's own rule: of the latter
 * a save changes nothing but the value.
 */
async function planUnset(calls: Caller, settings: readonly Setting[]): Promise<Plan> {
  const deprecated = settings.filter(({ flag }) => flag === DEPRECATED);
  const rest = settings.filter(({ flag }) => flag !== DEPRECATED);
  const { preview } = await calls.unary(SettingService.method.saveSettings, {
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

function deprecate({ key, value, revision }: Setting) {
  return { key, value, flag: DEPRECATED, expectedRevision: revision };
}

function toDefault({ key, default: value, revision }: Setting) {
  return { key, value, expectedRevision: revision };
}

async function previewUnset(calls: Caller, { known, custom, deprecated }: Plan) {
  const reply = await calls.unary(SettingService.method.saveSettings, {
    settings: known.map(toDefault),
    dryRun: true,
  });
  const changes = [...(reply.preview?.changes ?? []), ...[...custom, ...deprecated].map(deletion)];
  return create(SaveSettingsResponseSchema, { revision: reply.revision, preview: { changes } });
}

function deletion({ key, value, secret }: Setting): SettingChange {
  return create(SettingChangeSchema, { key, kind: ChangeKind.DELETED, oldValue: value, secret });
}

async function unset(calls: Caller, { known, custom, deprecated }: Plan, reason: string) {
  const saved = await calls.unary(SettingService.method.saveSettings, {
    settings: [...known.map(toDefault), ...custom.map(deprecate)],
    reason,
  });
  let { revision } = saved;
  const doomed = [
    ...custom.map(({ key }) => ({ key, expectedRevision: saved.revision })),
    ...deprecated.map(({ key, revision: last }) => ({ key, expectedRevision: last })),
  ];
  for (const { key, expectedRevision } of doomed)
    ({ revision } = await calls.unary(SettingService.method.deleteSetting, {
      key,
      expectedRevision,
      reason,
    }));
  return create(SaveSettingsResponseSchema, { revision });
}
