import type { AuditCheckpoint } from "../../../gen/mooring/v1/audit_pb.js";
import { CopyButton } from "../components/copy.tsx";
import { t } from "../i18n/language.ts";
import { Verification } from "./verification.tsx";

/**
 * Position of the audit: stored elsewhere, it proves later whether a row was changed or is missing.
 */
export function Checkpoint({ of }: { readonly of: AuditCheckpoint }) {
  return (
    <section class="sheet block checkpoint" aria-labelledby="checkpoint">
      <div>
        <h2 id="checkpoint">{t("audit.checkpoint")}</h2>
        <p class="quiet">{t("audit.checkpointAbout")}</p>
      </div>
      <pre class="mono">{of.text.trim()}</pre>
      <p class="ways">
        <CopyButton text={of.text} />
      </p>
      <Verification origin={of.origin} />
    </section>
  );
}
