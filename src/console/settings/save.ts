import { Code, ConnectError } from "@connectrpc/connect";
import { effect } from "@preact/signals";
import type { SettingChange } from "../../../gen/mooring/v1/setting_pb.js";
import type { SaveSettingsResponse } from "../../../gen/mooring/v1/setting_service_pb.js";
import { settingService } from "../api/client.ts";
import { type Failure, failureOf, withoutPath } from "../api/failure.ts";
import { asOwn, connection, reached } from "../api/live.ts";
import { conflicts, discard, type Edit, edits, violations } from "./edit.ts";

/** Pause after a key press before the service checks the edits, in milliseconds. */
const CHECK_AFTER = 400;

type Edits = ReadonlyMap<string, Edit>;

/** Requests the changes of a save without saving. @throws Failure */
export async function preview(of: Edits): Promise<readonly SettingChange[]> {
  try {
    const reply = await settingService.saveSettings({ settings: inputs(of), dryRun: true });
    violations.value = new Map();
    return reply.preview?.changes ?? [];
  } catch (thrown) {
    throw understood(of, thrown);
  }
}

/**
 * Saves edits, all or none, unless another client has changed them in the meantime. Their values
 * are visible when it resolves.
 *
 * @throws Failure
 */
export async function save(of: Edits, reason: string): Promise<SaveSettingsResponse> {
  try {
    const saving = settingService.saveSettings({ settings: inputs(of), reason });
    const reply = await asOwn(withOutcome(of, saving));
    if (connection.peek() === "live") await reached(reply.revision);
    discard([...of.keys()]);
    return reply;
  } catch (thrown) {
    throw understood(of, thrown);
  }
}

/**
 * Waits until the result of a save is visible. The upstream may refuse a saved value: the service
 * then restores the upstream's value in another revision, which may not have arrived yet.
 */
async function withOutcome<R>(of: Edits, saving: Promise<R>): Promise<R> {
  try {
    return await saving;
  } catch (thrown) {
    const isRefused = ConnectError.from(thrown).code === Code.FailedPrecondition;
    if (isRefused && connection.peek() === "live")
      await settingService
        .batchGetSettings({ keys: [...of.keys()], maskSecrets: true })
        .then(({ revision }) => reached(revision))
        .catch(() => undefined);
    throw thrown;
  }
}

/** Checks edits by the service during typing, so that problems appear at the fields. */
export function followViolations(): void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  effect(() => {
    const of = edits.value;
    clearTimeout(timer);
    if (of.size === 0 || conflicts.value.length > 0) return;
    timer = setTimeout(() => {
      // A failure is shown at the fields, or on saving.
      void preview(of).catch(() => undefined);
    }, CHECK_AFTER);
  });
}

function inputs(of: Edits) {
  return [...of].map(([key, { base, mine }]) => ({
    key,
    value: mine,
    expectedEtag: base.etag,
  }));
}

/** Assigns the service's violations to their keys. */
function understood(of: Edits, thrown: unknown): Failure {
  const failure = failureOf(thrown);
  const keys = [...of.keys()];
  const found = new Map<string, string>();
  for (const { field, description } of failure.violations) {
    const key = keys[Number(/^settings\[(\d+)\]/.exec(field)?.[1])];
    if (key !== undefined) found.set(key, withoutPath(key, description));
  }
  violations.value = found;
  return failure;
}
