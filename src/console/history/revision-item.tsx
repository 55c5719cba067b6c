import { timestampMs } from "@bufbuild/protobuf/wkt";
import type { Revision } from "../../../gen/mooring/v1/setting_pb.js";
import { When } from "../components/text.tsx";
import { timeOfDay } from "../i18n/format.ts";
import { t } from "../i18n/language.ts";
import { href } from "../shell/location.ts";
import "./history.css";

/** Maximum number of shown keys; the others are counted. */
const NAMED = 6;

/** Revision in a list. With `pick` it can be chosen for a comparison. */
export function RevisionItem(props: {
  readonly of: Revision;
  readonly picked?: boolean;
  readonly pick?: () => void;
}) {
  const { of, picked, pick } = props;
  const { revision, time, actor, transport: source, reason, keys } = of;
  const at = time ? timestampMs(time) : 0;
  return (
    <li class="revision">
      {pick && (
        <input
          type="checkbox"
          aria-label={t("history.pick", { revision: String(revision) })}
          checked={picked}
          onChange={pick}
        />
      )}
      <a class="nth mono" href={href("history", { revision: String(revision) })}>
        {String(revision)}
      </a>
      <div class="what">
        <p class="keys">
          {keys.slice(0, NAMED).map((key) => (
            <code key={key}>{key}</code>
          ))}
          {keys.length > NAMED && (
            <span class="quiet">{t("toast.more", { count: keys.length - NAMED })}</span>
          )}
        </p>
        {reason !== "" && <p class="why">{reason}</p>}
      </div>
      <p class="who quiet small">
        <span>
          {t("row.by", { actor })} <span class="badge">{source}</span>
        </span>
        <span>
          {timeOfDay(at)} · <When time={at} />
        </span>
      </p>
    </li>
  );
}
