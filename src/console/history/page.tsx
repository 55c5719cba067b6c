import { may } from "../api/rights.ts";
import { NoRight } from "../components/state.tsx";
import { historyTexts } from "../i18n/en/history.ts";
import { pagesTexts } from "../i18n/en/pages.ts";
import { recordsTexts } from "../i18n/en/records.ts";
import { addMessages, t } from "../i18n/language.ts";
import { place } from "../shell/location.ts";
import { PageHead } from "../shell/page-head.tsx";
import { Comparison, OneRevision } from "./revision.tsx";
import { RollbackPreview } from "./rollback.tsx";
import { Timeline } from "./timeline.tsx";
import "./history.css";

addMessages(historyTexts, pagesTexts, recordsTexts);

/** History of changes with actors and reasons, and rollbacks. */
export default function HistoryPage() {
  const { query } = place.value;
  const numbers = (name: string): bigint | undefined => readRevision(query.get(name));
  const revision = numbers("revision");
  if (revision !== undefined) return <OneRevision key={`${revision}`} revision={revision} />;
  const back = numbers("back");
  const only = query.getAll("only");
  if (back !== undefined && !may("history:rollback"))
    return (
      <>
        <PageHead title={t("history.backTo", { revision: String(back) })} />
        <NoRight needs={["history:rollback"]} />
      </>
    );
  if (back !== undefined) return <RollbackPreview key={`${query}`} to={back} only={only} />;
  const [from, to] = [numbers("from"), numbers("to")];
  if (from !== undefined && to !== undefined)
    return <Comparison key={`${query}`} from={from} to={to} />;
  return <Timeline />;
}

function readRevision(text: string | null): bigint | undefined {
  return text !== null && /^\d{1,18}$/.test(text) ? BigInt(text) : undefined;
}
