import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { type Failure, failureOf } from "../api/failure.ts";
import { Button } from "../components/button.tsx";
import { Field } from "../components/field.tsx";
import { Failed, Notice } from "../components/state.tsx";
import { t } from "../i18n/language.ts";
import { canVerify, readCheckpoint, type Verdict, verifyAudit } from "./verify.ts";

/** Verifies the audit in this browser: by itself, or up to a stored checkpoint. */
export function Verification({ origin }: { readonly origin: string }) {
  const text = useSignal("");
  const verdict = useSignal<{ readonly is: Verdict; readonly kept: boolean } | undefined>(
    undefined,
  );
  const failure = useSignal<Failure | undefined>(undefined);
  /** The row verified last; undefined: not running. */
  const at = useSignal<bigint | undefined>(undefined);
  const leaving = useRef(new AbortController());
  useEffect(() => () => leaving.current.abort(), []);
  const kept = text.value.trim() === "" ? undefined : readCheckpoint(text.value);
  const wrong = wrongWith(text.value, kept?.origin, origin);
  const verify = async (): Promise<void> => {
    verdict.value = undefined;
    failure.value = undefined;
    at.value = 0n;
    try {
      const found = await verifyAudit(kept, (row) => (at.value = row), leaving.current.signal);
      verdict.value = { is: found, kept: kept !== undefined };
    } catch (thrown) {
      failure.value = failureOf(thrown);
    } finally {
      at.value = undefined;
    }
  };
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
        <Button type="submit" disabled={at.value !== undefined || wrong !== undefined}>
          {t("audit.verify")}
        </Button>
        <span class="quiet small" role="status">
          {at.value !== undefined && t("audit.verifying", { sequence: at.value })}
        </span>
      </p>
      {failure.value && <Failed failure={failure.value} retry={() => void verify()} />}
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
