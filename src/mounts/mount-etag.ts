import { createRecordEtags, NO_RECORD } from "../ledger/record-etag.ts";
import { memoize } from "../memoize.ts";
import type { Fingerprint } from "../secrets/fingerprint.ts";
import { sortedJson } from "../sorted-json.ts";
import type { Mount } from "./mount.ts";

/** Etag of a mount, secrets included; undefined: it does not exist. */
export type MountEtag = (mount: Mount | undefined) => string;

export function createMountEtag(fingerprint: Pick<Fingerprint, "of">): MountEtag {
  const etags = createRecordEtags(fingerprint);
  const of = memoize((mount: Mount) =>
    etags.of({ key: mount.name, revision: mount.revision, content: sortedJson(mount) }),
  );
  return (mount) => (mount === undefined ? NO_RECORD : of(mount));
}
