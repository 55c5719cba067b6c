import { base64Decode } from "@bufbuild/protobuf/wire";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import { useSignal } from "@preact/signals";
import type { AuditCheckpoint, AuditEvent } from "../../../gen/mooring/v1/audit_pb.js";
import { auditService } from "../api/audit.ts";
import { Button } from "../components/button.tsx";
import { Field } from "../components/field.tsx";
import { Failed, Notice } from "../components/state.tsx";
import { useAction } from "../components/use-action.ts";
import { t } from "../i18n/language.ts";

/** Verification of the audit in this browser, without or with a stored checkpoint. */
export function Verification({ origin }: { readonly origin: string }) {
  const text = useSignal("");
  const verdict = useSignal<{ readonly is: Verdict; readonly kept: boolean } | undefined>(
    undefined,
  );
  /** The row verified last. */
  const at = useSignal(0n);
  const { busy, failure, run } = useAction();
  const kept = text.value.trim() === "" ? undefined : readCheckpoint(text.value);
  const wrong = wrongWith(text.value, kept?.origin, origin);
  const verify = () =>
    run(async ({ gone }) => {
      verdict.value = undefined;
      at.value = 0n;
      const found = await verifyAudit(kept, (row) => (at.value = row), gone);
      verdict.value = { is: found, kept: kept !== undefined };
    });
  if (!canVerify) return <p class="quiet small">{t("audit.insecure")}</p>;
  return (
    <form
      class="verification"
      onSubmit={(event) => {
        event.preventDefault();
        if (wrong === undefined) void verify();
      }}
    >
      <Field
        label={t("audit.kept")}
        hint={t("audit.keptHint")}
        wrong={wrong}
        value={text.value}
        lines
        onChange={(typed) => {
          text.value = typed;
          verdict.value = undefined;
        }}
      />
      <p class="ways">
        <Button type="submit" disabled={busy || wrong !== undefined}>
          {t("audit.verify")}
        </Button>
        <span class="quiet small" role="status">
          {busy && t("audit.verifying", { sequence: at.value })}
        </span>
      </p>
      {failure && !busy && <Failed failure={failure} retry={() => void verify()} />}
      {verdict.value && <Found {...verdict.value} />}
    </form>
  );
}

function Found({ is, kept }: { readonly is: Verdict; readonly kept: boolean }) {
  const { first, last, problem } = is;
  if (problem === undefined)
    return (
      <Notice kind="good">
        {t(kept ? "audit.verifiedKept" : "audit.verified", { first, last })}
      </Notice>
    );
  return (
    <Notice kind="wrong">{t(`audit.row.${problem.kind}`, { sequence: problem.sequence })}</Notice>
  );
}

function wrongWith(text: string, of: string | undefined, origin: string): string | undefined {
  if (text.trim() === "" || of === origin) return undefined;
  return t(of === undefined ? "audit.unkept" : "audit.foreign");
}

/** Position in the audit. */
type Position = Pick<AuditCheckpoint, "origin" | "sequence" | "hash">;

/** First problem, with its row. */
type Problem =
  /** Its hash does not match its content. */
  | "changed"
  | "missing"
  /** It follows another row than the previous one. */
  | "unchained"
  /** It differs from the row of the checkpoint. */
  | "rewritten"
  /** The audit ends before the row of the checkpoint. */
  | "cutOff"
  /** Rows were removed from the beginning without a row that records it. */
  | "takenAway"
  /** The row of the checkpoint has been deleted. */
  | "forgotten";

/** Result of the verification so far. */
interface Verdict {
  readonly first: bigint;
  readonly last: bigint;
  readonly problem?: { readonly kind: Problem; readonly sequence: bigint };
}

const PAGE = 1_000;

/** Browsers provide hashes only in a secure context: https, or this machine. */
const canVerify = window.isSecureContext;

/**
 * Reads all rows, the oldest first, and recomputes the hash of each, independent of the service.
 *
 * @param kept earlier position of the same database, stored elsewhere.
 * @param onProgress called occasionally with the row verified last.
 * @throws ConnectError
 */
