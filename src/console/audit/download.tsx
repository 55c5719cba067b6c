import { toJsonString } from "@bufbuild/protobuf";
import { useSignal } from "@preact/signals";
import { AuditEventSchema } from "../../../gen/mooring/v1/audit_pb.js";
import { type AuditFilter, auditService } from "../api/audit.ts";
import { failureOf } from "../api/failure.ts";
import { Button } from "../components/button.tsx";
import { saveFile } from "../components/save-file.ts";
import { t } from "../i18n/language.ts";
import { say } from "../shell/toast.tsx";

const PAGE = 1_000;
/** Rows of one file at most: what a browser holds in memory without trouble. */
const MOST = 100_000;

/** Downloads the rows that fit the filters, one JSON object a line, newest first. */
export function Download({ filter }: { readonly filter: AuditFilter }) {
  const busy = useSignal(false);
  const download = async (): Promise<void> => {
    busy.value = true;
    try {
      const lines = await readLines(filter);
      const today = new Date().toISOString().slice(0, 10);
      saveFile(`mooring-audit-${today}.jsonl`, lines.join(""));
      if (lines.length >= MOST) say(t("audit.cut", { count: MOST }));
    } catch (thrown) {
      say(failureOf(thrown).message || t("state.offline"));
    } finally {
      busy.value = false;
    }
  };
  return (
    <Button icon="backup" disabled={busy.value} onClick={() => void download()}>
      {t("audit.download")}
    </Button>
  );
}

async function readLines(filter: AuditFilter): Promise<string[]> {
  const lines: string[] = [];
  let pageToken = "";
  do {
    const page = await auditService.listAuditEvents({ ...filter, pageSize: PAGE, pageToken });
    for (const event of page.events)
      lines.push(`${toJsonString(AuditEventSchema, event, { useProtoFieldName: true })}\n`);
    pageToken = page.nextPageToken;
  } while (pageToken !== "" && lines.length < MOST);
  return lines.slice(0, MOST);
}
