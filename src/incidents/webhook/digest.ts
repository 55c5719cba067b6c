import type { Translate } from "../../messages/language.ts";
import { message } from "../../messages/message.ts";
import type { StoredDelivery } from "../store.ts";

/** Maximum number of incidents that a digest lists; it counts all. */
const MAX_LISTED = 20;
/** Maximum number of characters of a line. */
const MAX_LINE = 160;

/** Event of one incident, as it is stored. */
export interface DigestEvent {
  readonly type: string;
  readonly timestamp: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Members of `data` of a digest. */
interface Digest {
  readonly title: string;
  readonly text: string;
  readonly site: string;
  readonly class: string;
  /** Number of all incidents. */
  readonly count: number;
  /** The first ones, with the members of their events. */
  readonly incidents: readonly Readonly<Record<string, unknown>>[];
}

/**
 * Adds the event of an incident to an event that is not sent yet: both become one of the type
 * `incidents.opened` or `incidents.closed`.
 */
export function joinEvents(
  waiting: string,
  added: string,
  translate: Translate,
): Pick<StoredDelivery, "type" | "body"> {
  const first = JSON.parse(waiting) as DigestEvent;
  const { data } = JSON.parse(added) as DigestEvent;
  const before = first.type.startsWith("incidents.")
    ? (first.data as unknown as Digest)
    : { count: 1, incidents: [first.data] };
  const type = first.type.replace(/^incident\./, "incidents.");
  const count = before.count + 1;
  const incidents = [...before.incidents, data].slice(0, MAX_LISTED);
  const { site, class: kind } = first.data as unknown as Digest;
  const lines = incidents.map(lineOf);
  const digest: Digest = {
    title: message(type === "incidents.closed" ? "INCIDENTS_RESOLVED" : "INCIDENTS_TOGETHER", {
      count,
      class: kind,
      site: site || "Mooring",
    }).in(translate),
    text: [...lines, ...(count > lines.length ? [`… (+${count - lines.length})`] : [])].join("\n"),
    site,
    class: kind,
    count,
    incidents,
  };
  return { type, body: JSON.stringify({ type, timestamp: first.timestamp, data: digest }) };
}

/** Line of an incident, such as `/films: connection refused`, of a closed one with its duration. */
function lineOf({
  mount_path: path,
  title,
  message: problem,
  duration,
}: DigestEvent["data"]): string {
  const name = path === "" || path === undefined ? title : path;
  const lasted = duration === undefined ? "" : ` (${String(duration)})`;
  return `${String(name)}${lasted}: ${String(problem)}`.slice(0, MAX_LINE).toWellFormed();
}
