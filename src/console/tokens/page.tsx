import "../i18n/later.ts";
import { connection } from "../api/live.ts";
import { Failed, Skeleton } from "../components/state.tsx";
import { useCall } from "../components/use-call.ts";
import { useFollow } from "../components/use-follow.ts";
import { t } from "../i18n/language.ts";
import { place } from "../shell/location.ts";
import { PageHead } from "../shell/page-head.tsx";
import { followKnown, readKnown } from "./known.ts";
import { TokenList } from "./list.tsx";
import { NewToken } from "./new-token.tsx";
import { RotateToken } from "./rotate.tsx";
import "../components/field.css";
import "./tokens.css";

/** Principals, tokens and their rights. */
export default function TokensPage() {
  const { query } = place.value;
  const { data, failure, again } = useCall(readKnown, [connection.value === "live"]);
  // Setting a turn needs no newer `again` than the first.
  useFollow((signal) => followKnown(again, signal), []);
  const rotated = query.get("rotate");
  if (data === undefined)
    return (
      <>
        <PageHead title={t("page.tokens")} />
        {failure ? <Failed failure={failure} retry={again} /> : <Skeleton />}
      </>
    );
  if (query.has("new")) return <NewToken known={data} onMade={again} />;
  if (rotated !== null) {
    const token = data.tokens.find(({ id }) => id === rotated);
    return <RotateToken key={rotated} id={rotated} token={token} onMade={again} />;
  }
  return <TokenList known={data} failure={failure} again={again} />;
}