async function verifyAudit(
  kept: Position | undefined,
  onProgress: (sequence: bigint) => void,
  signal: AbortSignal,
): Promise<Verdict> {
  let pageToken = "";
  let first = 0n;
  let last = { sequence: 0n, hash: "" };
  /** Newest deleted row according to the last row about deletions. */
  let named = 0;
  const stop = (kind: Problem, sequence: bigint): Verdict => ({
    first,
    last: last.sequence,
    problem: { kind, sequence },
  });
  do {
    const request = { afterSequence: 0n, pageSize: PAGE, pageToken };
    const page = await auditService.listAuditEvents(request, { signal });
    if (first === 0n) {
      first = page.oldestSequence;
      last = { sequence: first - 1n, hash: page.floorHash };
      if (isAnother(kept, last)) return stop("rewritten", last.sequence);
    }
    for (const event of page.events) {
      const { sequence, hash, previousHash } = event;
      if (sequence !== last.sequence + 1n) return stop("missing", last.sequence + 1n);
      if (event.time === undefined || hash !== (await hashOf(event)))
        return stop("changed", sequence);
      if (previousHash !== last.hash) return stop("unchained", sequence);
      last = { sequence, hash };
      const forgotten = forgottenIn(event);
      if (forgotten !== undefined) {
        named = forgotten.floor;
        if (forgotten.found !== forgotten.named)
          return stop("takenAway", BigInt(forgotten.named + 1));
      }
      if (isAnother(kept, last)) return stop("rewritten", sequence);
    }
    onProgress(last.sequence);
    pageToken = page.nextPageToken;
  } while (pageToken !== "");
  if (first > BigInt(named) + 1n) return stop("takenAway", BigInt(named) + 1n);
  if (kept && kept.sequence > last.sequence) return stop("cutOff", kept.sequence);
  if (kept && kept.sequence < first - 1n) return stop("forgotten", kept.sequence);
  return { first, last: last.sequence };
}

/** Deletion that an audit row records (docs/audit.md). */
function forgottenIn({ actor, method, subjects, detail }: AuditEvent) {
  if (actor !== "mooring" || method !== "forget" || subjects.join("\n") !== "audit")
    return undefined;
  const { named, found, floor } = readObject(detail);
  return { named: numberOf(named), found: numberOf(found), floor: numberOf(floor) };
}

function readObject(json: string): Record<string, unknown> {
  try {
    return Object(JSON.parse(json)) as Record<string, unknown>;
  } catch {
    return {};
  }
}

/** Row number of a value; -1 for other values. */
function numberOf(value: unknown): number {
  return Number.isSafeInteger(value) ? (value as number) : -1;
}

function isAnother(kept: Position | undefined, row: Omit<Position, "origin">): boolean {
  return kept?.sequence === row.sequence && kept.hash !== row.hash;
}

/** SHA-256 of a JSON array in the form of RFC 8785 (docs/audit.md). */
async function hashOf(event: AuditEvent): Promise<string> {
  const { sequence, previousHash, time, actor, tokenId, transport, method, peer } = event;
  const at = time ? timestampMs(time) : 0;
  const before = [Number(sequence), previousHash, at, actor, tokenId, transport, method, peer];
  const after = [event.requestId, event.outcome, event.subjects.join("\n"), event.detail];
  const text = new TextEncoder().encode(JSON.stringify([...before, ...after]));
  return hexOf(new Uint8Array(await crypto.subtle.digest("SHA-256", text)));
}

/** Parses a checkpoint; text after an empty line is ignored. Undefined: not a checkpoint. */
function readCheckpoint(text: string): Position | undefined {
  const [origin = "", sequence = "", base64 = ""] = text.trim().split(/\r?\n/);
  if (origin === "" || !/^\d{1,16}$/.test(sequence) || !/^[\w+/]{43}=$/.test(base64))
    return undefined;
  return { origin, sequence: BigInt(sequence), hash: hexOf(base64Decode(base64)) };
}

function hexOf(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
