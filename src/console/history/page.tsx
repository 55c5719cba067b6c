import "../i18n/later.ts";
import { may } from "../api/rights.ts";
import { NoRight } from "../components/state.tsx";
import { t } from "../i18n/language.ts";
import { place } from "../shell/location.ts";
import { PageHead } from "../shell/page-head.tsx";
import { Comparison } from "./comparison.tsx";
import { OneRevision } from "./one-revision.tsx";
import { RollbackPreview } from "./rollback.tsx";
import { Timeline } from "./timeline.tsx";
import "./history.css";

/** History of changes with actors and reasons, and rollbacks. */
export default function HistoryPage() {
  const { query } = place.value;
  const numbers = (name: string): bigint | undefined => readRevision(query.get(name));
  const revision = numbers("revision");
  if (revision !== undefined) return <OneRevision key={`${revision}`} revision={revision} />;
  const back = numbers("back");
  const keys = query.get("keys")?.split(",") ?? [];
  if (back !== undefined && !may("history:rollback"))
    return (
      <>
        <PageHead title={t("history.backTo", { revision: String(back) })} />
        <NoRight needs={["history:rollback"]} />
      </>
    );
  if (back !== undefined) return <RollbackPreview key={`${query}`} to={back} keys={keys} />;
  const [from, to] = [numbers("from"), numbers("to")];
  if (from !== undefined && to !== undefined)
    return <Comparison key={`${query}`} from={from} to={to} />;
  return <Timeline title={t("page.history")} />;
}

function readRevision(text: string | null): bigint | undefined {
  return text !== null && /^\d{1,18}$/.test(text) ? BigInt(text) : undefined;
}
